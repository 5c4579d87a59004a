"""State of Flink's sources of Kinesis, written: byte for byte what Flink wrote, and what Flink was restarted from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Checkpoint, TopicPartition
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.elements import element_bounds
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE, splits
from offsetwise.plugins.flink.engine.kinesis.legacy import LegacyFields, read_fields
from offsetwise.plugins.flink.engine.kinesis.splits import (
    NEW_SPLIT_VERSION,
    ShardEnumerator,
    ShardSplit,
    SplitFields,
    read_enumerator,
    read_split,
)
from offsetwise.plugins.flink.engine.metadata import parse_metadata
from offsetwise.plugins.flink.engine.opened import Opened
from offsetwise.plugins.flink.engine.source import READER_STATE
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.edit import Making, edit_source
from offsetwise.plugins.flink.targets.elements import NotEditableError, spliced
from offsetwise.plugins.flink.targets.kinesis.convert import converted
from offsetwise.plugins.flink.targets.kinesis.edit import ShardMove, rewrite_of
from offsetwise.plugins.flink.targets.kinesis.savepoint import Splits, made_savepoint
from offsetwise.plugins.flink.targets.kinesis.states import enumerator_state, legacy_element, split_element
from offsetwise.plugins.kinesis.kcl.details import KclDetails
from offsetwise.plugins.kinesis.stream.spec import LATEST, SHARD_END, TRIM_HORIZON, ShardPlace, after, at_time
from offsetwise.storage.memory import HeldFolder
from tests.plugins.flink.files import codes
from tests.plugins.kinesis.test_checkpoints import DATA, rows
from tests.with_cases import with_cases

SAVEPOINTS: Final = tuple(sorted(path.name for path in (DATA / "flink").iterdir()))
ARN: Final = "arn:aws:kinesis:us-east-1:000000000000:stream/"
LEGACY: Final = "legacy-consumer-4.3.0-two-shards"
MOVED: Final = "fl-moved-to-another-name"


def data_of(name: str) -> bytes:
    return (DATA / "flink" / name / "_metadata").read_bytes()


def opened(data: bytes) -> Opened:
    return Opened.of(HeldFolder(uri="savepoint-1", files={"_metadata": data}), data, parse_metadata(data), None)


def read(data: bytes) -> Checkpoint:
    return read_from(HeldFolder(uri="savepoint-1", files={"_metadata": data}))


def elements(data: bytes) -> Iterator[tuple[str, bytes]]:
    held = opened(data)
    for entry in parse_metadata(data).operators:
        for subtask in entry.subtasks:
            blob = held.blobs.get((entry.id, subtask.index))
            if blob is not None and subtask.managed is not None:
                for name, bounds in element_bounds(subtask.managed).items():
                    yield from ((name, blob.data[blob.at + start : blob.at + end]) for start, end in bounds)


def coordinators(data: bytes) -> list[bytes]:
    found = [opened(data).coordinator(entry) for entry in parse_metadata(data).operators]
    return [each.data[each.at : each.end] for each in found if each is not None]


def source_of(data: bytes) -> tuple[list[tuple[str, bytes]], list[bytes]]:
    return [*elements(data)], coordinators(data)


def restarted_from(name: str) -> tuple[list[tuple[str, bytes]], list[bytes]]:
    """Return the state of a source that Flink was restarted from, its splits in the version of those made anew.

    KinesisStreamsSource 5.1.0 wrote version 2 for the recorded ones. 5.0.0 and 5.1.0 both went on from version 1.
    """
    states, known = source_of(data_of(name))
    found = [read_enumerator(Cursor(each)) for each in known]
    recorded = [*(fields_of(data) for _, data in states), *(one.fields for each in found for one in each.splits)]
    assert not any(fields is None or fields.finished for fields in recorded), "version 1 does not say that"
    return (
        [(state, split_element(replace(fields_of(data), version=NEW_SPLIT_VERSION))) for state, data in states],
        [enumerator_in(NEW_SPLIT_VERSION, each) for each in found],
    )


def enumerator_in(version: int, found: ShardEnumerator) -> bytes:
    """Return the state of a coordinator with its splits in another version of their form."""
    assert all(each.fields is not None for each in found.splits)
    splits = tuple(replace(each, fields=replace(each.fields, version=version)) for each in found.splits if each.fields)
    return enumerator_state(replace(found, splits=splits, split_version=version))


def fields_of(data: bytes) -> SplitFields:
    found = read_split(Cursor(data)).fields
    assert found is not None
    return found


def leases() -> list[SplitFields]:
    """Return the splits that the leases of a stopped application say, the highest shard first as Flink keeps them."""
    made = read_checkpoint(str(DATA / "kcl" / "2.7.2-three-shards-for-savepoint.json"))
    assert isinstance(made.details, KclDetails)
    ranges = {each.key: each.hash_range for each in made.details.leases}
    made_of = []
    for at in reversed(made.sources[0].shards):
        low, high = ranges[at.shard] or ("", "")
        assert isinstance(at.position, ShardPlace)
        made_of.append(split(at.shard, at.position, int(low), int(high)))
    return made_of


def split(shard: str, position: ShardPlace, low: int = 0, high: int = 2**128 - 1, *parents: str) -> SplitFields:
    return SplitFields(
        version=2, arn=f"{ARN}chain", shard=shard, position=position, low=low, high=high, parents=parents
    )


def read_or_none(data: bytes) -> ShardSplit | None:
    try:
        return read_split(Cursor(data))
    except DamagedError:
        return None


@with_cases("version", [1, 2])
@with_cases("parents", [(), ("shardId-000000000003",), ("shardId-000000000003", "shardId-000000000008")], ids=len)
@with_cases("position", [TRIM_HORIZON, after(2**185 + 7)], ids=["oldest", "number"])
def test_a_split_is_read_at_once_as_field_by_field_whatever_byte_is_damaged(
    position: ShardPlace, parents: tuple[str, ...], version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = replace(split("shardId-000000000009", position, 0, 2**127, *parents), version=version)
    data = split_element(fields)
    flipped = [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at in range(len(data)) for bit in range(8)]
    mutants = [data, *flipped, *(data[:at] for at in range(len(data)))]
    plain = splits._plain_split
    asked: list[SplitFields | None] = []

    def counted(cursor: Cursor, given: int) -> SplitFields | None:
        asked.append(plain(cursor, given))
        return asked[-1]

    monkeypatch.setattr(splits, "_plain_split", counted)
    at_once = [read_or_none(each) for each in mutants]
    monkeypatch.setattr(splits, "_plain_split", lambda _cursor, _version: None)

    assert asked[0] == fields
    assert at_once == [read_or_none(each) for each in mutants]


@with_cases("name", SAVEPOINTS)
def test_what_is_read_and_written_unchanged_is_the_same_byte_for_byte(name: str) -> None:
    found, known = source_of(data_of(name))

    for state, element in found:
        if state == LEGACY_STATE:
            assert legacy_element(read_fields(Cursor(element))) == element
        elif state == READER_STATE:
            assert split_element(fields_of(element)) == element
    assert [enumerator_state(read_enumerator(Cursor(each))) for each in known] == known
    assert found or known


@with_cases("name", SAVEPOINTS)
def test_a_damaged_byte_is_refused_or_written_as_it_was_read(name: str) -> None:
    """Whatever an edit would take for unchanged it does not change."""
    for state, element in elements(data_of(name)):
        for place in range(len(element)):
            for mutant in (element[:place], element[:place] + bytes([element[place] ^ 1]) + element[place + 1 :]):
                try:
                    if state == LEGACY_STATE:
                        made = legacy_element(read_fields(Cursor(mutant)))
                    else:
                        made = split_element(fields_of(mutant))
                except DamagedError:
                    continue
                assert made == mutant or rewritten_is_refused(state, mutant)


def rewritten_is_refused(state: str, element: bytes) -> bool:
    rewrite = rewrite_of({}, legacy=state == LEGACY_STATE)
    with pytest.raises(NotEditableError, match="in a form that"):
        rewrite.element(element)
    return True


def test_a_savepoint_made_of_leases_alone_has_the_state_that_flink_was_restarted_from() -> None:
    wanted = data_of("made-from-kcl-leases")

    made = made_savepoint("kinesis-src", Splits.of(leases()), parallelism=1, max_parallelism=128)

    assert source_of(made) == source_of(wanted)
    assert (read(made).sources, read(made).problems) == (read(wanted).sources, ())
    assert flink_details(read(made)).operators == flink_details(read(wanted)).operators
    assert flink_details(read(made)).saved == flink_details(read(wanted)).saved


def test_shards_are_dealt_out_to_the_subtasks_and_read_again() -> None:
    made = made_savepoint("kinesis-src", Splits.of(leases()), parallelism=2, max_parallelism=256)
    (operator,) = parse_metadata(made).operators

    held = [len(each.managed.states[0].offsets) for each in operator.subtasks if each.managed is not None]
    assert (operator.parallelism, operator.max_parallelism, held) == (2, 256, [2, 1])
    # Flink deals state out anew by these labels: of two that are equal it would read one for both.
    assert all(made.count(f"splits of subtask {index}".encode()) == 1 for index in range(2))
    assert read(made).sources == read(data_of("made-from-kcl-leases")).sources


def test_an_ended_shard_is_left_out_and_its_children_are_not_found_anew() -> None:
    parent = replace(split("shardId-000000000000", TRIM_HORIZON), finished=True)
    children = [
        split("shardId-000000000001", after(7), 0, 9, "shardId-000000000000"),
        replace(split("shardId-000000000002", TRIM_HORIZON, 10, 2**128 - 1, "shardId-000000000000"), finished=True),
    ]

    made = made_savepoint("src", Splits.of([parent, *children]), parallelism=1, max_parallelism=1)

    assert [row[1] for row in rows(read(made))] == ["shardId-000000000001"]
    assert read_enumerator(Cursor(coordinators(made)[0])).last == "shardId-000000000002"


def test_a_child_waits_for_its_parent_as_in_a_savepoint_of_flinks_own() -> None:
    wanted = data_of("streams-source-5.1.0-children-unassigned")
    held = {fields.shard: fields for _, element in elements(wanted) for fields in (fields_of(element),)}
    known = read_enumerator(Cursor(coordinators(wanted)[0])).splits
    shards = [held.get(each.shard.id, each.fields) for each in known]

    made = made_savepoint(
        "kinesis-src", Splits.of([each for each in shards if each is not None]), parallelism=1, max_parallelism=128
    )

    assert source_of(made) == source_of(wanted)
    assert (rows(read(made)), codes(read(made))) == (rows(read(wanted)), codes(read(wanted)))


@with_cases("position", [LATEST, after(5, 2), SHARD_END], ids=str)
def test_a_position_that_a_split_cannot_hold_is_refused(position: ShardPlace) -> None:
    with pytest.raises(NotEditableError, match="which a split of KinesisStreamsSource cannot hold"):
        split_element(split("shardId-000000000000", position))


def test_a_time_is_kept_in_milliseconds() -> None:
    made = split_element(split("shardId-000000000000", at_time(1795335840604)))

    assert fields_of(made).position == at_time(1795335840604)


class TestConverted:
    @staticmethod
    def _made(data: bytes, arn: str = f"{ARN}lg") -> bytes:
        metadata = parse_metadata(data)
        (entry,) = (each for each in metadata.operators if each.id == operator_id("kinesis-src"))
        return spliced(data, [converted(entry, metadata, opened(data), arn)])

    def test_the_new_source_has_the_state_that_flink_was_restarted_from(self) -> None:
        made, name = self._made(data_of(LEGACY)), "converted-legacy-to-streams-source"

        assert source_of(made) == restarted_from(name)
        assert (read(made).sources, read(made).problems) == (read(data_of(name)).sources, ())

    def test_all_other_operators_stay_byte_for_byte(self) -> None:
        data, made = data_of(LEGACY), self._made(data_of(LEGACY))
        before, now = parse_metadata(data).operators, parse_metadata(made).operators

        assert [each.id for each in now] == [each.id for each in before]
        for was, each in zip(before, now, strict=True):
            if each.id != operator_id("kinesis-src"):
                assert made[each.at : each.end] == data[was.at : was.end]
        assert made[now[-1].end :] == data[before[-1].end :]

    @with_cases(
        ("text", "sub", "found"),
        [
            ("LATEST_SEQUENCE_NUM", -1, "at LATEST"),
            ("AT_TIMESTAMP_SEQUENCE_NUM", -1, "at AT_TIMESTAMP"),
            ("49680454715650741066610729840426625636287947098176880642", 4, "2/4"),
        ],
    )
    def test_a_position_that_the_new_source_cannot_go_on_from_is_refused(self, text: str, sub: int, found: str) -> None:
        data = with_legacy_position(data_of(LEGACY), text, sub)

        with pytest.raises(NotEditableError, match=f"shardId-000000000000 .*{found}"):
            self._made(data)

    def test_another_stream_than_that_of_the_arn_is_refused(self) -> None:
        with pytest.raises(NotEditableError, match=r"shards of lg, where the ARN is .*stream/other"):
            self._made(data_of(LEGACY), f"{ARN}other")


def with_legacy_position(data: bytes, text: str, sub: int) -> bytes:
    """Return a legacy savepoint whose first shard is at another place; lengths follow."""

    def moved(plain: bytes) -> tuple[TopicPartition, bytes]:
        fields = read_fields(Cursor(plain))
        first = str(fields.shard["shardId"]).endswith("0")
        made: LegacyFields = replace(fields, text=text, sub=sub) if first else fields
        return TopicPartition("lg", 0), legacy_element(made)

    making = Making(opened=opened(data))
    (entry,) = (each for each in parse_metadata(data).operators if each.id == operator_id("kinesis-src"))
    edit_source(entry, replace(rewrite_of({}, legacy=True), element=moved), making)
    return making.files({"_metadata": data})["_metadata"]


def edited(data: bytes, moves: Mapping[int, int], *, stream: str, to: str, legacy: bool) -> bytes:
    places = {(row[1] or ""): row[2] for row in rows(read(data))}
    wanted = {
        TopicPartition(stream, number): ShardMove(
            topic=stream,
            partition=number,
            old=after(int((places[f"shardId-{number:012}"] or "").removeprefix("seq:"))),
            new_topic=to,
            new=after(new),
        )
        for number, new in moves.items()
    }
    making = Making(opened=opened(data))
    (entry,) = (each for each in parse_metadata(data).operators if each.id == operator_id("kinesis-src"))
    edit_source(entry, rewrite_of(wanted, legacy=legacy), making)
    return making.files({"_metadata": data})["_metadata"]


@with_cases(
    ("name", "wanted", "stream", "moves"),
    [
        (
            "streams-source-5.1.0-two-shards",
            "edited-other-stream",
            "fl",
            {
                0: 49680454767745281850378265499062526001931832082133155842,
                1: 49680454767767582595576796122200434942745636556115017746,
            },
        ),
        (
            LEGACY,
            "edited-legacy-other-stream",
            "lg",
            {
                0: 49680454767745281850378265499054063521194529609190735874,
                1: 49680454767767582595576796122190763536188719453997891602,
            },
        ),
    ],
    ids=["streams source", "legacy consumer"],
)
def test_a_savepoint_on_another_stream_is_the_one_that_flink_was_restarted_from(
    name: str, wanted: str, stream: str, moves: Mapping[int, int]
) -> None:
    legacy = name == LEGACY

    assert edited(data_of(name), moves, stream=stream, to=MOVED, legacy=legacy) == data_of(wanted)


@with_cases(("name", "stream"), [("streams-source-5.1.0-two-shards", "fl"), (LEGACY, "lg")])
def test_the_same_number_moves_nothing_and_another_one_of_56_digits_only_itself(name: str, stream: str) -> None:
    data = data_of(name)
    now = [int((row[2] or "").removeprefix("seq:")) for row in rows(read(data))]

    assert edited(data, dict(enumerate(now)), stream=stream, to=stream, legacy=name == LEGACY) == data
    made = edited(data, {0: now[0] - 16, 1: now[1]}, stream=stream, to=stream, legacy=name == LEGACY)
    assert rows(read(made))[0][2] == f"seq:{now[0] - 16}"
    assert rows(read(made))[1] == rows(read(data))[1]
    assert abs(len(made) - len(data)) <= 1, "a legacy hash may take a byte more or less"
