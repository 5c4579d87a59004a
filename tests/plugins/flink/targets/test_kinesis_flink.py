"""Savepoints of both of Flink's sources of Kinesis, edited in a copy: written, verified, taken back, and refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import StepStanding
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import (
    Plan,
    ReceiptStep,
    ShardRange,
    SourcePosition,
    Start,
    StepState,
    TopicPartition,
    Turnout,
)
from offsetwise.plan.target import target_type
from offsetwise.plugins.flink.engine.binary import Cursor
from offsetwise.plugins.flink.engine.kinesis.splits import UNASSIGNED, read_enumerator
from offsetwise.plugins.flink.engine.metadata import parse_metadata
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.edit import Making, edit_source
from offsetwise.plugins.flink.targets.elements import Piece
from offsetwise.plugins.flink.targets.kinesis.edit import rewrite_of
from offsetwise.plugins.flink.targets.kinesis.states import split_element
from offsetwise.plugins.kinesis.stream.spec import LATEST, TRIM_HORIZON, after, at_time, in_shards
from offsetwise.position import Position
from tests.apply.plans import MIGRATION, SAVEPOINT, aged, context, flink_savepoint, journal
from tests.plugins.flink.files import codes
from tests.plugins.flink.targets.test_kinesis_state import (
    LEGACY,
    coordinators,
    data_of,
    enumerator_in,
    fields_of,
    opened,
    source_of,
)
from tests.plugins.kinesis.targets.kinesis_plans import ARN, halves, on_another, shard_plan, with_child
from tests.plugins.kinesis.test_checkpoints import rows
from tests.with_cases import with_cases

MODULE: Final = writer_module(SAVEPOINT.kind)
TWO: Final = "streams-source-5.1.0-two-shards"
WAITING: Final = "streams-source-5.1.0-children-unassigned"
MIDDLE: Final = 2**127


def laid(data: bytes, folder: Path) -> Path:
    made = folder / "source"
    made.mkdir()
    (made / "_metadata").write_bytes(data)
    return aged(made)


def of_version(version: int) -> bytes:
    """Return a savepoint whose splits are in another version of their form."""
    data = data_of(TWO)

    def element(plain: bytes) -> tuple[TopicPartition, bytes]:
        return TopicPartition("fl", 0), split_element(replace(fields_of(plain), version=version))

    def coordinator(cursor: Cursor) -> list[Piece]:
        begun = cursor.at
        made = enumerator_in(version, read_enumerator(Cursor(cursor.data, begun, cursor.end)))
        return [Piece(begun, cursor.end, made)]

    making = Making(opened=opened(data))
    (entry,) = (each for each in parse_metadata(data).operators if each.id == operator_id("kinesis-src"))
    edit_source(entry, replace(rewrite_of({}, legacy=False), element=element, coordinator=coordinator), making)
    return making.files({"_metadata": data})["_metadata"]


def written(plan: Plan, folder: Path) -> ReceiptStep:
    with journal(folder) as one:
        return flink_savepoint.write(plan, SAVEPOINT, context(folder, journal=one))


def seen(plan: Plan, step: ReceiptStep, folder: Path, own: str | None = None) -> list[Turnout]:
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"write_roots": (str(folder),)}))
    return [each.turnout for each in MODULE.verify(plan, step, eyes, own)]


def only(shard: int, place: Position) -> Callable[[SourcePosition], Position | None]:
    return lambda one: place if one.partition == shard else None


def made_of(step: ReceiptStep) -> bytes:
    return (Path(step.place) / "_metadata").read_bytes()


def with_listed(plan: Plan, shard: ShardRange) -> Plan:
    """Add a shard that the savepoint does not know, as the stream lists it."""
    made, new = with_child(plan, shard.partition), plan.requirements.new
    topics = tuple(replace(each, shards=(*each.shards, shard)) for each in new.topics)
    return replace(made, requirements=replace(plan.requirements, new=replace(new, topics=topics)))


@with_cases(
    "data",
    [data_of(TWO), of_version(0), of_version(1), data_of(WAITING), data_of(LEGACY)],
    ids=["splits 2", "splits 0", "splits 1", "waiting children", "legacy consumer"],
)
def test_a_copy_with_the_same_positions_has_the_same_bytes(data: bytes, tmp_path: Path) -> None:
    source = laid(data, tmp_path)
    plan = shard_plan(source, SAVEPOINT)
    step = written(plan, tmp_path)

    assert made_of(step) == data == (source / "_metadata").read_bytes()
    assert seen(plan, step, tmp_path) == [Turnout.CONFIRMED] * len(plan.positions)
    assert set(seen(plan, step, tmp_path, step.place)) == {Turnout.UNKNOWN}, "it is no checkpoint of the restored job"
    assert flink_savepoint.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    with journal(tmp_path) as one:
        assert flink_savepoint.undo(plan, step, context(tmp_path, journal=one)).state is StepState.UNDONE
    assert not Path(step.place).exists()


@with_cases(
    ("data", "place"),
    [
        (data_of(TWO), after(77)),
        (data_of(TWO), TRIM_HORIZON),
        (data_of(TWO), at_time(1795335840604)),
        (of_version(0), after(77)),
        (of_version(1), after(77)),
        (data_of(LEGACY), after(77)),
        (data_of(LEGACY), after(77, 2)),
        (data_of(LEGACY), TRIM_HORIZON),
    ],
)
def test_only_the_planned_shard_gets_another_place(data: bytes, place: Position, tmp_path: Path) -> None:
    source = laid(data, tmp_path)
    plan = shard_plan(source, SAVEPOINT, move=only(1, place))
    shown = flink_savepoint.prepare(plan, SAVEPOINT, context(tmp_path))
    step = written(plan, tmp_path)

    before, now = read_checkpoint(str(source)), read_checkpoint(step.place)
    assert [row[2] for row in rows(now)] == [rows(before)[0][2], str(place)]
    (_, wanted), (_, found) = source_of(data), source_of(made_of(step))
    assert found == wanted, "the coordinator's copies of what it has handed out are not the positions"
    assert [str(each.after) for each in shown.files[0].numbers] == [str(one.new_offset) for one in plan.positions]
    assert seen(plan, step, tmp_path) == [Turnout.CONFIRMED] * 2
    assert set(codes(now)) <= {*codes(before), "SEQUENCE_LAYOUT", "INSIDE_AGGREGATE"}


def test_a_child_that_waits_for_its_parent_is_moved_where_it_alone_stands(tmp_path: Path) -> None:
    plan = shard_plan(laid(data_of(WAITING), tmp_path), SAVEPOINT, move=only(3, after(77)))
    step = written(plan, tmp_path)

    assert rows(read_checkpoint(step.place))[3][2] == "seq:77"


def test_a_shard_that_the_savepoint_lacks_is_added_to_what_its_coordinator_knows(tmp_path: Path) -> None:
    source = laid(data_of(TWO), tmp_path)
    child = ShardRange(partition=2, low=0, high=MIDDLE, parents=(0,))
    plan = with_listed(shard_plan(source, SAVEPOINT), child)
    step = written(plan, tmp_path)

    known = read_enumerator(Cursor(coordinators(made_of(step))[0]))
    (added,) = (each for each in known.splits if each.shard.id == "shardId-000000000002")
    assert (added.status, added.shard.position, added.shard.parents) == (
        UNASSIGNED,
        TRIM_HORIZON,
        ("shardId-000000000000",),
    )
    assert known.last == "shardId-000000000002"
    assert codes(read_checkpoint(step.place)) == ["CHILDREN_WAIT"]
    assert seen(plan, step, tmp_path) == [Turnout.CONFIRMED] * 3


def test_the_legacy_consumer_begins_a_shard_that_it_lacks_by_itself(tmp_path: Path) -> None:
    plan = with_listed(shard_plan(laid(data_of(LEGACY), tmp_path), SAVEPOINT), ShardRange(partition=2, low=0, high=1))
    step = written(plan, tmp_path)

    assert made_of(step) == data_of(LEGACY)
    assert seen(plan, step, tmp_path) == [Turnout.CONFIRMED, Turnout.CONFIRMED, Turnout.UNKNOWN]
    elsewhere = replace(plan.positions[2], new_offset=after(7), start=Start.SPECIFIC)
    with pytest.raises(ApplyError, match="the legacy consumer begins it at its oldest record"):
        flink_savepoint.prepare(
            replace(plan, positions=(*plan.positions[:2], elsewhere)),
            SAVEPOINT,
            context(tmp_path, output=str(tmp_path / "out" / "other")),
        )


def test_on_another_stream_the_new_source_has_its_arn_hash_keys_and_parents(tmp_path: Path) -> None:
    shards = (
        ShardRange(partition=0, low=0, high=9),
        ShardRange(partition=1, low=10, high=2**128 - 1, parents=(0,)),
    )
    plan = on_another(shard_plan(laid(data_of(TWO), tmp_path), SAVEPOINT), *shards)
    step = written(plan, tmp_path)

    (source,) = read_checkpoint(step.place).sources
    assert {each.stream for each in source.shards} == {f"{ARN}other"}
    assert [(each.low, each.high, each.parents) for each in source.ranges] == [(0, 9, ()), (10, 2**128 - 1, (0,))]
    known = read_enumerator(Cursor(coordinators(made_of(step))[0]))
    assert (known.last, {each.shard.stream for each in known.splits}) == ("shardId-000000000001", {f"{ARN}other"})
    others = [
        [data[each.at : each.end] for each in parse_metadata(data).operators if each.id != operator_id("kinesis-src")]
        for data in (data_of(TWO), made_of(step))
    ]
    assert others[0] == others[1]


def test_on_another_stream_the_new_source_may_have_more_shards(tmp_path: Path) -> None:
    third = ShardRange(partition=2, low=0, high=0)
    step = written(on_another(shard_plan(laid(data_of(TWO), tmp_path), SAVEPOINT), *halves(), third), tmp_path)

    assert [row[1:3] for row in rows(read_checkpoint(step.place))] == [
        [f"shardId-{number:012}", f"seq:{1000 + number}"] for number in range(3)
    ]


def test_on_another_stream_the_legacy_consumer_has_its_name_and_places(tmp_path: Path) -> None:
    plan = on_another(shard_plan(laid(data_of(LEGACY), tmp_path), SAVEPOINT), *halves())
    step = written(plan, tmp_path)

    assert [row[:3] for row in rows(read_checkpoint(step.place))] == [
        ["other", f"shardId-{number:012}", f"seq:{1000 + number}"] for number in range(2)
    ]
    assert seen(plan, step, tmp_path) == [Turnout.CONFIRMED] * 2


@with_cases(
    ("data", "shards", "why"),
    [
        (LEGACY, (*halves(), ShardRange(partition=2, low=0, high=0)), "lg-2 at .* as in the plan, found no such shard"),
        (LEGACY, halves(first=1), "lg-2 at .* as in the plan, found no such shard"),
    ],
    ids=["one more", "other numbers"],
)
def test_on_another_stream_the_legacy_consumer_has_no_other_shards(
    data: str, shards: tuple[ShardRange, ...], why: str, tmp_path: Path
) -> None:
    plan = on_another(shard_plan(laid(data_of(data), tmp_path), SAVEPOINT), *shards)

    with pytest.raises(ApplyError, match=why):
        flink_savepoint.prepare(plan, SAVEPOINT, context(tmp_path))


@with_cases("name", [TWO, LEGACY])
def test_a_savepoint_that_stands_elsewhere_is_led_to_no_other_stream(name: str, tmp_path: Path) -> None:
    plan = on_another(shard_plan(laid(data_of(name), tmp_path), SAVEPOINT), *halves())
    moved = in_shards({0: after(5), 1: after(6)})
    plan = replace(plan, positions=tuple(replace(one, old_offset=moved) for one in plan.positions))

    with pytest.raises(ApplyError, match="shard 0 at seq:5 as in the plan, found seq:4968"):
        flink_savepoint.prepare(plan, SAVEPOINT, context(tmp_path))


@with_cases(
    ("change", "why"),
    [
        (lambda plan: replace(plan, positions=plan.positions[:1]), "a position for fl-1 in the plan, found none"),
        (
            lambda plan: replace(plan, positions=(replace(plan.positions[0], old_offset=after(5)), plan.positions[1])),
            "fl-0 at seq:5 as in the plan, found seq:4968",
        ),
        (
            lambda plan: replace(plan, positions=tuple(replace(one, source="x") for one in plan.positions)),
            "a position for fl-0 in the plan, found none",
        ),
        (
            lambda plan: replace(
                plan, positions=(*plan.positions, replace(plan.positions[0], source="other-src", partition=7))
            ),
            "a source of Kinesis 'other-src', found none",
        ),
        (
            lambda plan: replace(plan, positions=tuple(replace(o, new_offset=after(7, 1)) for o in plan.positions)),
            "which a split of KinesisStreamsSource cannot hold",
        ),
    ],
    ids=["a shard is missing", "it stands elsewhere", "another source", "one more source", "inside an aggregate"],
)
def test_a_plan_that_does_not_fit_the_savepoint_is_refused(
    change: Callable[[Plan], Plan], why: str, tmp_path: Path
) -> None:
    plan = shard_plan(laid(data_of(TWO), tmp_path), SAVEPOINT)

    with pytest.raises(ApplyError, match=why):
        flink_savepoint.prepare(change(plan), SAVEPOINT, context(tmp_path))


def test_what_no_source_can_hold_or_would_never_read_is_refused(tmp_path: Path) -> None:
    source = laid(data_of(TWO), tmp_path)
    latest = shard_plan(source, SAVEPOINT, move=only(1, LATEST))
    left = shard_plan(source, SAVEPOINT)
    left = replace(left, positions=left.positions[1:])

    assert [each.code for each in target_type(SAVEPOINT.kind).unfit(latest)] == ["PLACE_NOT_HELD"]
    assert [each.code for each in target_type(SAVEPOINT.kind).unfit(left)] == ["SHARDS_UNKNOWN"]


def test_a_savepoint_that_is_another_one_since_is_stale(tmp_path: Path) -> None:
    source = laid(data_of(TWO), tmp_path)
    plan = shard_plan(source, SAVEPOINT)
    (source / "_metadata").write_bytes(data_of(LEGACY))

    with pytest.raises(StalePlanError):
        flink_savepoint.prepare(plan, SAVEPOINT, context(tmp_path))
