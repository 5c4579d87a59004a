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
from tests.plugins.flink.files import kafka_source, metadata
from tests.plugins.spark.folders import write as tree

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


EMPTIED = {"earliest": -2, "latest": -1, "committed": -3}
"""Starts that are chosen when the job starts, as a KafkaSource writes them."""


def trimmed(bootstrap: str, topic: str, partition: int, count: int) -> None:
    """Write records, and let retention take them."""
    write(bootstrap, topic, {partition: [1_000 + number for number in range(count)]})
    trim(bootstrap, topic, count, partition)


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
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):  # on the new cluster as tools that copy numbers do
        commit(bootstrap, f"{topic}-etl", topic, {0: 500})

    body = call("compare", "-m", migration(lab, tmp_path, None), "--group", f"{topic}-etl", "--json").answered()

    row = rows(body)[0]
    assert (row["exactness"], row["new_offset"], row["bounds"]) == expected
    assert "UNTRANSLATED" not in row["findings"]
    assert "TARGET_AHEAD" in row["findings"]


def test_a_start_at_latest_in_a_partition_that_nobody_wrote_to_is_answered(lab: Lab, tmp_path: Path) -> None:
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, "flordr", 2)
        write(bootstrap, "flordr", {0: [1_000 + number for number in range(2115)]})
    folder = CASES / "flink-28303-latest-on-empty-partition" / "28303-empty-partition-at-latest"
    file = migration(lab, tmp_path, folder)
    given = ("-m", file, "--checkpoint", "etl")
    drafted = ("draft", *given, "--target", "flink-savepoint", "--author", "ana")

    body = call("compare", *given, "--json").answered()

    told = {n: (row["exactness"], row["new_offset"], row["raw"]["verdict"]) for n, row in rows(body).items()}
    assert told == {0: ("EXACT", "2115", "SAME"), 1: ("EXACT", "0", "SAME")}
    reason = rows(body)[1]["evidence"]["reason"]
    assert reason.startswith(
        "The checkpoint has no offset for flordr-1 but its start, latest, which is the end of a log without"
    )
    assert body["summary"]["blocked"] == 0
    assert call(*drafted, "--out", tmp_path / "plan.json").code == 0

    write(lab.new_bootstrap, "flordr", {1: [2_000, 3_000, 4_000]})
    body = call("compare", *given, "--json").answered()

    row = rows(body)[1]
    assert (row["exactness"], row["new_offset"], row["bounds"]) == ("BOUNDED", "0", ["0", "3"])
    assert row["raw"]["verdict"] == "UNKNOWN"
    refused = call(*drafted, "--out", tmp_path / "refused.json")
    assert refused.code == 1
    assert "REPLAY_NOT_TOLERATED" in refused.out + refused.err
    decided = ("--override", "flordr:1=0", "--reason", "it never had a record")
    assert call(*drafted, *decided, "--out", tmp_path / "decided.json").code == 0


def test_every_start_in_a_log_without_records_is_its_end_and_in_another_one_a_decision(
    lab: Lab, tmp_path: Path
) -> None:
    create(lab.old_bootstrap, "fstarts", 7)
    create(lab.new_bootstrap, "fstarts", 7)
    starts = {0: 20, **dict(enumerate(EMPTIED.values(), start=1)), **dict(enumerate(EMPTIED.values(), start=4))}
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        write(bootstrap, "fstarts", {0: [1_000 + number for number in range(20)]})
    for partition in (1, 2, 3):
        trimmed(lab.old_bootstrap, "fstarts", partition, 50)
    write(lab.old_bootstrap, "fstarts", {partition: [1_000, 2_000] for partition in (4, 5, 6)})
    savepoint = tmp_path / "savepoints" / "savepoint-1"
    files = {"savepoints/savepoint-1/_metadata": metadata(kafka_source(starts, topic="fstarts"), version=6)}
    tree(files, tmp_path)
    file = migration(lab, tmp_path, savepoint)

    body = call("compare", "-m", file, "--checkpoint", "etl", "--json").answered()

    found = {n: (row["exactness"], row["old_offset"], row["new_offset"]) for n, row in rows(body).items()}
    assert found == (
        {0: ("EXACT", "20", "20")}
        | dict.fromkeys((1, 2, 3), ("EXACT", "50", "0"))
        | dict.fromkeys((4, 5, 6), ("UNKNOWN", None, None))
    )
    blocked = [(each["code"], each["partition"]) for each in body["findings"] if each["severity"] == "blocks"]
    assert blocked == [("NO_POSITION", 4), ("NO_POSITION", 5), ("NO_POSITION", 6)]
    for target in ("flink-savepoint", "starting-offsets"):
        drafted = ("draft", "-m", file, "--checkpoint", "etl", "--target", target, "--author", "ana")
        refused = call(*drafted, "--out", tmp_path / "refused.json")
        assert "NO_POSITION" in refused.out + refused.err
        chosen = [part for n in (4, 5, 6) for part in ("--override", f"fstarts:{n}=0")]
        accepted = call(*drafted, *chosen, "--reason", "read it all", "--out", tmp_path / f"{target}.json")
        assert accepted.code == 0, accepted.err


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
