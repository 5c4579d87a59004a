"""What Flink's sources and sinks keep, wherever it stands: the parts of the reader, one promise each."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import pytest

from offsetwise.errors import CheckpointError, NotACheckpointError, StorageError
from offsetwise.model import MarkedPosition
from offsetwise.plugins.flink.engine.checkpoint import read_checkpoint, read_from
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.engine.uid import operator_id
from tests.plugins.flink.files import (
    CHECKPOINT,
    Folder,
    Op,
    absolute,
    blob,
    codes,
    coordinator,
    enumerator_v2,
    enumerator_v3,
    inline,
    integer,
    kafka_source,
    kafka_split,
    long,
    metadata,
    operator_handle,
    positions,
    reader_element,
    relative,
    segment,
    state,
    subtask,
    utf,
    versioned,
)
from tests.plugins.spark.folders import SAMPLES, MemoryFolder
from tests.with_cases import with_cases

READER = "SourceReaderState"
LEGACY = "topic-partition-offset-states"
TWO = {("orders", 0): 1050, ("orders", 1): 20}


def _reader(*offsets: int, handle: bytes | None = None) -> bytes:
    data, places = blob({READER: [reader_element("orders", index, offset) for index, offset in enumerate(offsets)]})
    return subtask(0, operator_handle(places, inline(data) if handle is None else handle))


def _knows(*partitions: int) -> bytes:
    return enumerator_v2([("orders", partition, 0) for partition in partitions])


KEYED = {
    "key groups": b"\x03" + integer(0) + integer(2) + long(1) + long(9) + inline(b"x" * 40),
    "key groups with id": b"\x0c" + integer(0) + integer(1) + long(1) + inline(b"x" * 40) + utf("id"),
    "savepoint": b"\x07" + integer(0) + integer(1) + long(1) + relative("f", 40),
    "incremental": b"\x05" + long(3) + utf("uuid") + integer(0) + integer(8) + inline(b"m" * 10)
    + integer(1) + utf("000012.sst") + absolute("file:/job/shared/a", 20)
    + integer(1) + utf("MANIFEST") + relative("b", 10),
    "incremental with id": b"\x0b" + long(3) + utf("uuid") + integer(0) + integer(8) + long(40) + inline(b"m" * 40)
    + integer(0) + integer(0) + utf("id"),
    "changelog": b"\x08" + integer(0) + integer(8) + long(0) + integer(1)
    + b"\x03" + integer(0) + integer(1) + long(1) + inline(b"x" * 30) + integer(1)
    + b"\x09" + integer(0) + integer(8) + long(0) + long(1) + integer(1) + integer(0) + integer(10) + b"c" * 10
    + utf("id") + long(1) + utf("id"),
    "changelog with id": b"\x0e" + integer(0) + integer(8) + long(0) + integer(0) + integer(1)
    + b"\x0d" + integer(0) + integer(8) + integer(1) + long(5) + segment("file:/job/t", 0, 40)
    + long(40) + long(40) + utf("id") + utf("filesystem") + long(1) + long(2) + utf("id"),
}  # fmt: skip


class TestPlaces:
    DATA, PLACES = blob({READER: [reader_element("orders", 0, 1050), reader_element("orders", 1, 20)]})

    def _op(self, handle: bytes, *, tag: int = 4) -> bytes:
        managed = operator_handle(self.PLACES, handle, tag=tag)
        return metadata(Op(subtasks=[subtask(0, managed)], coordinator=_knows(0, 1)))

    def test_state_in_a_file_of_the_folder_is_read(self) -> None:
        read = Folder(data=self._op(relative("5e2c", len(self.DATA))), files={"5e2c": self.DATA}).read()

        assert positions(read) == TWO
        assert [path for path, _ in read.pins] == ["_metadata", "5e2c"]
        assert flink_details(read).operators[0].states[0].places == ("relative",)

    def test_a_missing_file_is_named_and_its_positions_are_left_out(self) -> None:
        read = Folder(data=self._op(relative("5e2c", len(self.DATA)))).read()

        assert positions(read) == {}
        assert codes(read) == ["CHECKPOINT_DAMAGED"]
        assert f"operator {operator_id('kafka-src')!r}, subtask 0, cannot be read" in read.problems[0].message

    @with_cases("name", ["../secret", "/etc/passwd", "a/b", "", ".."])
    def test_a_name_that_leaves_the_folder_is_not_opened(self, name: str) -> None:
        read = Folder(data=self._op(relative(name, 5)), files={name: self.DATA}).read()

        assert positions(read) == {}
        assert "is no name of a file in its folder" in read.problems[0].message

    def test_a_file_of_another_length_is_damage(self) -> None:
        read = Folder(data=self._op(relative("5e2c", len(self.DATA))), files={"5e2c": self.DATA[:-1]}).read()

        assert positions(read) == {}
        assert f"expected {len(self.DATA):,}" in read.problems[0].message

    def test_absolute_paths_are_read_where_that_is_possible(self) -> None:
        data = self._op(absolute("s3://bucket/job/shared/5e2c", len(self.DATA)))
        asked: list[str] = []

        def elsewhere(path: str) -> bytes:
            asked.append(path)
            return self.DATA

        assert positions(Folder(data=data).read(elsewhere=elsewhere)) == TWO
        assert asked == ["s3://bucket/job/shared/5e2c"]
        refused = Folder(data=data).read(elsewhere=lambda _: StorageError("Outside the roots.", fix=""))
        assert "Outside the roots." in refused.problems[0].message
        assert "outside the folder" in Folder(data=data).read().problems[0].message

    def test_merged_files_are_read_from_their_segment(self) -> None:
        data = self._op(segment("file:/job/taskowned/merged", 100, len(self.DATA)), tag=17)
        merged = bytes(100) + self.DATA + bytes(50)

        assert positions(Folder(data=data).read(elsewhere=lambda _: merged)) == TWO
        cut = Folder(data=data).read(elsewhere=lambda _: merged[:150])
        assert positions(cut) == {}
        assert "CHECKPOINT_DAMAGED" in codes(cut)

        recorded = SAMPLES.with_name("merged-files")
        checkpoint = read_checkpoint(str(recorded), roots=[str(recorded)])
        (unread,) = checkpoint.problems
        assert "taskowned" in unread.message
        opened = Folder(data=(recorded / METADATA).read_bytes()).read(
            elsewhere=lambda path: (recorded / path.rpartition("/")[2]).read_bytes()
        )
        assert codes(opened) == []
        assert [(operator.uid, [(state.name, state.elements, state.places) for state in operator.states])
                for operator in flink_details(opened).operators if operator.states] == [
            ("numbers", [(READER, 1, ("segment",)), ("coordinator", None, ("inline",))])
        ]  # fmt: skip

    @with_cases("places", [(5, 4), (50, 50), (0,), (10**6,), (-1,), (2**62,)])
    def test_places_outside_the_state_are_damage(self, places: Sequence[int]) -> None:
        managed = operator_handle({READER: places}, inline(self.DATA))
        read = Folder(data=metadata(Op(subtasks=[subtask(0, managed)], coordinator=_knows(0, 1)))).read()

        assert positions(read) == {}
        assert "expected ascending offsets" in read.problems[0].message


class TestSkipped:
    @with_cases("kind", list(KEYED))
    def test_keyed_state_is_passed_over_and_measured(self, kind: str) -> None:
        op = Op(uid="window", subtasks=[subtask(0, keyed=KEYED[kind])])

        read = Folder(data=metadata(op, kafka_source({0: 1050, 1: 20}))).read()

        assert positions(read) == TWO
        assert codes(read) == []
        assert [(one.kind, one.size_bytes) for one in flink_details(read).operators[0].states] == [("keyed", 40)]

    @with_cases("version", [4, 5, 6])
    def test_records_in_flight_are_passed_over_and_said(self, version: int) -> None:
        channel = integer(0) + integer(0) + integer(3) + integer(1) + long(0) + long(77) + inline(b"r" * 77)
        tagged = b"\x01" + channel if version == 6 else channel
        op = Op(uid="map", subtasks=[subtask(0, incoming=[tagged])])

        read = Folder(data=metadata(op, kafka_source({0: 1050, 1: 20}), version=version)).read()

        assert positions(read) == TWO
        assert codes(read) == ["CHECKPOINT_UNALIGNED"]
        assert not flink_details(read).saved.aligned
        assert [(one.kind, one.size_bytes) for one in flink_details(read).operators[0].states] == [("in-flight", 77)]

    def test_merged_channel_state_is_passed_over(self) -> None:
        merged = b"\x03" + integer(0) + long(77) + inline(b"r" * 77) + integer(4) + b"dirs"
        data = metadata(Op(uid="map", subtasks=[subtask(0, incoming=[merged])]), kafka_source({0: 1}), version=6)

        assert positions(Folder(data=data).read()) == {("orders", 0): 1}

    def test_finished_operators_and_subtasks_are_shown_as_that(self) -> None:
        done = Op(uid="done", finished=True)
        half = Op(uid="half", subtasks=[integer(-1), subtask(1)], parallelism=2)

        read = Folder(data=metadata(done, half, kafka_source({0: 5}))).read()

        assert [one.finished for one in flink_details(read).operators] == [True, False, False]
        assert positions(read) == {("orders", 0): 5}


class TestSources:
    def test_several_sources_are_kept_apart(self) -> None:
        data = metadata(kafka_source({0: 5}, uid="one"), kafka_source({0: 9}, uid="two"), version=5)

        sources = Folder(data=data).read().sources

        assert [(one.id, one.positions[0].offset) for one in sources] == [("one", 5), ("two", 9)]

    @with_cases(("marker", "word"), [(-1, "latest"), (-2, "earliest"), (-3, "committed")])
    def test_a_marker_is_shown_as_a_word_and_is_no_position(self, marker: int, word: str) -> None:
        read = Folder(data=metadata(kafka_source({0: marker, 1: 20}))).read()

        assert positions(read) == {("orders", 1): 20}
        assert read.sources[0].marked == (MarkedPosition(topic="orders", partition=0, starts_at=word),)
        assert codes(read) == ["NO_POSITION"]
        assert f"orders-0 at its {word} offset" in read.restart

    def test_an_unassigned_split_of_the_enumerator_is_a_position_and_a_readers_offset_wins(self) -> None:
        listed = enumerator_v3([("orders", 0, -2, 0), ("orders", 1, 33, 1), ("orders", 2, -2, 1)])
        read = Folder(data=metadata(Op(subtasks=[_reader(1050)], coordinator=listed))).read()

        assert positions(read) == {("orders", 0): 1050, ("orders", 1): 33}
        assert [(at.partition, at.starts_at) for at in read.sources[0].marked] == [(2, "earliest")]

    def test_an_unassigned_partition_without_offset_starts_where_the_job_says(self) -> None:
        listed = enumerator_v2([("orders", 0, 0), ("orders", 1, 1)])
        read = Folder(data=metadata(Op(subtasks=[_reader(1050)], coordinator=listed))).read()

        assert [(at.partition, at.starts_at) for at in read.sources[0].marked] == [(1, "initializer")]
        assert codes(read) == ["NO_POSITION"]

    @with_cases("version", [0, 1])
    def test_old_enumerators_are_held_against_the_readers(self, version: int) -> None:
        split = kafka_split("orders", 0, 3)
        payload = {
            0: integer(1) + integer(0) + integer(0) + integer(1) + integer(len(split)) + split,
            1: integer(1) + utf("orders") + integer(0),
        }[version]
        listed = coordinator(payload, version)

        assert codes(Folder(data=metadata(Op(subtasks=[_reader(1050)], coordinator=listed))).read()) == []
        lost = Folder(data=metadata(Op(subtasks=[subtask(0)], coordinator=listed))).read()
        assert codes(lost) == ["NO_POSITION"]
        assert "orders-0, and no reader keeps a position" in lost.problems[0].message

    def test_a_partition_that_the_coordinator_does_not_know_is_damage(self) -> None:
        read = Folder(data=metadata(Op(subtasks=[_reader(1050, 20)], coordinator=_knows(0)))).read()

        assert codes(read) == ["CHECKPOINT_DAMAGED"]
        assert "orders-1, which its coordinator does not know" in read.problems[0].message

    def test_a_partition_kept_twice_is_left_out_with_both_places(self) -> None:
        elements = [reader_element("orders", 0, offset) for offset in (1050, 1051)]
        data = metadata(Op(subtasks=[subtask(0, state(READER, elements))], coordinator=_knows(0)))
        first = data.index(elements[0])

        read = Folder(data=data).read()

        assert positions(read) == {}
        assert codes(read) == ["CHECKPOINT_DAMAGED"]
        assert f"orders-0 twice, at byte {first:,} and byte {first + len(elements[0]):,}" in read.problems[0].message

    def test_an_element_that_cannot_be_read_names_its_byte(self) -> None:
        broken = reader_element("orders", 1, 20)
        broken = broken[:14] + b"\xc3\x28" + broken[16:]
        data = metadata(
            Op(
                subtasks=[subtask(0, state(READER, [reader_element("orders", 0, 1050), broken]))],
                coordinator=_knows(0, 1),
            )
        )

        read = Folder(data=data).read()

        assert positions(read) == {("orders", 0): 1050}
        assert codes(read) == ["CHECKPOINT_DAMAGED"]
        assert f"byte {data.index(broken) + 12:,}" in read.problems[0].message

    @with_cases(
        "element",
        [
            versioned(b"pulsar://cluster/topic-and-more-text"),
            versioned(utf("orders") + integer(0) + long(5)),
            versioned(kafka_split("or ders", 0, 5)),
            versioned(kafka_split("orders", -1, 5)),
            versioned(kafka_split("orders", 0, -77)),
            versioned(kafka_split("orders", 0, 5), version=9),
            integer(3) + b"abc",
        ],
    )
    def test_another_source_with_the_same_state_name_gives_no_position(self, element: bytes) -> None:
        read = Folder(data=metadata(Op(subtasks=[subtask(0, state(READER, [element]))]))).read()

        assert [(one.kind, one.positions) for one in read.sources] == [("other", ())]
        assert codes(read) == []

    def test_a_bounded_source_is_said_to_be_one(self) -> None:
        elements = [reader_element("orders", 0, 5, 500)]
        read = Folder(data=metadata(Op(subtasks=[subtask(0, state(READER, elements))], coordinator=_knows(0)))).read()

        assert codes(read) == ["NO_POSITION"]
        assert "ends at 500, an end on the old cluster" in read.problems[0].message

    def test_a_dynamic_source_is_shown_by_cluster_and_has_no_position(self) -> None:
        first = versioned(utf("east") + integer(0) + kafka_split("orders", 0, 5), version=1)
        second = versioned(utf("west") + b"\0" + integer(0) + kafka_split("orders", 1, -2), version=2)
        kept = versioned(utf("west") + b"\x01" + long(99) + integer(0) + kafka_split("orders", 2, 7), version=2)
        read = Folder(data=metadata(Op(subtasks=[subtask(0, state(READER, [first, second, kept]))]))).read()

        (source,) = read.sources
        assert (source.kind, source.positions) == ("dynamic-kafka", ())
        assert json.loads(source.raw or "") == {
            "east": {"orders": {"0": "5"}},
            "west": {"orders": {"1": "earliest", "2": "7"}},
        }

    def test_a_state_that_its_own_bytes_name_otherwise_is_damage(self) -> None:
        data = metadata(kafka_source({0: 5})).replace(
            utf(READER) + b"\0" + integer(1), utf("SourceReaderStatf") + b"\0" + integer(1)
        )

        assert codes(Folder(data=data).read())[0] == "CHECKPOINT_DAMAGED"


class TestLegacyConsumer:
    @staticmethod
    def _varint(value: int) -> bytes:
        made = b""
        while value > 0x7F:
            made += bytes([value & 0x7F | 0x80])
            value >>= 7
        return made + bytes([value])

    def _element(self, topic: str, partition: int, last: int) -> bytes:
        kept = 0
        for letter in topic:
            kept = (kept * 31 + ord(letter)) & 0xFFFFFFFF
        kept = (kept * 31 + partition) & 0xFFFFFFFF
        signed = kept - 2**32 if kept >= 2**31 else kept
        zigzag = (signed << 1 ^ signed >> 31) & 0xFFFFFFFF
        data = topic.encode()
        length = len(data) + 1
        if 1 < len(data) < 64:
            text = data[:-1] + bytes([data[-1] | 0x80])
        elif length < 64:
            text = bytes([length | 0x80]) + data
        else:
            text = bytes([length & 0x3F | 0xC0, length >> 6]) + data
        return b"W\x01" + self._varint(zigzag) + self._varint(partition * 2) + b"\x01" + text + long(last)

    def _read(self, *elements: bytes) -> Folder:
        return Folder(data=metadata(Op(subtasks=[subtask(0, state(LEGACY, elements, mode=1))])))

    @with_cases("topic", ["fk", "t", "orders.with-a_name", "x" * 63, "x" * 64, "y" * 249])
    def test_the_next_record_follows_the_last_processed_one(self, topic: str) -> None:
        read = self._read(self._element(topic, 0, -1), self._element(topic, 700, 2**62)).read()

        assert positions(read) == {(topic, 0): 0, (topic, 700): 2**62 + 1}
        assert codes(read) == []

    def test_its_markers_are_words(self) -> None:
        marks = {-915623761775: "earliest", -915623761774: "latest", -915623761773: "committed"}
        read = self._read(*(self._element("fk", index, mark) for index, mark in enumerate(marks))).read()

        assert [at.starts_at for at in read.sources[0].marked] == list(marks.values())
        assert codes(read) == ["NO_POSITION"]

    def test_a_changed_topic_or_partition_does_not_fit_its_hash(self) -> None:
        element = self._element("fk", 1, 49)
        for changed in (element.replace(b"f\xeb", b"g\xeb"), element.replace(b"\x02\x01f", b"\x04\x01f")):
            read = self._read(changed).read()
            assert positions(read) == {}
            assert "expected the hash of" in read.problems[0].message

    @with_cases("last", [-2, 2**63 - 1, -915623761700])
    def test_no_other_negative_number_is_a_position(self, last: int) -> None:
        read = self._read(self._element("fk", 1, last)).read()

        assert positions(read) == {}
        assert codes(read) == ["CHECKPOINT_DAMAGED"]


class TestSinks:
    @staticmethod
    def _committer(*committables: bytes, version: int = 1, state_number: int = 0, layout: int = 2) -> bytes:
        requests = b""
        for body in committables:
            request = integer(version) + integer(len(body)) + body + integer(0) + integer(state_number)
            requests += integer(len(request)) + request
        subtasks = (integer(0) if layout else b"") + integer(0) + integer(len(committables)) + requests
        subtasks += bytes(8 if layout == 2 else 12)
        one = (
            long(4) + (integer(1) if layout else b"") + integer(layout) + integer(1) + integer(len(subtasks)) + subtasks
        )
        body = struct.pack(">I", 0xB91F252C) + integer(min(layout, 1)) + integer(1) + integer(len(one)) + one
        return versioned(body, version=2)

    @staticmethod
    def _writer(prefix: str, *kept: str, ownership: int = 0) -> bytes:
        body = utf(prefix) + integer(0) + integer(1) + integer(ownership) + integer(len(kept))
        return versioned(body + b"".join(utf(name) + long(3) for name in kept), version=2)

    RESUMED = struct.pack(">hq", 7, 2**40) + utf("tx-0-4")

    def _read(self, writer: bytes, committer: bytes) -> Folder:
        sink = Op(uid="sink: writer", subtasks=[subtask(0, state("writer_raw_states", [writer]))])
        commits = Op(uid="sink: committer", subtasks=[subtask(0, state("streaming_committer_raw_states", [committer]))])
        return Folder(data=metadata(sink, commits))

    @with_cases("layout", [0, 1, 2])
    def test_pending_transactions_are_listed_with_producer_and_epoch(self, layout: int) -> None:
        read = self._read(self._writer("tx", "tx-0-4"), self._committer(self.RESUMED, layout=layout)).read()

        (one,) = read.details.transactions
        assert (one.transactional_id, one.producer_id, one.epoch, one.checkpoint_id) == ("tx-0-4", 2**40, 7, 4)
        assert (one.state, one.schema, one.operator) == ("received", "v1", operator_id("sink: committer"))
        assert flink_details(read).operators[0].transactional_id_prefix == "tx"
        assert codes(read) == ["TRANSACTION_PENDING"]

    @with_cases(
        "body",
        [
            utf("tx-0-4") + utf("1099511627776:7"),
            RESUMED + b"\0",
            RESUMED + b"\1" + utf("1099511627776:7"),
            struct.pack(">hq", 3, 5) + utf("tx-0-4") + b"\1" + utf("1099511627776:7"),
        ],
        ids=["as proposed", "not prepared", "prepared", "prepared by an earlier producer"],
    )
    def test_both_layouts_of_flip_319_are_read_and_named(self, body: bytes) -> None:
        (one,) = self._read(self._writer("tx"), self._committer(body, version=2)).read().details.transactions

        assert (one.transactional_id, one.producer_id, one.epoch, one.schema) == ("tx-0-4", 2**40, 7, "FLIP-319")

    @with_cases(
        "body",
        [
            RESUMED,
            RESUMED + b"\2",
            RESUMED + b"\0\0",
            RESUMED + b"\1" + utf(""),
            RESUMED + b"\1" + utf("1099511627776:7") + b"\0",
            RESUMED + b"\1" + utf("1099511627776:32768"),
            utf("tx-0-4") + utf("1099511627776:7") + b"\0",
            utf("tx-0-4") + utf("9223372036854775808:7"),
            utf("") + utf("1:1"),
        ],
    )
    def test_a_committable_of_flip_319_is_read_to_its_last_byte(self, body: bytes) -> None:
        read = self._read(self._writer("tx"), self._committer(body, version=2)).read()

        assert read.details.transactions == ()
        assert codes(read) == ["CHECKPOINT_DAMAGED"]

    @with_cases(
        ("writer", "strategy"),
        [
            (_writer("tx", ownership=0), "INCREMENTING"),
            (_writer("tx", ownership=1), "POOLING"),
            (versioned(utf("tx"), version=1), None),
            (_writer("tx-0", ownership=1), None),
        ],
        ids=["incrementing", "pooling", "a writer's state that does not say", "another sink's writer"],
    )
    def test_the_strategy_is_that_of_the_writer_with_the_same_prefix(self, writer: bytes, strategy: str | None) -> None:
        (one,) = self._read(writer, self._committer(self.RESUMED)).read().details.transactions

        assert one.strategy == strategy

    def test_writers_that_do_not_agree_say_no_strategy(self) -> None:
        writers = [self._writer("tx", ownership=0), self._writer("tx", "tx-0-9", ownership=1)]
        sink = Op(uid="sink: writer", subtasks=[subtask(0, state("writer_raw_states", writers))])
        held = state("streaming_committer_raw_states", [self._committer(self.RESUMED)])
        commits = Op(uid="sink: committer", subtasks=[subtask(0, held)])

        read = Folder(data=metadata(sink, commits)).read()

        assert [(one.transactional_id, one.strategy) for one in read.details.transactions] == [
            ("tx-0-4", None),
            ("tx-0-9", "POOLING"),
        ]

    @with_cases(
        ("prefixes", "ownership", "found"),
        [
            (("orders", "orders-eu"), 1, 1),
            (("orders", "orders-eu"), 0, 0),
            (("orders", "payments"), 1, 0),
            (("orders",), 1, 0),
            (("a", "ab", "abc"), 1, 3),
        ],
    )
    def test_13_a_pooled_prefix_that_begins_another_sinks_is_said(
        self, prefixes: tuple[str, ...], ownership: int, found: int
    ) -> None:
        sinks = [
            Op(
                uid=f"sink {each}",
                subtasks=[subtask(0, state("writer_raw_states", [self._writer(each, ownership=ownership)]))],
            )
            for each in prefixes
        ]

        read = Folder(data=metadata(*sinks)).read()

        assert codes(read) == ["PREFIX_OVERLAPS"] * found
        for problem in read.problems:
            assert "has the naming strategy POOLING" in problem.message

    def test_what_only_the_writer_names_is_listed_as_that(self) -> None:
        read = self._read(self._writer("tx", "tx-0-3", "tx-0-4"), self._committer(self.RESUMED)).read()

        assert [(one.transactional_id, one.state, one.producer_id) for one in read.details.transactions] == [
            ("tx-0-4", "received", 2**40),
            ("tx-0-3", "precommitted", None),
        ]

    def test_what_is_committed_is_not_pending(self) -> None:
        read = self._read(self._writer("tx"), self._committer(self.RESUMED, state_number=3)).read()

        assert [one.state for one in read.details.transactions] == ["committed"]
        assert codes(read) == []

    def test_another_sink_is_passed_over(self) -> None:
        read = self._read(versioned(b"bucket states of files"), self._committer(b"a file to publish")).read()

        assert (read.details.transactions, codes(read)) == ((), [])

    def test_a_committable_that_cannot_be_read_beside_a_kafka_sink_is_said(self) -> None:
        read = self._read(self._writer("tx"), self._committer(self.RESUMED[:-1])).read()

        assert read.details.transactions == ()
        assert codes(read) == ["CHECKPOINT_DAMAGED"]


class TestUids:
    def test_a_typed_uid_names_its_operator_and_source(self) -> None:
        read = Folder(data=metadata(kafka_source({0: 5}))).read(uids=["kafka-src"])

        assert read.sources[0].id == "kafka-src"
        assert flink_details(read).operators[0].uid == "kafka-src"

    @with_cases("uid", ["../orders", "eu/orders", "a\\b", "..", "a\nb"])
    def test_a_uid_that_could_not_stand_in_a_plan_leaves_its_source_the_operators_id(self, uid: str) -> None:
        read = Folder(data=metadata(kafka_source({0: 5}, uid=uid), version=5)).read()
        assert read.sources[0].id == operator_id(uid)
        assert flink_details(read).operators[0].uid == uid

    def test_a_uid_of_no_operator_is_refused_with_its_hash(self) -> None:
        with pytest.raises(CheckpointError, match=f"'kafka', .*{operator_id('kafka')}.*{operator_id('kafka-src')}"):
            Folder(data=metadata(kafka_source({0: 5}))).read(uids=["kafka"])

    @with_cases(
        ("uid", "hashed"),
        [("kafka-src", "2cfff4cfdc12cf3ce3a313acc56edab3"), ("s", "431c11b7410a217cf29a345eb02981d0"),
         ("ksink", "72ae0fa1287e9f76ae4c0d3774e52d6b"), ("Sink Committer: ksink", "4d64ec5086936e5703603271f38cccee")],
    )  # fmt: skip
    def test_the_hash_is_flinks(self, uid: str, hashed: str) -> None:
        assert operator_id(uid) == hashed


class TestRetained:
    JOB = "0123456789abcdef0123456789abcdef"

    def test_the_other_checkpoints_of_the_job_are_listed_newest_first(self) -> None:
        data = metadata(kafka_source({0: 5}), tail=CHECKPOINT)
        names = ("chk-9/_metadata", "chk-10/_metadata", "chk-12/_metadata", "chk-11/half", "shared/x", "taskowned/y")
        around = MemoryFolder(dict.fromkeys(names, data), uri=f"s3://b/{self.JOB}")

        read = Folder(data=data, uri=f"s3://b/{self.JOB}/chk-12").read(around=around)

        assert [(one.id, one.uri) for one in flink_details(read).saved.retained] == [
            (10, f"s3://b/{self.JOB}/chk-10"),
            (9, f"s3://b/{self.JOB}/chk-9"),
        ]
        assert (read.job_id, flink_details(read).saved.kind) == (self.JOB, "checkpoint")
        assert read.restart.startswith("Checkpoint 7: ")

    def test_a_folder_without_metadata_is_refused(self) -> None:
        with pytest.raises(NotACheckpointError, match="found no _metadata in it"):
            read_from(MemoryFolder({"shared/x": b""}))
