"""Which cluster a checkpoint belongs to, where the ranges of both logs fit: asked of real records by Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer

from offsetwise.lab import Lab
from offsetwise.translation.belongs import CLOCKS_APART_MS
from tests.commands import call
from tests.integration.topics import copies, create, produce
from tests.plugins.spark.folders import checkpoint, write

BATCH_MS = 1_740_988_800_000
AT, GONE = 150, 100
"""The position of every checkpoint, and how many records the new log lacks at its start."""

Compared = Callable[[str], dict[str, Any]]


@pytest.fixture
def compared(lab: Lab, tmp_path: Path) -> Compared:
    """Return a function that compares a checkpoint which stands in the middle of a topic."""

    def compare(topic: str) -> dict[str, Any]:
        batch = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":{BATCH_MS},"conf":{{}}}}\n{{"{topic}":{{"0":{AT}}}}}'
        write(checkpoint({0: batch.encode()}, (0,)), tmp_path / "job")
        body = {
            "name": "which",
            "source": {"properties": {"bootstrap.servers": lab.old_bootstrap}},
            "target": {"properties": {"bootstrap.servers": lab.new_bootstrap}},
            "link": "other",
            "checkpoint_roots": ["."],
            "checkpoints": [{"name": "job", "uri": "./job"}],
            "spark": {"master": "local[2]"},
        }
        (tmp_path / "m.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
        return call("compare", "-m", tmp_path / "m.yaml", "--checkpoint", "job", "--json").answered()

    return compare


def codes(body: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in body["findings"]}


def test_where_the_same_records_stand_at_the_same_numbers_it_makes_no_difference(lab: Lab, compared: Compared) -> None:
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, "which-same")
        produce(bootstrap, {"which-same": copies(0, 300)})

    body = compared("which-same")

    assert body["belongs_to"]["cluster"] == "old"
    assert "it makes no difference which of them they were read from" in body["belongs_to"]["reason"]
    assert [row["new_offset"] for row in body["partitions"]] == [str(AT)]
    assert "CLUSTER_UNCLEAR" not in codes(body)


def test_records_younger_than_the_batch_were_not_read_by_it(lab: Lab, compared: Compared) -> None:
    step_ms = CLOCKS_APART_MS // 50
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, GONE)):
        create(bootstrap, "which-younger")
        producer = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
        for number in range(first, 300):
            time_ms = BATCH_MS + (number - AT) * step_ms
            producer.produce("which-younger", f"r{number}".encode(), partition=0, timestamp=time_ms)
        assert producer.flush(30) == 0

    body = compared("which-younger")

    assert body["belongs_to"]["cluster"] == "old"
    assert "is more than 5 minutes younger than the batch that read it" in body["belongs_to"]["reason"]
    assert [row["new_offset"] for row in body["partitions"]] == [str(AT - GONE)]


def test_where_records_do_not_tell_it_is_asked(lab: Lab, compared: Compared) -> None:
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, GONE)):
        create(bootstrap, "which-open")
        produce(bootstrap, {"which-open": copies(first, 300)})

    body = compared("which-open")

    assert body["belongs_to"]["cluster"] is None
    assert "CLUSTER_UNCLEAR" in codes(body)
