"""Positions on another stream: found by the records of both, for every shard of the new one, and planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

import offsetwise as ow
from offsetwise import files, workflow
from offsetwise.config import JobTraits, load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings.case import MigrationCase, TopicCase
from offsetwise.model import Checkpoint, Exactness, Link
from offsetwise.pipeline.start import SESSION_OPEN
from offsetwise.plan import options
from offsetwise.plan.predict import other_stream_unedited
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, ShardPlace, in_shards
from tests.commands import call
from tests.plugins.kinesis.streams import Stream, lease, stream
from tests.with_cases import with_cases

__all__ = ["stream"]

OLD, NEW = "chain", "chain-copy"
LEASES = (lease(0, "5"), lease(1, "4"))
"""Of the eleven and the nine records of the old stream."""
PROVEN = {Exactness.EXACT, Exactness.POSITION_EXACT}


@dataclass(frozen=True, slots=True)
class Copy:
    """Another stream, and the old one's records, read and unread ones."""

    stream: Stream
    folder: Path

    @property
    def records(self) -> list[tuple[str, bytes, bool]]:
        """Return partition key, data, and whether the job has read it, shard by shard."""
        made = []
        for shard, last in ((0, 5), (1, 4)):
            made += [(key, data, number <= last) for key, data, number in self.held(OLD, shard)]
        return made

    def held(self, name: str, shard: int) -> list[tuple[str, bytes, int]]:
        client = self.stream.client
        begin = client.get_shard_iterator(
            StreamName=name, ShardId=f"shardId-{shard:012}", ShardIteratorType="TRIM_HORIZON"
        )
        given = client.get_records(ShardIterator=begin["ShardIterator"])["Records"]
        return [(each["PartitionKey"], each["Data"], int(each["SequenceNumber"])) for each in given]

    def make(self, shards: int, records: Sequence[tuple[str, bytes, bool]], *, before: int = 0) -> None:
        client = self.stream.client
        client.create_stream(StreamName=NEW, ShardCount=shards)
        for number in range(before):
            client.put_record(StreamName=NEW, PartitionKey=f"other{number}", Data=b"y")
        for key, data, _ in records:
            client.put_record(StreamName=NEW, PartitionKey=key, Data=data)

    def compare(self, *leases: dict[str, Any], job: str = "{stream: chain}") -> ow.Comparison:
        return ow.Migration.load(self.migration(*leases, job=job)).checkpoint("app").compare()

    def migration(self, *leases: dict[str, Any], job: str = "{stream: chain}") -> Path:
        path = self.stream.migration(self.folder, *(leases or LEASES), job=job)
        path.write_text(path.read_text() + f"topics: {{map: {{{OLD}: {NEW}}}}}\n")
        return path

    def unread_from(self, place: ShardPlace | None, shard: int) -> list[str]:
        """Return the keys that a job would read from a place on."""
        held = self.held(NEW, shard)
        if place is None or place in (TRIM_HORIZON, SHARD_END):
            return [key for key, _, _ in held]
        return [key for key, _, number in held if number > (place.sequence or 0)]


@pytest.fixture
def copy(stream: Stream, tmp_path: Path) -> Iterator[Copy]:
    with suppress(stream.client.exceptions.ResourceNotFoundException):
        stream.client.delete_stream(StreamName=NEW)
    yield Copy(stream, tmp_path)
    with suppress(stream.client.exceptions.ResourceNotFoundException):
        stream.client.delete_stream(StreamName=NEW)


def read_first(records: Sequence[tuple[str, bytes, bool]]) -> list[tuple[str, bytes, bool]]:
    return sorted(records, key=lambda each: not each[2])


@with_cases("shards", [1, 3])
def test_every_shard_of_the_new_stream_begins_at_its_first_unread_record(shards: int, copy: Copy) -> None:
    copy.make(shards, read_first(copy.records), before=13)
    made = copy.compare()

    assert [(row.topic, row.new_topic, row.partition) for row in made] == [(OLD, NEW, n) for n in range(shards)]
    assert {row.exactness for row in made} <= PROVEN
    assert {(row.replay, row.skip) for row in made} == {(0, 0)}
    unread = {key for key, _, read in copy.records if not read}
    for row in made:
        again = copy.unread_from(row.target_offset, row.partition)  # type: ignore[arg-type]
        assert [each for each in again if not each.startswith("other")] == [
            key for key, _, _ in copy.held(NEW, row.partition) if key in unread
        ]
        assert "counted on the records" in row.evidence.reason
    one = made[f"{OLD}-0"]
    assert one.source_offset is not None
    assert str(one.source_offset).startswith("0@seq:5")
    assert one.evidence.identity == "partition key and data"
    assert "calls, at most four a second and shard" in one.evidence.statements[-1]
    assert files.load(files.dump(made), "comparison", subject="it") == made
    found = {each.code for each in made.findings}
    assert not found & {"PARTITIONS_FEWER", "PARTITION_MISSING", "NEW_PARTITION", "SHARD_GONE", "CLUSTER_UNCLEAR"}


