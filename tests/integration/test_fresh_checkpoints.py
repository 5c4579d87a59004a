"""Checkpoints that begin anew, by `startingOffsets` or seeded: the job reads on at exactly the next record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession

from tests.commands import call
from tests.integration.moving import GONE, TOPIC, Job, Move, Scene, counted, moved

GROUP: Final = "end-to-end-fresh"
Read = list[tuple[int, int, int, int]]
"""(batch, partition, offset, serial) of records, as they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """A job without state, whose sink keeps every record with the place where it was read."""

    spark: SparkSession
    read: Read = field(default_factory=list)

    def run(self, bootstrap: str, checkpoint: Path, *, starting: str) -> None:
        """Run until the log's end."""

        def write(batch: DataFrame, batch_id: int) -> None:
            self.read.extend((batch_id, row["partition"], row["offset"], row["serial"]) for row in batch.collect())

        (
            self.spark.readStream.format("kafka")
            .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": TOPIC, "startingOffsets": starting})
            .option("maxOffsetsPerTrigger", 300)
            .load()
            .selectExpr("partition", "offset", "CAST(CAST(value AS STRING) AS LONG) serial")
            .writeStream.option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .foreachBatch(write)
            .start()
            .awaitTermination()
        )

    def first(self) -> dict[int, int]:
        """Return the first offset of every partition in the first batch."""
        return {partition: min(row[2] for row in self.read if row[:2] == (0, partition)) for partition in GONE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """What one plan wrote to three targets, and what the job had not read."""

    move: Move
    plan: dict[str, Any]
    places: dict[int, int]
    """By partition: the next record, on the new cluster."""
    unread: dict[tuple[int, int], int]
    """The serial of every record from there on, by partition and offset on the new cluster."""
    once: tuple[set[str], bool]
    taken_back: tuple[set[str], bool]
    """What stood there when it had been applied, and taken back: names at the output, and whether there is a group."""

    @staticmethod
    def stands(move: Move) -> tuple[set[str], bool]:
        names = {path.name for path in move.copy.iterdir()} if move.copy.exists() else set()
        new = yaml.safe_load(move.migration.read_text())["target"]["properties"]["bootstrap.servers"]
        admin = AdminClient({"bootstrap.servers": new, "log_level": 2})
        listed = admin.list_consumer_groups().result(30)
        assert not listed.errors
        return names, GROUP in {each.group_id for each in listed.valid or ()}

    @property
    def starting(self) -> Path:
        return self.move.copy / "starting-offsets"

    @property
    def seeded(self) -> Path:
        return self.move.copy / "seeded-checkpoint"


@pytest.fixture(scope="module")
def fresh(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """One plan from a stopped job without state, applied to three targets."""
    folder, lab = tmp_path_factory.mktemp("fresh"), scene.orders.lab
    stopped = Append(spark=scene.clean[0].spark)
    scene.orders.mirrored()
    stopped.run(lab.old_bootstrap, folder / "stopped", starting="earliest")
    reached = {partition: max(row[2] for row in stopped.read if row[1] == partition) + 1 for partition in GONE}
    scene.orders.arrive(60)

    move = moved(lab, folder / "stopped", folder / "move", job={"stateful": False, "sink": "kafka"})
    targets = ("--target", "seeded-checkpoint", "--target", f"consumer-group:{GROUP}")
    plan = move.draft("starting-offsets", *targets)
    move.sign()
    first = folder / "first.json"
    move.apply("--output", str(move.copy), "--receipt", str(first), "--execute")
    once = Fresh.stands(move)
    assert call("rollback", first, "-m", move.migration, *move.trusted, "--execute").code == 0
    taken_back = Fresh.stands(move)
    move.apply("--output", str(move.copy), "--execute")
    return Fresh(
        move=move,
        plan=plan,
        once=once,
        taken_back=taken_back,
        places={partition: offset - GONE[partition] for partition, offset in reached.items()},
        unread={
            (partition, offset - GONE[partition]): serial
            for (partition, offset), serial in scene.orders.by_offset.items()
            if offset >= reached[partition]
        },
    )


def turnouts(fresh: Fresh, *flags: str | Path) -> dict[str, set[str]]:
    """Verify, and give what is said of each target."""
    body = call("verify", fresh.move.receipt, "-m", fresh.move.migration, "--json", *flags).answered()
    found: dict[str, set[str]] = {}
    for position in body["positions"]:
        found.setdefault(position["target"]["kind"], set()).add(position["turnout"])
    return found


def test_one_plan_stands_at_three_targets_as_planned(fresh: Fresh) -> None:
    assert {position["partition"]: int(position["new_offset"]) for position in fresh.plan["positions"]} == fresh.places
    assert {position["exactness"] for position in fresh.plan["positions"]} == {"EXACT"}
    assert fresh.plan["gives_up"][0] == "the state"

    kinds = ("starting-offsets", "seeded-checkpoint", "consumer-group")
    assert turnouts(fresh) == {kind: {"CONFIRMED"} for kind in kinds}


def test_three_targets_are_taken_back_to_nothing_and_applied_again(fresh: Fresh) -> None:
    assert fresh.once == ({"starting-offsets", "seeded-checkpoint"}, True)
    assert fresh.taken_back == (set(), False)


def test_export_prints_what_was_applied(fresh: Fresh) -> None:
    exported = call("export", fresh.move.plan, "--as", "starting-offsets")
    assert json.loads(exported.out) == {TOPIC: {str(partition): place for partition, place in fresh.places.items()}}
    assert exported.out.strip() == fresh.starting.read_text().strip()

    lines = call("export", fresh.move.plan, "--as", "consumer-groups-csv").out
    assert lines == "".join(f"{TOPIC},{partition},{place}\n" for partition, place in fresh.places.items())


@pytest.mark.parametrize("kind", ["starting-offsets", "seeded-checkpoint"])
def test_the_first_batch_reads_exactly_the_next_record_of_every_partition(
    fresh: Fresh, scene: Scene, kind: str
) -> None:
    job, new = Append(spark=scene.clean[0].spark), scene.orders.lab.new_bootstrap
    made = fresh.seeded if kind == "seeded-checkpoint" else fresh.move.copy / "made"

    job.run(new, made, starting=fresh.starting.read_text() if made != fresh.seeded else "earliest")

    assert job.first() == fresh.places
    assert {(partition, offset): serial for _, partition, offset, serial in job.read} == fresh.unread
    assert len(job.read) == len(fresh.unread), "each once"
    assert turnouts(fresh, "--checkpoint", made)[kind] == {"MOVED_ON"}


def test_a_job_with_state_begins_to_count_anew(fresh: Fresh, scene: Scene, tmp_path: Path) -> None:
    job = Job(spark=scene.clean[0].spark)

    starting = fresh.starting.read_text()
    job.run(scene.orders.lab.new_bootstrap, tmp_path / "made", starting=starting)

    assert job.counts == counted(fresh.unread.values()), "each unread record once; what was counted is given up"
    assert job.seen[0] == 0, "batch ids begin anew, too"


def test_a_consumer_goes_on_from_where_the_checkpoint_was(fresh: Fresh, scene: Scene) -> None:
    found = dict(consumed(scene.orders.lab.new_bootstrap, len(fresh.unread)))

    assert found == fresh.unread
    assert turnouts(fresh)["consumer-group"] == {"MOVED_ON"}


def consumed(bootstrap: str, count: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Let a real consumer of the group read so many records, and commit."""
    settings = {"group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "error", "log_level": 2}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.subscribe([TOPIC])
    for _ in range(count):
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is None, message.error()
        yield (message.partition() or 0, message.offset() or 0), int(message.value() or b"")
    consumer.commit(asynchronous=False)
    consumer.close()
