"""Partitions that nobody writes to, and topics that were created again, of recorded checkpoints on real brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab import Lab
from tests.commands import call
from tests.integration.clusters import commit
from tests.integration.topics import TIMEOUT_S, trim

CASES = Path(__file__).parents[1] / "data" / "cases"
QUIET_BATCH_MS = 1_766_000_080_000
RESET_BATCH_MS = 1_766_000_000_000
OF_16_JANUARY_MS = 1_768_521_600_000
QUIET = {0: 0, 1: 25, 2: 10, 3: 5, 4: 6, 5: 11}
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


def rows(body: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {row["partition"]: row for row in body["partitions"]}


def test_a_partition_that_nobody_ever_wrote_to_holds_no_job_back(lab: Lab, tmp_path: Path) -> None:
    before = {partition: [QUIET_BATCH_MS - 9_000_000 + n for n in range(count)] for partition, count in QUIET.items()}
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, "e9609", len(QUIET))
        write(bootstrap, "e9609", before)
    file = migration(lab, tmp_path, CASES / "kafka-12635-empty-partition" / "emptypart")

    body = call("compare", "-m", file, "--checkpoint", "etl", "--json").answered()

    found = {n: (row["exactness"], row["new_offset"], row["raw"]["verdict"]) for n, row in rows(body).items()}
    assert found == {partition: ("EXACT", str(offset), "SAME") for partition, offset in QUIET.items()}
    assert body["summary"]["blocked"] == 0
    plan = tmp_path / "plan.json"
    drafted = call(
        "draft", "-m", file, "--checkpoint", "etl", "--target", "starting-offsets", "--author", "ana", "--out", plan
    )
    assert drafted.code == 0, drafted.err


@pytest.mark.parametrize(
    ("on_new", "expected"),
    [
        ([], ("EXACT", "0", ["0", "0"])),
        ([OF_16_JANUARY_MS], ("BOUNDED", "0", ["0", "1"])),
        ([1_000, 2_000], ("BOUNDED", "0", ["0", "2"])),
    ],
    ids=["empty", "young", "old: a group tells no time"],
)
def test_a_log_that_expired_to_nothing_is_exact_where_nothing_can_be_lost(
    lab: Lab, tmp_path: Path, on_new: list[int], expected: tuple[str, str, list[str]]
) -> None:
    topic = f"a12635-{len(on_new)}"
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, topic, 1)
    write(lab.old_bootstrap, topic, {0: [1_000 + number for number in range(500)]})
    trim(lab.old_bootstrap, topic, 500)
    write(lab.new_bootstrap, topic, {0: on_new})
    commit(lab.old_bootstrap, f"{topic}-etl", topic, {0: 500})

    body = call("compare", "-m", migration(lab, tmp_path, None), "--group", f"{topic}-etl", "--json").answered()

    row = rows(body)[0]
    assert (row["exactness"], row["new_offset"], row["bounds"]) == expected
    assert "UNTRANSLATED" not in row["findings"]


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
