"""A Flink savepoint made of positions alone: from a lease table to `_metadata`, verified and taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import StepStanding
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ApplyError, OutputError, PlanError
from offsetwise.model import NewSavepoint, Plan, SourcePosition, Start, StepState, Turnout
from offsetwise.plan.settings import accepted
from offsetwise.plan.target import target_type
from offsetwise.plugins.flink.engine.binary import Cursor
from offsetwise.plugins.flink.engine.kinesis.splits import read_enumerator
from offsetwise.plugins.flink.targets.kinesis.savepoint import Splits
from offsetwise.plugins.flink.targets.kinesis.spec import splits_of
from offsetwise.plugins.kinesis.stream.spec import AT_UNKNOWN_TIME, LATEST, SHARD_END, TRIM_HORIZON, after, at, at_time
from offsetwise.position import Position
from offsetwise.targets import FlinkSavepointFromPositions
from tests.apply.plans import MIGRATION, context, journal
from tests.plugins.flink.targets.test_kinesis_state import restarted_from, source_of
from tests.plugins.kinesis.targets.kinesis_plans import ARN, ASKED, CHAIN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA, rows
from tests.with_cases import with_cases

TARGET = FlinkSavepointFromPositions()
WRITER = writer_module(TARGET.kind).writer(MIGRATION)


def plan(**changes: Any) -> Plan:
    return shard_plan(DATA / CHAIN, TARGET, stream="chain", **{"savepoint": ASKED, **changes})


def reasons(made: Plan) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in target_type(TARGET.kind).unfit(made)]


def only(number: int, place: Position) -> Plan:
    def moved(one: SourcePosition) -> Position | None:
        return place if one.partition == number else None

    return plan(move=moved)


@with_cases("place", [TRIM_HORIZON, after(7), at_time(1_800_000_000_000)], ids=str)
def test_splits_made_anew_are_of_the_version_that_every_release_reads(place: Position) -> None:
    """KinesisStreamsSource 5.0.0 refuses version 2."""
    made = plan(move=lambda _: place)
    shards = splits_of(made, ARN)
    known = read_enumerator(Cursor(Splits.of(shards).coordinator))

    assert {shard.version for shard in shards} == {known.split_version} == {1}
    assert len(known.splits) == len(made.positions)


def test_it_is_made_verified_and_taken_back(tmp_path: Path) -> None:
    made, out = plan(), tmp_path / "out" / "copy"
    shown = WRITER.prepare(made, TARGET, context(tmp_path))
    with journal(tmp_path) as one:
        step = WRITER.write(made, TARGET, context(tmp_path, journal=one))

    assert shown.told.endswith("with 3 shards of the source 'kinesis-src' and no other state.")
    assert source_of((out / "_metadata").read_bytes()) == restarted_from("made-from-kcl-leases")
    assert rows(read_checkpoint(str(out))) == rows(read_checkpoint(str(DATA / "flink" / "made-from-kcl-leases")))
    assert WRITER.look(made, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"write_roots": (str(tmp_path),)}))
    seen = writer_module(TARGET.kind).verify(made, step, eyes, None)
    assert [each.turnout for each in seen] == [Turnout.CONFIRMED] * 3
    with journal(tmp_path) as one:
        undone = WRITER.undo(made, step, context(tmp_path, journal=one))
    assert undone.state is StepState.UNDONE
    assert not out.exists()


def test_a_savepoint_that_was_changed_is_seen_and_not_removed(tmp_path: Path) -> None:
    made, file = plan(), tmp_path / "out" / "copy" / "_metadata"
    with journal(tmp_path) as one:
        step = WRITER.write(made, TARGET, context(tmp_path, journal=one))
    file.write_bytes(file.read_bytes().replace(b"chain", b"other"))

    assert WRITER.look(made, step, context(tmp_path)).standing is StepStanding.CHANGED
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"write_roots": (str(tmp_path),)}))
    assert {each.turnout for each in writer_module(TARGET.kind).verify(made, step, eyes, None)} == {Turnout.DIFFERENT}
    with journal(tmp_path) as one, pytest.raises(ApplyError, match="Nothing was removed"):
        WRITER.undo(made, step, context(tmp_path, journal=one))
    assert file.exists()


def test_a_place_where_something_stands_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / "copy").mkdir(parents=True)
    (tmp_path / "out" / "copy" / "theirs").write_text("kept")

    with pytest.raises(OutputError, match="expected an empty folder or none"):
        WRITER.prepare(plan(), TARGET, context(tmp_path))


@with_cases(
    ("turnout", "place"),
    [
        (Turnout.CONFIRMED, None),
        (Turnout.MOVED_ON, "flink/made-from-kcl-leases"),
        (Turnout.DIFFERENT, "flink/made-from-kcl-leases"),
    ],
)
def test_a_checkpoint_of_the_restored_job_tells_where_it_stands(
    tmp_path: Path, turnout: Turnout, place: str | None
) -> None:
    more = {Turnout.CONFIRMED: 0, Turnout.MOVED_ON: -16, Turnout.DIFFERENT: 16}[turnout]

    def moved(one: SourcePosition) -> Position | None:
        return after(int(str(one.offset)[4:]) + more)

    made = plan(move=moved)
    with journal(tmp_path) as one:
        step = WRITER.write(made, TARGET, context(tmp_path, journal=one))
    eyes = LiveReaders(
        migration=MIGRATION.model_copy(update={"write_roots": (str(tmp_path),), "checkpoint_roots": (str(DATA),)})
    )
    own = str(DATA / (place or "flink/made-from-kcl-leases"))

    seen = writer_module(TARGET.kind).verify(made, step, eyes, own)
    assert {each.turnout for each in seen} == {turnout}


@with_cases(
    ("place", "why"),
    [
        (LATEST, "is at LATEST, which a split of KinesisStreamsSource cannot hold: that names no record and no time"),
        (AT_UNKNOWN_TIME, "is at AT_TIMESTAMP, which .*: that names no record and no time"),
        (after(7, 2), "is at seq:7/2, which .*: it has no position inside an aggregate"),
        (at(7), "is at at:7, which .*: it is after a record, never at one"),
    ],
    ids=str,
)
def test_a_position_that_no_split_can_hold_is_refused_before_anything_is_written(
    tmp_path: Path, place: Position, why: str
) -> None:
    made = only(1, place)

    ((code, message),) = reasons(made)
    assert code == "PLACE_NOT_HELD"
    with pytest.raises(ApplyError, match=f"chain-1 {why}") as refused:
        WRITER.prepare(made, TARGET, context(tmp_path))
    assert message in refused.value.problem


@with_cases("place", [TRIM_HORIZON, SHARD_END, at_time(1795335840604)], ids=str)
def test_other_places_are_held(place: Position) -> None:
    assert reasons(only(1, place)) == []


@with_cases("ended", [{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}], ids=str)
def test_shards_that_are_read_to_their_end_are_in_no_split_and_all_others_are(ended: set[int], tmp_path: Path) -> None:
    made = plan(move=lambda one: SHARD_END if one.partition in ended else None)
    with journal(tmp_path) as one:
        WRITER.write(made, TARGET, context(tmp_path, journal=one))

    whole, kept = (
        {at.shard: at.position for source in read_checkpoint(str(folder)).sources for at in source.shards}
        for folder in (DATA / "flink" / "made-from-kcl-leases", tmp_path / "out" / "copy")
    )
    assert kept == {shard: place for shard, place in whole.items() if int(shard[-1]) not in ended}
    assert len(kept) == 3 - len(ended)


def test_a_shard_without_a_position_begins_at_its_oldest_record() -> None:
    made = only(2, at(49))
    earliest = replace(made, positions=tuple(replace(one, start=Start.EARLIEST) for one in made.positions))

    assert reasons(earliest) == []


def test_shards_of_which_too_little_is_known_are_refused() -> None:
    made = plan()
    (topic,) = made.requirements.new.topics

    def known(*shards: int) -> Plan:
        kept = replace(topic, shards=tuple(each for each in topic.shards if each.partition in shards))
        new = replace(made.requirements.new, topics=(kept,))
        return replace(made, requirements=replace(made.requirements, new=new))

    assert reasons(known(0)) == [
        (
            "SHARDS_UNKNOWN",
            "The hash keys of shardId-000000000001 are not known, nor those of 1 more shard: neither the stream nor "
            "the checkpoint told them.",
        )
    ]
    left = replace(made, positions=made.positions[1:])
    ((code, message),) = reasons(left)
    assert (code, message.partition(",")[0]) == ("SHARDS_UNKNOWN", "shardId-000000000000 of 'chain' is open")


@with_cases(
    ("change", "found"),
    [
        ({"uid": "/checkpoints/job"}, "found '/checkpoints/job', which is a path"),
        ({"uid": " "}, "Expected the source's uid, up to 255 characters"),
        ({"uid": "kinesis\u200b-src"}, "found 'kinesis\\u200b-src'"),
        ({"stream_arn": "chain"}, "Expected the ARN of a stream"),
        ({"stream_arn": f"{ARN}other"}, "The ARN is of stream 'other', and the positions are of 'chain'."),
        ({"parallelism": 0}, "found 0 and 128"),
        ({"parallelism": 129}, "found 129 and 128"),
        ({"max_parallelism": 32_769}, "found 1 and 32,769"),
    ],
    ids=str,
)
def test_what_it_is_made_for_must_be_possible(change: dict[str, object], found: str) -> None:
    asked = NewSavepoint(
        **{"uid": ASKED.uid, "stream_arn": ASKED.stream_arn, "parallelism": 1, "max_parallelism": 128, **change}  # type: ignore[arg-type]
    )

    ((code, message),) = reasons(plan(savepoint=asked))
    assert code == "NEW_SAVEPOINT"
    assert found in message


def test_all_four_keys_are_needed() -> None:
    assert reasons(plan(savepoint=None)) == [("NEW_SAVEPOINT", "Of which source the savepoint is to be is not said.")]
    takers = {TARGET.kind: target_type(TARGET.kind).parameters}
    whole = {"uid": "src", "stream_arn": ASKED.stream_arn, "parallelism": "1", "max_parallelism": "128"}
    accepted(takers, tuple(whole.items()))
    for key in whole:
        with pytest.raises(PlanError, match=f"found no {key}"):
            accepted(takers, tuple((name, value) for name, value in whole.items() if name != key))
    with pytest.raises(PlanError, match="found parallelism 129 and maximum parallelism 128"):
        accepted(takers, tuple((whole | {"parallelism": "129"}).items()))
