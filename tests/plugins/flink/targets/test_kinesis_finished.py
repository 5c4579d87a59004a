"""What a Flink job has finished: a shard read to its end is one, in every form that connectors keep, and stays one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from offsetwise.model import TopicPartition
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE
from offsetwise.plugins.flink.engine.kinesis.splits import FINISHED, SplitFields, read_enumerator, read_split
from offsetwise.plugins.flink.engine.metadata import parse_metadata
from offsetwise.plugins.flink.engine.source import READER_STATE
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.edit import Making, edit_source
from offsetwise.plugins.flink.targets.elements import NotEditableError, spliced
from offsetwise.plugins.flink.targets.kinesis.convert import converted
from offsetwise.plugins.flink.targets.kinesis.edit import ShardMove, rewrite_of
from offsetwise.plugins.flink.targets.kinesis.states import coordinator_state, split_element
from offsetwise.plugins.flink.targets.output import flag, int32, sized, text
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, after, at_time, shard_id
from tests.plugins.flink.files import Op, codes, inline, integer, metadata, state, subtask
from tests.plugins.flink.targets.test_kinesis_state import (
    ARN,
    LEGACY,
    data_of,
    elements,
    opened,
    read,
    split,
    with_legacy_position,
)
from tests.plugins.kinesis.test_checkpoints import rows
from tests.with_cases import with_cases

NUMBER = 49680454714650741066610729840426625636287947098176880642
UID = "kinesis-src"


def fields_of(chosen: random.Random) -> SplitFields:
    """Make any split: of versions 1 and 2, finished or not, numbered as AWS does it or by an emulator."""
    version = chosen.choice([1, 2, 2])
    low = chosen.randrange(2**127)
    shards = [shard_id(number) for number in chosen.sample(range(100), 3)]
    return replace(
        split(
            shards[0],
            chosen.choice([TRIM_HORIZON, after(NUMBER + chosen.randrange(100)), after(7), at_time(1_795_335_840_604)]),
            low,
            chosen.randrange(low, 2**128),
            *shards[1 : chosen.randrange(1, 4)],
        ),
        version=version,
        finished=version == 2 and chosen.random() < 0.5,
    )


@with_cases("seed", range(100))
def test_a_split_is_at_the_end_of_its_shard_exactly_where_it_is_finished(seed: int) -> None:
    fields = fields_of(random.Random(seed))
    data = split_element(fields)

    found = read_split(Cursor(data))

    assert found.fields == fields
    assert found.shard.position == (SHARD_END if fields.finished else fields.position)
    assert split_element(replace(fields, finished=False)) != data or not fields.finished
    assert (data[-1:] == b"\1") == fields.finished or fields.version == 1


@with_cases("seed", range(40))
def test_whether_it_is_finished_is_said_in_version_2_and_in_no_other(seed: int) -> None:
    fields = fields_of(random.Random(seed))
    body = split_element(fields)[12:]
    wrong = body[:-1] if fields.version == 2 else body + flag(seed % 2 == 1)

    with pytest.raises(DamagedError):
        read_split(Cursor(sized(int32(fields.version) + sized(wrong))))


@with_cases("version", [0, 1, 2])
@with_cases("finished", [False, True])
def test_a_shard_of_a_table_is_at_its_end_exactly_where_it_is_finished(version: int, *, finished: bool) -> None:
    body = text("arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/2026-01-01T00:00:00.000")
    body += text("shardId-00000001550840986131-382ec8f8")
    body += (
        text("AFTER_SEQUENCE_NUMBER") + flag(True) + flag(True) + text("24438822900000000000168706143") + flag(False)
    )
    body += (flag(finished) if version > 0 else b"") + (int32(0) if version > 1 else b"")

    found = read_split(Cursor(sized(int32(version) + sized(body))))

    at_end = finished and version > 0
    assert found.shard.position == (SHARD_END if at_end else after(24438822900000000000168706143))


def savepoint(readers: Sequence[SplitFields], known: Sequence[tuple[SplitFields, int]], *more: bytes) -> bytes:
    """Make a savepoint of one source; `more` are further subtasks."""
    coordinator = inline(coordinator_state(known, last=max(each.shard for each, _ in known)))
    held = subtask(0, state(READER_STATE, [split_element(each) for each in readers]))
    return metadata(
        Op(uid=UID, subtasks=[held, *more], coordinator=coordinator, parallelism=1 + len(more)), tail=data_tail()
    )


def data_tail() -> bytes:
    """What stands behind the operators of a savepoint that a job was stopped with."""
    data = data_of("made-from-kcl-leases")
    return data[parse_metadata(data).operators[-1].end :]


HALVES = (0, 2**127 - 1), (2**127, 2**128 - 1)


@with_cases("finished", [0, 1])
def test_a_split_that_its_coordinator_has_finished_is_not_lost(finished: int) -> None:
    """A reader keeps no split that it has finished, and one that it does not keep otherwise is lost."""
    kept, other = (split(shard_id(number), after(NUMBER + number), *HALVES[number]) for number in (0, 1))
    known = [(kept, 0), (other, FINISHED if finished else 0)]

    assert ("NO_POSITION" in codes(read(savepoint([kept], known)))) == (not finished)


@with_cases("finished", [0, 1])
def test_what_a_finished_subtask_had_is_not_called_lost(finished: int) -> None:
    kept, other = (split(shard_id(number), after(NUMBER + number), *HALVES[number]) for number in (0, 1))
    more = integer(-2) if finished else subtask(1)

    found = read(savepoint([kept], [(kept, 0), (other, 0)], more))

    assert ("NO_POSITION" in codes(found)) == (not finished)


def test_a_finished_operator_has_no_source_whatever_its_coordinator_knows() -> None:
    kept = split(shard_id(0), after(NUMBER))
    coordinator = inline(coordinator_state([(kept, 0)], last=kept.shard))

    found = read(metadata(Op(uid=UID, finished=True, coordinator=coordinator), tail=data_tail()))

    assert (found.sources, codes(found)) == ((), [])
    running = read(metadata(Op(uid=UID, subtasks=[subtask(0)], coordinator=coordinator), tail=data_tail()))
    assert "NO_POSITION" in codes(running)


@with_cases("ended", [(), (0,), (1,), (0, 1)], ids=str)
def test_an_operator_is_finished_where_all_its_subtasks_are(ended: tuple[int, ...]) -> None:
    subtasks = [integer(-index - 1) if index in ended else subtask(index) for index in (0, 1)]
    kept = split(shard_id(0), after(NUMBER))
    source = Op(uid=UID, subtasks=[subtask(0, state(READER_STATE, [split_element(kept)]))])

    found = read(metadata(Op(uid="map", subtasks=subtasks, parallelism=2), source, tail=data_tail()))

    assert [one.finished for one in flink_details(found).operators] == [len(ended) == 2, False]


@with_cases("seed", range(20))
def test_an_edited_savepoint_keeps_what_is_finished_and_moves_the_rest(seed: int) -> None:
    """A move within the stream: other numbers for the shards that are read on."""
    chosen = random.Random(seed)
    both = [
        replace(split(shard_id(number), after(NUMBER + number), *HALVES[number]), finished=chosen.random() < 0.5)
        for number in (0, 1)
    ]
    data = savepoint(both, [(each, FINISHED if each.finished else 0) for each in both])
    moves = {
        TopicPartition("chain", number): ShardMove(
            topic="chain",
            partition=number,
            old=SHARD_END if each.finished else each.position,
            new_topic="chain",
            new=SHARD_END if each.finished else after(NUMBER + 50 + number),
        )
        for number, each in enumerate(both)
    }
    making = Making(opened=opened(data))
    edit_source(parse_metadata(data).operators[0], rewrite_of(moves, legacy=False), making)
    made = making.files({"_metadata": data})["_metadata"]

    assert [row[2] for row in rows(read(made))] == [
        "SHARD_END" if each.finished else f"seq:{NUMBER + 50 + number}" for number, each in enumerate(both)
    ]


class TestConverted:
    """Of the legacy consumer, whose shards say that they ended by a word."""

    @staticmethod
    def _made(data: bytes) -> bytes:
        parsed = parse_metadata(data)
        (entry,) = (each for each in parsed.operators if each.id == operator_id(UID))
        return spliced(data, [converted(entry, parsed, opened(data), f"{ARN}lg")])

    def test_a_shard_that_ended_is_in_no_split_and_is_not_found_anew(self) -> None:
        made = self._made(with_legacy_position(data_of(LEGACY), "SHARD_ENDING_SEQUENCE_NUM", -1))

        assert [row[1] for row in rows(read(made))] == ["shardId-000000000001"]
        (coordinator,) = (found for each in parse_metadata(made).operators if (found := opened(made).coordinator(each)))
        known = read_enumerator(coordinator)
        assert [each.shard.id for each in known.splits] == ["shardId-000000000001"]
        assert known.last == "shardId-000000000001"

    @with_cases("finished", [0, 1])
    def test_a_consumer_with_a_finished_subtask_is_not_converted(self, finished: int) -> None:
        held = [element for name, element in elements(data_of(LEGACY)) if name == LEGACY_STATE]
        subtasks = [subtask(0, state(LEGACY_STATE, held, mode=2)), integer(-2) if finished else subtask(1)]
        data = metadata(Op(uid=UID, subtasks=subtasks, parallelism=2), tail=data_tail())

        if finished:
            with pytest.raises(NotEditableError, match="more than the source's own state"):
                self._made(data)
        else:
            assert len(rows(read(self._made(data)))) == 2
