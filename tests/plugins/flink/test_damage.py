"""Damaged copies of the recorded savepoints: no crash, no hang, no silently wrong offset.

`_metadata` has no checksum, so a changed digit is a valid other number. What can honestly be promised:

- Every offset given stands in the file as it is now, under its topic and partition.
- None that stood there is missing, unless an error or a problem says so.

`OFFSETWISE_GATES=full` runs the gate of 100,000 mutants; else a part of it. `OFFSETWISE_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest

from offsetwise.errors import CheckpointError, NotACheckpointError, OffsetwiseError
from offsetwise.model import Checkpoint
from tests.gates import FULL, PART
from tests.plugins.flink.files import (
    Folder,
    Op,
    enumerator_v2,
    inline,
    integer,
    kafka_source,
    long,
    metadata,
    operator_handle,
    positions,
    subtask,
    utf,
)
from tests.plugins.spark.folders import FLINK_NAMES, sample_files
from tests.with_cases import with_cases

MUTANTS = 100_000 // PART
STRIDE = 1 if FULL else 7
LONGEST_S = 1.0
"""Of processor time: how busy the machine is shall not matter."""
SAMPLE_BYTES = {name: sample_files(name)["_metadata"] for name in FLINK_NAMES}
WORDS = (b"\0", b"\xff", b"\x80", b"\x7f", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", long(-1), long(2**62))


def _read(data: bytes) -> Checkpoint | OffsetwiseError:
    begun = time.process_time()
    try:
        return Folder(data=data).read()
    except OffsetwiseError as error:
        return error
    finally:
        assert time.process_time() - begun < LONGEST_S


def _told(read: Checkpoint | OffsetwiseError) -> bool:
    """Whether anything is said to be wrong, beyond what the recorded ones say."""
    if isinstance(read, OffsetwiseError):
        return True
    return any(problem.code != "TRANSACTION_PENDING" for problem in read.problems)


def _assert_there(data: bytes, read: Checkpoint | OffsetwiseError) -> None:
    """Assert that every offset stands in the bytes behind its topic and partition, by their look alone."""
    if isinstance(read, OffsetwiseError):
        return
    for (topic, partition), offset in positions(read).items():
        current = utf(topic) + integer(partition) + long(offset)
        legacy = topic.encode()[:-1] + bytes([topic.encode()[-1] | 0x80]) + long(offset - 1)
        assert offset >= 0
        assert current in data or (legacy in data and b"topic-partition-offset-states" in data), (topic, partition)


def _edited(data: bytes, chance: random.Random) -> bytes:
    """Change a few bytes in place, so that nothing moves."""
    at = chance.randrange(len(data))
    if chance.random() < 0.5:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    word = chance.choice(WORDS)
    return (data[:at] + word + data[at + len(word) :])[: len(data)]


def _moved(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Cut, insert, repeat or splice."""
    place, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    kind = chance.randrange(5)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + data[end:]
    if kind == 2:
        return data[:place] + chance.choice(WORDS) + data[place:]
    if kind == 3:
        return data[:end] + data[place:]
    return data[:place] + other[chance.randrange(len(other)) :]


@pytest.fixture
def chance(request: pytest.FixtureRequest, figure: Callable[[str], None]) -> random.Random:
    seed = int(os.environ.get("OFFSETWISE_SEED", random.SystemRandom().randrange(2**32)))
    figure(f"OFFSETWISE_SEED={seed} of {request.node.name}")
    return random.Random(seed)