@pytest.mark.proof
def test_many_shards_are_read_on_spark_with_the_same_answer(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    copy.make(3, read_first(copy.records), before=13)
    here = copy.compare()
    (copy.folder / "dumps" / "app.json").unlink()
    (copy.folder / "dumps").rmdir()
    monkeypatch.setattr("offsetwise.plugins.kinesis.stream.matching.AT_ONCE", 2)
    on_spark = copy.compare()

    assert [replace(row, evidence=here[str(row.topic_partition)].evidence) for row in on_spark] == [*here]
    assert [row.evidence.statements for row in on_spark] == [row.evidence.statements for row in here]
    assert SESSION_OPEN.is_set()


def test_where_records_of_several_shards_lie_interleaved_the_lowest_place_misses_none(copy: Copy) -> None:
    copy.make(1, copy.records)
    (row,) = copy.compare()

    assert (row.exactness, row.skip) == (Exactness.BOUNDED, 0)
    again = copy.unread_from(row.target_offset, 0)  # type: ignore[arg-type]
    assert {key for key, _, read in copy.records if not read} <= set(again)
    assert row.replay == sum(read for key, _, read in copy.records if key in again) == 4
    assert "shards 0, 1 lie interleaved" in row.evidence.reason
    assert row.source_offset == in_shards({0: row.source_offset.of[0][1], 1: row.source_offset.of[1][1]})  # type: ignore[union-attr]


def test_hash_keys_that_producers_name_are_found_and_every_shard_is_searched(copy: Copy) -> None:
    copy.make(2, [])
    for at, (key, data, _) in enumerate(read_first(copy.records)):
        hashed = str((at % 2) * 2**127)
        copy.stream.client.put_record(StreamName=NEW, PartitionKey=key, Data=data, ExplicitHashKey=hashed)
    made = copy.compare()

    assert {row.exactness for row in made} == {Exactness.POSITION_EXACT}
    unread = {key for key, _, read in copy.records if not read}
    for row in made:
        again = copy.unread_from(row.target_offset, row.partition)  # type: ignore[arg-type]
        assert again == [key for key, _, _ in copy.held(NEW, row.partition) if key in unread]
    assert any("name hash keys themselves" in each for each in made[f"{OLD}-0"].evidence.statements)


def test_what_cannot_be_told_has_no_place_and_a_reason(copy: Copy) -> None:
    copy.make(2, [each for each in copy.records if each[1] == b"nothing"])
    nothing = copy.compare()

    assert {(row.target_offset, row.exactness) for row in nothing} == {(None, Exactness.UNKNOWN)}
    assert "is not on 'chain-copy' yet" in nothing[f"{OLD}-0"].evidence.reason
    assert "UNTRANSLATED" in {each.code for each in nothing.findings}


@with_cases(
    ("position", "told"),
    [("LATEST", "LATEST saves no position"), ("AT_TIMESTAMP", "AT_TIMESTAMP saves no position")],
)
def test_a_lease_that_saves_no_place_has_none_on_another_stream(position: str, told: str, copy: Copy) -> None:
    copy.make(2, read_first(copy.records))
    made = copy.compare(lease(0, position), lease(1, "4"))

    assert made[f"{OLD}-0"].exactness is Exactness.UNKNOWN
    assert told in made[f"{OLD}-0"].evidence.reason
    assert made[f"{OLD}-1"].exactness in PROVEN


def test_ended_and_unread_shards_count_for_the_new_ones(copy: Copy) -> None:
    copy.stream.split()
    copy.make(2, read_first(copy.records))
    children = copy.compare(lease(0, "5"), lease(1, "TRIM_HORIZON"))

    assert children[f"{OLD}-0"].exactness in PROVEN
    assert len(copy.unread_from(children[f"{OLD}-0"].target_offset, 0)) == 6  # type: ignore[arg-type]
    assert children[f"{OLD}-1"].target_offset == TRIM_HORIZON


TRAITS = "{stream: chain, stateful: false, tolerates_replay: true}"


@with_cases("target", ["starting-position", "kcl-leases:app-of-copy", "flink-savepoint-from-positions"])
def test_a_plan_for_the_other_stream_has_a_position_and_hash_keys_for_every_open_shard(target: str, copy: Copy) -> None:
    copy.make(3, read_first(copy.records))
    path = copy.migration(job=TRAITS)
    arn = "arn:aws:kinesis:us-east-1:123456789012:stream/chain-copy"
    savepoint = {"uid": "src", "stream_arn": arn, "parallelism": 1, "max_parallelism": 128}
    more: dict[str, Any] = {"settings": savepoint} if target.startswith("flink") else {}
    plan = ow.Migration.load(path).checkpoint("app").draft(options.target(target), author="ada", **more)

    (topic,) = plan.document.requirements.new.topics
    assert [one.partition for one in plan.document.positions] == [each.partition for each in topic.shards] == [0, 1, 2]
    assert plan.document.requirements.old.topics[0].name == OLD
    assert {each.name: each.outcome.value for each in plan.document.gate}["everything mirrored"] == "passed"
    assert workflow.drift(plan.document, load_migration(path)) == ()


def test_a_plan_for_the_other_stream_is_applied_and_verified(copy: Copy) -> None:
    copy.make(3, read_first(copy.records))
    plan = ow.Migration.load(copy.migration(job=TRAITS)).checkpoint("app")
    drafted = plan.draft(options.target("starting-position"), author="ada")
    drafted.save(copy.folder / "plan.json")
    rita = ow.keygen(subject="rita")
    public = ow.write_keys(copy.folder / "rita", rita)
    ow.write_approval(copy.folder / "plan.approval.json", drafted.sign(rita))
    receipt = drafted.apply(
        output=copy.folder / "out" / "start.json",
        approvals=[copy.folder / "plan.approval.json"],
        trust=[public],
        execute=True,
    )

    text = (copy.folder / "out" / "start.json").read_text()
    assert receipt.document.steps[0].state.value == "done"
    assert f'"streamName":"{NEW}"' in text
    assert all(f"shardId-{number:012}" in text for number in range(3))
    assert {each.turnout.value for each in receipt.verify().positions} == {"CONFIRMED"}


def test_without_records_no_position_is_told_on_another_stream(copy: Copy) -> None:
    copy.make(2, read_first(copy.records))
    path = copy.migration()
    ran = call("compare", "--migration", path, "--checkpoint", "app", "--no-content", "--json")

    rows = ran.answered()["partitions"]
    assert {(row["new_offset"], row["exactness"]) for row in rows} == {(None, "UNKNOWN")}
    assert "only records tell where a position lies there, and none was read" in rows[0]["evidence"]["reason"]


def test_the_hash_of_a_partition_key_is_the_servers(copy: Copy) -> None:
    for shard in (0, 1):
        for key, _, _ in copy.held(OLD, shard):
            assert int.from_bytes(md5(key.encode(), usedforsecurity=False).digest()) // 2**127 == shard


def test_a_start_with_nothing_but_the_new_name_is_foretold_for_each_engine(copy: Copy) -> None:
    copy.make(3, read_first(copy.records))
    path = copy.migration(job=TRAITS)
    checkpoint = ow.Migration.load(path).checkpoint("app")
    made = checkpoint.compare()

    (found,) = (each for each in made.findings if each.code == "OTHER_STREAM_UNEDITED")
    assert "try again for ever and read nothing" in found.message
    plan = checkpoint.draft(options.target("starting-position"), author="ada")
    assert plan.document.prediction.told == found.message

    recorded = Path(__file__).parents[2] / "data" / "kinesis"
    for engine, name, told in (
        (
            "flink",
            "flink/streams-source-5.1.0-two-shards",
            "goes on reading 'chain', without a warning, and of the 3 shards of 'chain-copy' only 1, those with "
            "numbers above 1: the others are never read",
        ),
        ("flink", "flink/legacy-consumer-4.3.0-two-shards", "begins every shard there at its oldest record"),
        ("spark", "spark/qubole-1.2.0-committed", "which 'chain-copy' refuses: it fails"),
    ):
        case = case_of(made, read_checkpoint(str(recorded / name)))
        assert engine == (case.checkpoint and case.checkpoint.engine)
        (problem,) = other_stream_unedited(case)
        assert told in problem.message
        rows = tuple(replace(row, new_topic=OLD) for row in case.rows)
        (same,) = other_stream_unedited(replace(case, rows=rows))
        assert f"'chain' of '{case.new.name}'" in same.message
        assert "'chain-copy'" not in same.message


def test_the_bundled_sample_says_what_a_start_with_nothing_but_the_new_name_does() -> None:
    folder = Path(ow.__file__).parent / "sample_kinesis"
    migration = ow.Migration.load(folder / "migration.yaml")
    for path in folder.glob("comparison-*.json"):
        made = ow.load_comparison(path, folder / "old.json", folder / "new.json")
        checkpoint = migration.checkpoint(path.stem.removeprefix("comparison-"))

        (found,) = (each for each in made.findings if each.code == "OTHER_STREAM_UNEDITED")
        (told,) = other_stream_unedited(case_of(made, checkpoint.inspect()))
        assert found.message == told.message


def case_of(made: ow.Comparison, checkpoint: Checkpoint) -> MigrationCase:
    """Return the case of the comparison, as if its job had this checkpoint."""
    observed = made
    names = {row.topic: row.new_topic for row in observed.partitions}
    there = {each.name: each for each in observed.snapshots[1].topics}
    return MigrationCase(
        old=observed.snapshots[0],
        new=observed.snapshots[1],
        checkpoint=checkpoint,
        belongs_to=observed.belongs_to,
        job=JobTraits(),
        link=Link.OTHER,
        topics=tuple(TopicCase(old_name=old, old=None, new=there[new]) for old, new in names.items()),
        rows=observed.partitions,
        now_ms=0,
        stream="kinesis",
    )
