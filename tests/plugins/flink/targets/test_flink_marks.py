"""Marking transactions of a sink in a savepoint: four bytes of each, and nothing else."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.errors import ApplyError, OffsetwiseError
from offsetwise.model import MarkedTransaction, Transaction
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.snappy import STREAM_HEADER, masked_crc32c
from offsetwise.plugins.flink.targets.marks import mark_committed, unmarked
from offsetwise.storage.memory import HeldFolder
from tests.plugins.flink.files import (
    Op,
    blob,
    inline,
    integer,
    kafka_source,
    long,
    metadata,
    operator_handle,
    relative,
    state,
    subtask,
    utf,
    versioned,
)
from tests.transactions.recorded import DATA, SAVEPOINTS
from tests.with_cases import with_cases

COMMITTER = "streaming_committer_raw_states"
PENDING = [name for name in SAVEPOINTS if not name.endswith("marked-committed")]
V1 = struct.pack(">hq", 7, 2**40) + utf("tx-0-4")
LAYOUTS = {
    "v1": (1, V1),
    "pull request 271, not prepared": (2, V1 + b"\0"),
    "pull request 271, prepared": (2, struct.pack(">hq", 3, 5) + utf("tx-0-4") + b"\1" + utf("1099511627776:7")),
    "FLIP-319 as proposed": (2, utf("tx-0-4") + utf("1099511627776:7")),
}


def committer(*committables: tuple[int, bytes, int], layout: int = 2) -> bytes:
    """Return an element of a committer's state.

    Args:
        committables: Version, bytes and state of each.
        layout: The version of the collector's serializer.
    """
    requests = b""
    for version, body, number in committables:
        request = integer(version) + integer(len(body)) + body + integer(0) + integer(number)
        requests += integer(len(request)) + request
    subtasks = (integer(0) if layout else b"") + integer(0) + integer(len(committables)) + requests
    subtasks += bytes(8 if layout == 2 else 12)
    one = long(4) + (integer(1) if layout else b"") + integer(layout) + integer(1) + integer(len(subtasks)) + subtasks
    body = struct.pack(">I", 0xB91F252C) + integer(min(layout, 1)) + integer(1) + integer(len(one)) + one
    return versioned(body, version=2)


def job(*elements: bytes, prefix: str = "tx") -> dict[str, bytes]:
    """Return a savepoint with a Kafka source and a sink of one subtask."""
    writer = versioned(utf(prefix), version=1)
    return {
        "_metadata": metadata(
            kafka_source({0: 1050}),
            Op(uid="sink: writer", subtasks=[subtask(0, state("writer_raw_states", [writer]))]),
            Op(uid="sink: committer", subtasks=[subtask(0, state(COMMITTER, elements))]),
        )
    }


def held(files: Mapping[str, bytes]) -> tuple[Transaction, ...]:
    return read_from(HeldFolder(uri="savepoint-1", files=files)).details.transactions


def mark(of: Transaction) -> MarkedTransaction:
    assert of.producer_id is not None
    assert of.epoch is not None
    return MarkedTransaction(
        transactional_id=of.transactional_id, producer_id=of.producer_id, epoch=of.epoch, reason="It is committed."
    )


def marked(files: Mapping[str, bytes], *of: Transaction) -> dict[str, bytes]:
    return {**files, **mark_committed(files, tuple(map(mark, of)), uri="savepoint-1")}


def differing(before: bytes, after: bytes) -> list[int]:
    assert len(before) == len(after)
    return [at for at, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]


@with_cases("name", PENDING)
def test_a_recorded_savepoint_changes_in_the_last_byte_of_the_states_of_exactly_the_marked(name: str) -> None:
    files = {"_metadata": (DATA / name / "_metadata").read_bytes()}
    first, second = held(files)
    one, both = marked(files, second)["_metadata"], marked(files, first, second)["_metadata"]

    assert [each.state for each in held({"_metadata": one})] == ["received", "committed"]
    places = differing(files["_metadata"], both)
    assert len(places) == 2
    assert differing(files["_metadata"], one) == [at for at in places if one[at] != files["_metadata"][at]]
    assert {both[at] for at in places} == {3}
    for at, each in zip(sorted(places), sorted((first, second), key=lambda t: t.transactional_id), strict=True):
        # The state's last byte stands behind the id, the number of tries and the first three bytes of the state.
        assert both[: at - 7].endswith(each.transactional_id.encode())


@with_cases("case", ["c50-incrementing", "c50-pooling"])
def test_marking_makes_the_bytes_that_real_jobs_were_restored_from(case: str) -> None:
    files = {"_metadata": (DATA / case / "savepoint-3-pending" / "_metadata").read_bytes()}

    assert marked(files, *held(files)) == {
        "_metadata": (DATA / case / "savepoint-3-marked-committed" / "_metadata").read_bytes()
    }


@with_cases("collector", [0, 1, 2])
@with_cases("layout", LAYOUTS)
@with_cases("number", [0, 1])
def test_every_layout_of_a_committable_is_marked(layout: str, collector: int, number: int) -> None:
    version, body = LAYOUTS[layout]
    files = job(committer((version, body, number), layout=collector))
    (one,) = held(files)

    assert marked(files, one) == job(committer((version, body, 3), layout=collector))


@given(st.data())
def test_any_subset_of_committables_marks_exactly_these(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    layouts = data.draw(st.lists(st.sampled_from(["v1", "271", "319"]), min_size=count, max_size=count))
    chosen = data.draw(st.sets(st.integers(0, count - 1)))
    split = data.draw(st.integers(0, count))

    def body(number: int) -> tuple[int, bytes]:
        producer, name = struct.pack(">hq", number, 1_000 + number), utf(f"tx-{number % 3}-{number // 3}")
        match layouts[number]:
            case "v1":
                return 1, producer + name
            case "271":
                return 2, producer + name + b"\0"
        return 2, name + utf(f"{1_000 + number}:{number}")

    def files(states: Mapping[int, int]) -> dict[str, bytes]:
        every = [(*body(number), states.get(number, number % 2)) for number in range(count)]
        return job(committer(*every[:split]), committer(*every[split:]))

    before = files({})
    wanted = [each for number, each in enumerate(held(before)) if number in chosen]

    after = marked(before, *wanted)

    assert after == files(dict.fromkeys(chosen, 3))
    assert unmarked(tuple(map(mark, wanted)), read_from(HeldFolder(uri="s", files=after))) is None
    if wanted:
        assert unmarked(tuple(map(mark, wanted)), read_from(HeldFolder(uri="s", files=before))) is not None


def test_a_committer_in_a_file_of_the_folder_is_marked_there() -> None:
    def files(number: int) -> dict[str, bytes]:
        data, places = blob({COMMITTER: [committer((1, V1, number))], "another": [b"first"]})
        writer = Op(uid="w", subtasks=[subtask(0, state("writer_raw_states", [versioned(utf("tx"), version=1)]))])
        commits = Op(uid="c", subtasks=[subtask(0, operator_handle(places, relative("5e2c", len(data))))])
        return {"_metadata": metadata(kafka_source({0: 5}), writer, commits), "5e2c": data}

    assert set(mark_committed(files(0), tuple(map(mark, held(files(0)))), uri="s")) == {"5e2c"}
    assert marked(files(0), *held(files(0))) == files(3)


def framed(kind: int, body: bytes, plain: bytes) -> bytes:
    chunk = masked_crc32c(plain).to_bytes(4, "little") + body
    return STREAM_HEADER + bytes([kind]) + len(chunk).to_bytes(3, "little") + chunk


def snappy(element: bytes) -> dict[str, bytes]:
    data, places = blob({COMMITTER: [element]}, compressed=b"\x01")
    writer = Op(uid="w", subtasks=[subtask(0, state("writer_raw_states", [versioned(utf("tx"), version=1)]))])
    commits = Op(uid="c", subtasks=[subtask(0, operator_handle(places, inline(data)))])
    return {"_metadata": metadata(kafka_source({0: 5}), writer, commits)}


def test_30_an_uncompressed_chunk_gets_its_checksum_and_a_compressed_one_is_refused() -> None:
    before, after = committer((1, V1, 0)), committer((1, V1, 3))
    files = snappy(framed(1, before, before))

    assert marked(files, *held(files)) == snappy(framed(1, after, after))

    size = len(before)
    literal = bytes([size & 0x7F | 0x80, size >> 7, 60 << 2, size - 1]) + before
    files = snappy(framed(0, literal, before))
    with pytest.raises(ApplyError, match="that Snappy has compressed"):
        marked(files, *held(files))


def test_what_is_marked_already_or_failed_or_not_held_is_refused() -> None:
    for number, told in ((2, "as failed"), (3, "as committed")):
        files = job(committer((1, V1, number)))
        with pytest.raises(ApplyError, match=f"{told}, which no restore commits. Nothing was written"):
            marked(files, *held(files))
    files = job(committer((1, V1, 0)))
    other = MarkedTransaction(transactional_id="tx-0-4", producer_id=2**40, epoch=8, reason="Another epoch.")
    with pytest.raises(ApplyError, match=r"to hold tx-0-4 \(producer 1099511627776, epoch 8\), found no such"):
        mark_committed(files, (other,), uri="savepoint-1")


def test_30_a_savepoint_that_may_not_be_edited_is_not_marked() -> None:
    unaligned = Op(uid="map", subtasks=[subtask(0, incoming=[integer(0) * 3 + integer(0) + bytes(8) + b"\0"])])
    commits = Op(uid="c", subtasks=[subtask(0, state(COMMITTER, [committer((1, V1, 0))]))])
    one = MarkedTransaction(transactional_id="tx-0-4", producer_id=2**40, epoch=7, reason="It is committed.")

    with pytest.raises(OffsetwiseError, match="unaligned"):
        mark_committed({"_metadata": metadata(kafka_source({0: 5}), unaligned, commits)}, (one,), uri="s")


def test_30_a_sink_that_is_not_kafkas_has_nothing_to_mark() -> None:
    files = job(committer((1, b"a file to publish", 0)))
    one = MarkedTransaction(transactional_id="tx-0-4", producer_id=2**40, epoch=7, reason="It is committed.")

    with pytest.raises(OffsetwiseError, match="Nothing was written"):
        mark_committed(files, (one,), uri="savepoint-1")


def test_nothing_to_mark_changes_no_file() -> None:
    assert mark_committed({"_metadata": b"not even read"}, (), uri="savepoint-1") == {}