def test_no_edited_byte_gives_an_offset_that_is_not_there_or_hides_one(
    chance: random.Random, figure: Callable[[str], None]
) -> None:
    whole = {name: len(positions(Folder(data=data).read())) for name, data in SAMPLE_BYTES.items()}
    told = 0

    for _ in range(MUTANTS // 2):
        name = chance.choice(FLINK_NAMES)
        mutant = _edited(SAMPLE_BYTES[name], chance)
        read = _read(mutant)
        _assert_there(mutant, read)
        told += _told(read)
        if not _told(read):
            assert isinstance(read, Checkpoint)
            assert len(positions(read)) == whole[name], (name, mutant)
    figure(f"{told} of {MUTANTS // 2} savepoints with edited bytes were found damaged")


def test_no_moved_byte_gives_an_offset_that_is_not_there(chance: random.Random, figure: Callable[[str], None]) -> None:
    told = 0

    for _ in range(MUTANTS // 2):
        name, other = chance.choice(FLINK_NAMES), chance.choice(FLINK_NAMES)
        mutant = _moved(SAMPLE_BYTES[name], SAMPLE_BYTES[other], chance)
        read = _read(mutant)
        _assert_there(mutant, read)
        told += _told(read)
    figure(f"{told} of {MUTANTS // 2} savepoints with moved bytes were found damaged")


@with_cases("name", FLINK_NAMES)
def test_a_file_cut_anywhere_is_an_error_that_names_the_byte_or_loses_no_offset(name: str) -> None:
    data = SAMPLE_BYTES[name]
    whole = positions(Folder(data=data).read())
    properties = data.index(b"\xac\xed\x00\x05")

    for length in range(0, len(data), STRIDE):
        read = _read(data[:length])
        if length < properties + 4:
            assert isinstance(read, CheckpointError)
            assert "byte " in read.problem
            assert "No position was read." in read.problem
        else:
            assert isinstance(read, Checkpoint)
            assert positions(read) == whole


def test_what_is_no_savepoint_is_said_to_be_none() -> None:
    for data in (b"", b"\x49\x60", b"PAR1 and more", b"{}"):
        with pytest.raises(CheckpointError, match="a Flink savepoint"):
            Folder(data=data).read()
    with pytest.raises(NotACheckpointError, match="byte 0: expected the magic number 4960672d, found 50415231"):
        Folder(data=b"PAR1 and more").read()


@with_cases(("version", "told"), [(3, "older than Flink"), (7, "of a later Flink"), (-1, "older")])
def test_an_unknown_version_is_named(version: int, told: str) -> None:
    with pytest.raises(CheckpointError, match=f"byte 4: expected version 4 to 6, found version {version}, .*{told}"):
        Folder(data=metadata(version=version)).read()


@with_cases("claimed", [2**31 - 1, -1])
@with_cases("name", FLINK_NAMES)
def test_no_length_of_gigabytes_is_believed(name: str, claimed: int) -> None:
    data = SAMPLE_BYTES[name]
    tracemalloc.start()
    try:
        for at in range(0, data.index(b"\xac\xed\x00\x05"), 3 * STRIDE):
            mutant = data[:at] + integer(claimed) + data[at + 4 :]
            _assert_there(mutant, _read(mutant))
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_keyed_state_nested_without_end_is_refused() -> None:
    nested = (b"\x08" + bytes(16) + integer(1)) * 5_000
    good = metadata(kafka_source({0: 5}))
    at = good.index(b"\xac\xed\x00\x05") - 10

    with pytest.raises(CheckpointError, match="nested at most 8 times"):
        Folder(data=good[:at] + nested + good[at:]).read()


OPERATORS = struct.pack(">iiqii", 0x4960672D, 4, 1, 0, 200_000) + bytes(29 * 200_000)
MILLIONS = operator_handle({"SourceReaderState": range(1_000_001)}, b"\0")


@with_cases(
    ("data", "words"),
    [
        (OPERATORS, "at most 100,000 operators"),
        (metadata(Op(subtasks=[subtask(0, MILLIONS)])), "at most 1,000,000 elements of a state, found 1,000,001"),
    ],
    ids=["operators", "elements"],
)
def test_more_than_any_savepoint_has_is_refused_rather_than_held(data: bytes, words: str) -> None:
    with pytest.raises(CheckpointError, match=words):
        Folder(data=data).read()


def test_more_elements_than_any_source_has_are_not_held_and_it_is_said() -> None:
    many = operator_handle({"SourceReaderState": range(100, 200_101)}, inline(bytes(200_200)))

    read = Folder(data=metadata(Op(subtasks=[subtask(0, many)]))).read()
    assert "at most 200,000 elements of sources and sinks" in " ".join(each.message for each in read.problems)
    assert [source.positions for source in read.sources] in ([], [()])


def test_coordinators_larger_than_any_job_has_are_not_held_and_it_is_said() -> None:
    large = enumerator_v2([("orders", partition, 0) for partition in range(300_000)])
    sources = [replace(kafka_source({0: 5}, uid=uid), coordinator=large) for uid in ("one", "two")]

    read = Folder(data=metadata(*sources, version=5)).read()
    assert "The coordinator of operator 'two' is not read" in " ".join(each.message for each in read.problems)
    assert [source.positions[0].offset for source in read.sources] == [5, 5]
