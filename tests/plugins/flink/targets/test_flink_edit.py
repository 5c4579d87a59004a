"""Editing a Flink savepoint: exactly the planned positions change, and everything else stays byte for byte."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import ClassVar

import pytest

from offsetwise.errors import ApplyError, OffsetwiseError
from offsetwise.model import Checkpoint
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.snappy import STREAM_HEADER, masked_crc32c
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.edit import EditedSavepoint, edit_savepoint
from offsetwise.plugins.flink.targets.savepoint_without_sources.drop import without_sources
from offsetwise.position import offset_of
from offsetwise.storage.memory import HeldFolder
from offsetwise.targets.moves import Move
from tests.gates import PART
from tests.plugins.flink import files as flink
from tests.plugins.flink.files import Op, positions
from tests.plugins.flink.targets.test_kinesis_state import data_of
from tests.plugins.flink.targets.test_kinesis_state import elements as kinesis_elements
from tests.plugins.spark.folders import FLINK_NAMES, SAMPLES
from tests.with_cases import with_cases

READER = "SourceReaderState"
SEED = 20261121
DYNAMIC = flink.versioned(flink.utf("cluster") + flink.integer(0) + flink.kafka_split("orders", 0, 1), 1)
TWICE = [flink.reader_element("orders", 0, 1)] * 2
MUTANTS = 60_000 // PART
SNAPPY_CHUNK = re.compile(rb"(?s)\x01.\0\0(.{4})(?=\0\0\0.\0\0\0\0\0\0\0.\0.[a-z])")


def _read(files: Mapping[str, bytes]) -> Checkpoint:
    return read_from(HeldFolder(uri="savepoint-1", files=files))


def _moves(
    read: Checkpoint,
    *,
    move: Callable[[int], int] = lambda offset: offset,
    rename: Callable[[str], str] = lambda topic: topic,
) -> dict[str, tuple[Move, ...]]:
    return {
        source.id: tuple(
            Move(
                topic=at.topic,
                partition=at.partition,
                old=offset_of(at.offset),
                new_topic=rename(at.topic),
                new=move(offset_of(at.offset)),
            )
            for at in source.positions
        )
        for source in read.sources
        if source.kind == "kafka"
    }


def _edit(
    files: Mapping[str, bytes],
    *,
    move: Callable[[int], int] = lambda offset: offset,
    rename: Callable[[str], str] = lambda topic: topic,
) -> EditedSavepoint:
    return edit_savepoint(files, _moves(_read(files), move=move, rename=rename), uri="savepoint-1")


def _sample(name: str) -> bytes:
    return (SAMPLES / name / "_metadata").read_bytes()


def _differing(one: bytes, other: bytes) -> set[int]:
    assert len(one) == len(other)
    return {at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]}


@with_cases("name", FLINK_NAMES)
def test_an_edit_to_the_same_offsets_gives_the_same_bytes(name: str) -> None:
    assert _edit({"_metadata": _sample(name)}).files == {"_metadata": _sample(name)}


@with_cases("name", FLINK_NAMES)
def test_only_eight_bytes_per_partition_change_and_the_length_stays(name: str) -> None:
    data = _sample(name)
    before = positions(_read({"_metadata": data}))

    edited = _edit({"_metadata": data}, move=lambda offset: offset + 5_000_000_000)

    made = edited.files["_metadata"]
    assert positions(_read(edited.files)) == {key: offset + 5_000_000_000 for key, offset in before.items()}
    less = 1 if "legacy" in name else 0
    allowed: set[int] = set()
    for offset in before.values():
        old, new = ((offset - less + more).to_bytes(8, "big") for more in (0, 5_000_000_000))
        places = [at for at in range(len(data)) if data[at : at + 8] == old and made[at : at + 8] == new]
        assert places
        allowed |= {each for at in places for each in range(at, at + 8)}
    checksums = {at for found in SNAPPY_CHUNK.finditer(data) for at in range(found.end() - 4, found.end())}
    assert _differing(data, made) <= allowed | checksums
    assert len(edited.changes["_metadata"]) == len(before)


@with_cases("name", [name for name in FLINK_NAMES if "legacy" not in name])
@with_cases("new_name", ["x", "a.much-longer_name.of.the.same.topic"])
def test_a_renamed_topic_moves_all_that_stands_behind_it(name: str, new_name: str) -> None:
    data = _sample(name)
    read = _read({"_metadata": data})

    made = _edit({"_metadata": data}, rename=lambda _: new_name, move=lambda offset: offset + 1)

    after = _read(made.files)
    assert positions(after) == {(new_name, key[1]): offset + 1 for key, offset in positions(read).items()}
    assert after.details.transactions == read.details.transactions
    (topic,) = {key[0] for key in positions(read)}
    assert _stepped(made.files, -1, rename={new_name: topic}) == _stepped(_stepped({"_metadata": data}, 1), -1)


def _stepped(files: Mapping[str, bytes], more: int, *, rename: Mapping[str, str] | None = None) -> Mapping[str, bytes]:
    names = rename or {}
    return _edit(files, move=lambda offset: offset + more, rename=lambda name: names.get(name, name)).files


class TestPlaces:
    DATA, PLACES = flink.blob(
        {
            READER: [flink.reader_element("orders", 0, 1050), flink.reader_element("orders", 1, 20)],
            "another": [b"first", b"second"],
        }
    )

    def _file(self, handle: bytes, *, knows: bytes | None = None) -> bytes:
        found = flink.enumerator_v2([("orders", 0, 0), ("orders", 1, 0)]) if knows is None else knows
        return flink.metadata(
            Op(subtasks=[flink.subtask(0, flink.operator_handle(self.PLACES, handle))], coordinator=found),
            Op(uid="next", subtasks=[flink.subtask(0, flink.state("theirs", [b"kept"]))]),
        )

    def test_state_in_a_file_of_the_folder_is_edited_there(self) -> None:
        held = {"_metadata": self._file(flink.relative("5e2c", len(self.DATA))), "5e2c": self.DATA}

        made = _edit(held, move=lambda offset: offset + 7)

        assert set(made.files) == {"_metadata", "5e2c"}
        assert {name: len(changes) for name, changes in made.changes.items()} == {"_metadata": 0, "5e2c": 2}
        assert made.files["_metadata"] == held["_metadata"]
        assert positions(_read(made.files)) == {("orders", 0): 1057, ("orders", 1): 27}

    def test_a_longer_name_moves_the_elements_of_other_states_and_the_size_of_the_file(self) -> None:
        held = {"_metadata": self._file(flink.relative("5e2c", len(self.DATA))), "5e2c": self.DATA}

        made = _edit(held, rename=lambda topic: f"new.{topic}")

        data, places = flink.blob(
            {
                READER: [flink.reader_element("new.orders", 0, 1050), flink.reader_element("new.orders", 1, 20)],
                "another": [b"first", b"second"],
            }
        )
        knows = flink.enumerator_v2([("new.orders", 0, 0), ("new.orders", 1, 0)])
        assert made.files["5e2c"] == data
        assert made.files["_metadata"] == flink.metadata(
            Op(
                subtasks=[flink.subtask(0, flink.operator_handle(places, flink.relative("5e2c", len(data))))],
                coordinator=knows,
            ),
            Op(uid="next", subtasks=[flink.subtask(0, flink.state("theirs", [b"kept"]))]),
        )

    @with_cases(
        "keyed",
        [
            b"\x03" + flink.integer(0) + flink.integer(0) + flink.absolute("file:/job/shared/a", 20),
            b"\x03" + flink.integer(0) + flink.integer(0) + flink.segment("file:/job/t", 0, 40),
        ],
    )
    def test_state_outside_of_the_folder_is_refused(self, keyed: bytes) -> None:
        source = flink.kafka_source({0: 5})
        data = flink.metadata(source, Op(uid="next", subtasks=[flink.subtask(0, keyed=keyed)]), tail=flink.CHECKPOINT)

        with pytest.raises(ApplyError, match=r"in files elsewhere .*Nothing was written"):
            _edit({"_metadata": data}, move=lambda offset: offset + 1)


class TestEnumerators:
    def _source(self, knows: bytes) -> bytes:
        elements = [flink.reader_element("orders", 0, 1050)]
        return flink.metadata(Op(subtasks=[flink.subtask(0, flink.state(READER, elements))], coordinator=knows))

    def test_an_unassigned_split_is_moved_and_a_stale_number_is_replaced(self) -> None:
        data = self._source(flink.enumerator_v3([("orders", 0, 900, 0), ("orders", 1, 20, 1)]))

        made = _edit({"_metadata": data}, move=lambda offset: offset + 7).files["_metadata"]

        elements = [flink.reader_element("orders", 0, 1057)]
        knows = flink.enumerator_v3([("orders", 0, 1057, 0), ("orders", 1, 27, 1)])
        assert made == flink.metadata(Op(subtasks=[flink.subtask(0, flink.state(READER, elements))], coordinator=knows))

    def test_markers_of_assigned_splits_stay(self) -> None:
        knows = flink.enumerator_v3([("orders", 0, -2, 0)])

        made = _edit({"_metadata": self._source(knows)}, move=lambda offset: offset + 7).files["_metadata"]

        assert knows in made

    def test_every_version_is_renamed(self) -> None:
        def v0(name: str, offset: int) -> bytes:
            split = flink.kafka_split(name, 0, offset)
            return flink.coordinator(
                flink.integer(1)
                + flink.integer(0)
                + flink.integer(0)
                + flink.integer(1)
                + flink.integer(len(split))
                + split,
                0,
            )

        def v1(name: str, _: int) -> bytes:
            return flink.coordinator(flink.integer(1) + flink.utf(name) + flink.integer(0), 1)

        def v2(name: str, _: int) -> bytes:
            return flink.enumerator_v2([(name, 0, 0)])

        def v3(name: str, offset: int) -> bytes:
            return flink.enumerator_v3([(name, 0, offset, 0)])

        for version in (v0, v1, v2, v3):
            data = self._source(version("orders", 900))
            made = _edit({"_metadata": data}, rename=lambda _: "o", move=lambda offset: offset - 50).files["_metadata"]
            assert made == flink.metadata(
                Op(
                    subtasks=[flink.subtask(0, flink.state(READER, [flink.reader_element("o", 0, 1000)]))],
                    coordinator=version("o", 1000),
                )
            )

    @with_cases(("finished", "refused"), [(b"\x01", False), (b"\x00", True)])
    def test_a_new_partition_is_left_to_flink_only_where_it_begins_at_earliest(
        self, finished: bytes, refused: bool
    ) -> None:
        knows = flink.coordinator(
            flink.integer(1) + flink.utf("orders") + flink.integer(0) + flink.integer(0) + finished, 2
        )
        held = {"_metadata": self._source(knows)}
        added = Move(topic="orders", partition=1, old=None, new_topic="orders", new=0, added=True)
        moves = {key: (*found, added) for key, found in _moves(_read(held)).items()}

        if refused:
            with pytest.raises(ApplyError, match="first discovery"):
                edit_savepoint(held, moves, uri="savepoint-1")
        else:
            assert edit_savepoint(held, moves, uri="savepoint-1").files == held


class TestStartsThatAreChosenLater:
    def _moves(self, data: bytes, new: int, old: int | None) -> dict[str, tuple[Move, ...]]:
        (source,) = _read({"_metadata": data}).sources
        (at,) = source.undecided
        chosen = Move(topic=at.topic, partition=at.partition, old=old, new_topic=at.topic, new=new, added=old is None)
        return {source.id: (*_moves(_read({"_metadata": data}))[source.id], chosen)}

    @with_cases("marker", [-1, -2, -3, -(2**63)])
    @with_cases("old", [None, 500], ids=["decided", "of a log without records"])
    def test_the_planned_offset_stands_in_their_place(self, marker: int, old: int | None) -> None:
        for new in (0, 7, 2**62):
            before, after = (flink.metadata(flink.kafka_source({0: 1050, 1: start})) for start in (marker, new))

            made = edit_savepoint({"_metadata": before}, self._moves(before, new, old), uri="savepoint-1")

            assert made.files == {"_metadata": after}
            (change,) = [each for each in made.changes["_metadata"] if each.partition == 1]
            assert (change.before, change.after) == (None, new)

    def test_a_coordinator_that_keeps_the_offset_of_an_unassigned_partition_gets_the_planned_one(self) -> None:
        def listed(start: int) -> bytes:
            reader = flink.subtask(0, flink.state(READER, [flink.reader_element("orders", 0, 1050)]))
            knows = flink.enumerator_v3([("orders", 0, -2, 0), ("orders", 1, start, 1)])
            return flink.metadata(Op(subtasks=[reader], coordinator=knows))

        made = edit_savepoint({"_metadata": listed(-2)}, self._moves(listed(-2), 9, None), uri="savepoint-1")
        assert made.files == {"_metadata": listed(9)}

    def test_a_plan_that_leaves_one_out_is_refused(self) -> None:
        held = {"_metadata": flink.metadata(flink.kafka_source({0: 5, 1: -2}))}

        with pytest.raises(ApplyError, match="orders-1, for which the plan has no position"):
            edit_savepoint(held, _moves(_read(held)), uri="savepoint-1")

    def test_a_coordinator_that_keeps_the_name_alone_is_refused(self) -> None:
        reader = flink.subtask(0, flink.state(READER, [flink.reader_element("orders", 0, 1050)]))
        data = flink.metadata(
            Op(subtasks=[reader], coordinator=flink.enumerator_v2([("orders", 0, 0), ("orders", 1, 1)]))
        )

        with pytest.raises(ApplyError, match="orders-1 unassigned, of which this coordinator keeps no offset"):
            edit_savepoint({"_metadata": data}, self._moves(data, 9, None), uri="savepoint-1")

    @with_cases("name", [name for name in FLINK_NAMES if "legacy" in name])
    @with_cases("marker", [-915623761776, -915623761775, -915623761774, -915623761773])
    def test_the_legacy_consumer_likewise(self, name: str, marker: int) -> None:
        data, at = _sample(name), max(positions(_read({"_metadata": _sample(name)})).items())
        marked = data.replace((at[1] - 1).to_bytes(8, "big"), marker.to_bytes(8, "big", signed=True))
        made = edit_savepoint({"_metadata": marked}, self._moves(marked, at[1], 500), uri="savepoint-1")

        assert made.files == {"_metadata": data}


class TestSnappy:
    def _framed(self, *chunks: tuple[int, bytes, bytes]) -> bytes:
        made = STREAM_HEADER
        for kind, body, plain in chunks:
            made += bytes([kind]) + (len(body) + 4).to_bytes(3, "little")
            made += masked_crc32c(plain).to_bytes(4, "little") + body
        return made

    def _source(self, element: bytes) -> bytes:
        data, places = flink.blob({READER: [element]}, compressed=b"\x01")
        knows = flink.enumerator_v2([("orders", 0, 0)])
        return flink.metadata(
            Op(subtasks=[flink.subtask(0, flink.operator_handle(places, flink.inline(data)))], coordinator=knows)
        )

    def test_an_uncompressed_chunk_gets_its_checksum(self) -> None:
        before, after = flink.reader_element("orders", 0, 1050), flink.reader_element("new.orders", 0, 950)
        data = self._source(self._framed((1, before, before)))

        made = _edit({"_metadata": data}, move=lambda offset: offset - 100, rename=lambda topic: f"new.{topic}")

        assert self._framed((1, after, after)) in made.files["_metadata"]
        assert positions(_read(made.files)) == {("new.orders", 0): 950}

    def test_compressed_and_split_chunks_are_refused(self) -> None:
        plain = flink.reader_element("orders", 0, 1050)
        literal = bytes([len(plain), (len(plain) - 1) << 2]) + plain
        several = self._framed((1, plain[:9], plain[:9]), (1, plain[9:], plain[9:]))

        for element in (self._framed((0, literal, plain)), several):
            held = {"_metadata": self._source(element)}
            assert positions(_read(held)) == {("orders", 0): 1050}
            assert _edit(held).files == held
            with pytest.raises(ApplyError, match="that Snappy has compressed, or in several chunks") as refused:
                _edit(held, move=lambda offset: offset + 1)
            assert "execution.checkpointing.snapshot-compression to false" in refused.value.fix


class TestRefusals:
    @with_cases(
        ("data", "told"),
        [
            (
                flink.metadata(Op(subtasks=[flink.subtask(0, flink.state(READER, TWICE))])),
                "keeps orders-0 twice",
            ),
            (
                flink.metadata(Op(subtasks=[flink.subtask(0, flink.state(READER, [DYNAMIC]))])),
                "DynamicKafkaSource",
            ),
            (flink.metadata(flink.kafka_source({0: 5}), version=3), "version 3"),
            (flink.metadata(flink.kafka_source({0: 5}), version=7), "version 7"),
            (
                flink.metadata(
                    Op(
                        subtasks=[flink.subtask(0, flink.state(READER, [flink.reader_element("orders", 0, 1)]),
                                          incoming=[flink.integer(0) * 3 + flink.integer(0) + b"\0" * 8 + b"\0"])],
                        coordinator=flink.enumerator_v2([("orders", 0, 0)]),
                    ),
                    tail=flink.CHECKPOINT,
                ),
                "unaligned",
            ),
        ],
    )  # fmt: skip
    def test_what_cannot_be_edited_is_said(self, data: bytes, told: str) -> None:
        with pytest.raises(OffsetwiseError, match=told):
            edit_savepoint({"_metadata": data}, {flink.UID: ()}, uri="savepoint-1")

    def test_the_plan_and_the_savepoint_must_have_the_same_partitions(self) -> None:
        held = {"_metadata": flink.metadata(flink.kafka_source({0: 5, 1: 6}))}
        ((source, (first, second)),) = _moves(_read(held)).items()
        other = Move(topic="orders", partition=1, old=7, new_topic="orders", new=8)
        third = Move(topic="orders", partition=2, old=7, new_topic="orders", new=8)

        for moves, told in (
            ({source: (first,)}, "orders-1"),
            ({source: (first, other)}, "orders-1 at 6, where the plan has 7"),
            ({source: (first, second, third)}, "orders-2"),
            ({}, "0 times"),
            ({source: (first, second), "else": (first,)}, "'else'"),
        ):
            with pytest.raises(ApplyError, match=told):
                edit_savepoint(held, moves, uri="savepoint-1")

    def test_the_legacy_consumers_topics_keep_their_names(self) -> None:
        with pytest.raises(ApplyError, match="Kryo") as refused:
            _edit({"_metadata": _sample("flink-1.20-legacy-consumer")}, rename=lambda _: "other")
        assert "--target starting-offsets" in refused.value.fix


class TestBesideKinesis:
    """A source of Kinesis in the same savepoint has no offsets, and stays as it is."""

    SPLITS = tuple(kinesis_elements(data_of("streams-source-5.1.0-two-shards")))
    BESIDE = Op(uid="shards", subtasks=[flink.subtask(0, flink.state(READER, [each for _, each in SPLITS]))])
    HELD: ClassVar = {"_metadata": flink.metadata(flink.kafka_source({0: 5}), BESIDE)}

    def test_only_the_offsets_of_kafka_change(self) -> None:
        before = _read(self.HELD)
        made = _edit(self.HELD, move=lambda offset: offset + 1)

        after = _read({**self.HELD, **made.files})
        assert positions(after) == {("orders", 0): 6}
        assert [each.shards for each in after.sources] == [each.shards for each in before.sources]
        assert sum(len(each.shards) for each in after.sources) == 2
        assert list(kinesis_elements(made.files["_metadata"]))[1:] == list(self.SPLITS)

    def test_only_the_source_of_kafka_is_left_out(self) -> None:
        made = without_sources(self.HELD, [flink.UID], uri="savepoint-1")

        assert list(kinesis_elements(made)) == list(self.SPLITS)


class TestDropped:
    """The state of the sources is left out; `test_flink_savepoint` does it to every recorded savepoint."""

    OTHERS = (
        Op(uid="window", subtasks=[flink.subtask(0, flink.state("theirs", [b"kept"]))]),
        Op(uid="other source", subtasks=[flink.subtask(0, flink.state(READER, [flink.versioned(b"pulsar://a/b")]))]),
    )

    @with_cases("version", [4, 5, 6])
    def test_exactly_the_operators_of_kafka_sources_are_gone(self, version: int) -> None:
        sources = [flink.kafka_source({0: 5}, uid=uid) for uid in ("one", "two")]
        held = {"_metadata": flink.metadata(sources[0], *self.OTHERS, sources[1], version=version)}

        made = without_sources(held, ["one", "two"], uri="savepoint-1")

        assert made == flink.metadata(*self.OTHERS, version=version)

    def test_more_than_a_source_is_not_dropped(self) -> None:
        keyed = b"\x07" + flink.integer(0) + flink.integer(1) + flink.long(1) + flink.relative("f", 40)
        chained = Op(subtasks=[flink.subtask(0, flink.state(READER, TWICE[:1]), keyed=keyed)])
        legacy = {"_metadata": _sample("flink-1.20-legacy-consumer")}
        uid = _read(legacy).sources[0].id

        for held, named, told in (
            ({"_metadata": flink.metadata(chained)}, flink.UID, "keyed state"),
            (legacy, uid, "topic-partition-offset-states"),
        ):
            with pytest.raises(
                ApplyError, match=f"{told} is in operator .* more than a KafkaSource keeps.*Nothing"
            ) as refused:
                without_sources(held, [named], uri="savepoint-1")
            assert refused.value.fix.endswith("--target flink-savepoint.")

    def test_the_plan_must_name_all_sources_and_no_other(self) -> None:
        held = {"_metadata": flink.metadata(flink.kafka_source({0: 5}, uid="one"), flink.kafka_source({0: 5}))}

        for named, told in ((["one"], operator_id(flink.UID)), (["one", flink.UID, "three"], "three")):
            with pytest.raises(ApplyError, match=f"the Kafka sources of the plan, found {told}"):
                without_sources(held, named, uri="savepoint-1")


def test_no_mutant_is_edited_to_anything_but_the_planned_positions(figure: Callable[[str], None]) -> None:
    rng = random.Random(SEED)
    refused = edited = 0
    for number in range(MUTANTS):
        name = FLINK_NAMES[number % len(FLINK_NAMES)]
        data = bytearray(_sample(name))
        planned = _moves(_read({"_metadata": bytes(data)}), move=lambda offset: offset + 77)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        held = {"_metadata": bytes(data)}
        try:
            made = edit_savepoint(held, planned, uri="savepoint-1")
        except OffsetwiseError:
            refused += 1
            continue
        edited += 1
        wanted = {move.new_topic_partition: move.new for given in planned.values() for move in given}
        assert positions(_read(made.files)) == wanted, f"mutant {number} of seed {SEED}"
        changed = _differing(held["_metadata"], made.files["_metadata"])
        framed = 4 if "snappy" in name else 0
        stale = 8 * len(wanted) if "v3" in name else 0
        assert len(changed) <= (8 + framed) * len(wanted) + stale, f"mutant {number} of seed {SEED}"
    figure(
        f"{MUTANTS:,} mutants of savepoints edited (seed {SEED}): {edited:,} exactly as planned, {refused:,} refused"
    )
    assert edited > 0 < refused
