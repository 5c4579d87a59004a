"""Partitions that nobody writes to, and topics that were created again, of recorded checkpoints on real brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab import Lab
from tests.commands import call
from tests.integration.topics import TIMEOUT_S

CASES = Path(__file__).parents[1] / "data" / "cases"
OF_16_JANUARY_MS = 1_768_521_600_000
Times = Mapping[int, Iterable[int]]


def create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(TIMEOUT_S)


def write(bootstrap: str, topic: str, times: Times) -> None:
    """Write records of these times, each another one."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 2})
    for partition, each in times.items():
        for number, time_ms in enumerate(each):
            producer.produce(
                topic, value=f"{topic}-{partition}-{number}".encode(), partition=partition, timestamp=time_ms
            )
    assert producer.flush(TIMEOUT_S) == 0


def migration(lab: Lab, folder: Path, case: Path | None) -> Path:
    sides = {"source": ("old", lab.old_bootstrap), "target": ("new", lab.new_bootstrap)}
    stated: dict[str, Any] = {
        side: {"name": name, "properties": {"bootstrap.servers": at}} for side, (name, at) in sides.items()
    }
    if case is not None:
        job = {"stateful": False, "sink": "kafka"}
        stated |= {
            "checkpoint_roots": [str(case.parent)],
            "checkpoints": [{"name": "etl", "uri": str(case), "job": job, "belongs_to": "old"}],
        }
    path = folder / "migration.yaml"
    path.write_text(yaml.safe_dump({"name": "quiet", "spark": {"master": "local[2]"}, **stated}), encoding="utf-8")
    return path


def test_a_topic_that_was_created_again_and_grew_past_the_position_is_no_proof(lab: Lab, tmp_path: Path) -> None:
    times = {0: [OF_16_JANUARY_MS - 60_000 * (149 - number) for number in range(150)]}
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, "dev-reset", 1)
        write(bootstrap, "dev-reset", times)
    file = migration(lab, tmp_path, CASES / "spark-topic-reset-silent" / "dev-reset")

    body = call("compare", "-m", file, "--checkpoint", "etl", "--json").answered()

    (row,) = body["partitions"]
    assert (row["exactness"], row["new_offset"], row["raw"]["verdict"]) == ("UNKNOWN", None, "UNKNOWN")
    (finding,) = [each for each in body["findings"] if each["code"] == "LOG_REPLACED"]
    assert finding["severity"] == "blocks"
    assert "150 of dev-reset-0 on the old cluster is of 2026-01-16" in finding["message"]
    drafted = ("draft", "-m", file, "--checkpoint", "etl", "--target", "starting-offsets", "--author", "ana")
    refused = call(*drafted, "--out", tmp_path / "refused.json")
    assert refused.code == 1
    assert "LOG_REPLACED" in refused.out + refused.err
    decided = ("--override", "dev-reset:0=0", "--reason", "created again on 16 January: read it from its start")
    accepted = call(*drafted, *decided, "--out", tmp_path / "plan.json")
    assert accepted.code == 0, accepted.err
