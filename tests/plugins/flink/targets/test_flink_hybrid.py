"""A HybridSource that has come to its topic keeps the positions of a KafkaSource inside its own state."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.errors import ApplyError, OffsetwiseError
from offsetwise.model import Checkpoint
from offsetwise.plugins.flink.targets.edit import edit_savepoint
from offsetwise.plugins.flink.targets.savepoint_without_sources.drop import without_sources
from offsetwise.position import offset_of
from offsetwise.targets.moves import Move
from tests.gates import PART
from tests.plugins.flink import files as flink
from tests.plugins.flink.files import Op, codes, positions
from tests.plugins.flink.targets.edits import edit, read
from tests.with_cases import with_cases

RECORDED: Final = Path(__file__).parents[3] / "data" / "hybrid-kafka"
VERSIONS: Final = ("flink-1.20.3", "flink-2.2.0")
READER: Final = "SourceReaderState"
SEED: Final = 20261130
MUTANTS: Final = 10_000 // PART
Offsets = Mapping[tuple[str, int], int]
"""By topic and partition."""

topics = st.from_regex(r"[a-z][a-z0-9._-]{0,20}", fullmatch=True)
offsets = st.dictionaries(st.tuples(topics, st.integers(0, 200)), st.integers(0, 2**62), min_size=1, max_size=6)


def _read(data: bytes) -> Checkpoint:
    return read({"_metadata": data})


def _element(key: tuple[str, int], offset: int, number: int) -> bytes:
    split = flink.kafka_split(*key, offset)
    name = flink.utf(f"{key[0]}-{key[1]}")
    return flink.versioned(flink.integer(number) + name + flink.integer(0) + flink.integer(len(split)) + split)


def _savepoint(of: Offsets, *, number: int, version: int, coordinated: int | None = None) -> bytes:
    inner = flink.listed(of, version)
    outer = flink.integer(number if coordinated is None else coordinated) + flink.integer(version)
    elements = [_element(key, offset, number) for key, offset in of.items()]
    return flink.metadata(
        Op(
            subtasks=[flink.subtask(0, flink.state(READER, elements))],
            coordinator=flink.coordinator(outer + flink.integer(len(inner)) + inner, 0),
        )
    )


def _edit(data: bytes, move: Callable[[int], int], rename: Callable[[str], str]) -> bytes:
    return edit(data, move=move, rename=rename).files["_metadata"]


@with_cases("name", VERSIONS)
def test_a_recorded_one_is_moved_and_taken_back_to_the_same_bytes(name: str) -> None:
    data = (RECORDED / name / "_metadata").read_bytes()
    read = _read(data)

    there = _edit(data, lambda offset: offset + 77, lambda topic: f"old.{topic}")
    back = _edit(there, lambda offset: offset - 77, lambda topic: topic.removeprefix("old."))

    assert positions(read) == {("flink-orders", 0): 500, ("flink-orders", 1): 500}
    assert codes(read) == []
    assert positions(_read(there)) == {("old.flink-orders", 0): 577, ("old.flink-orders", 1): 577}
    assert b"flink-orders" not in there.replace(b"old.flink-orders", b"")
    assert back == data


@given(of=offsets, number=st.integers(1, 9), version=st.integers(1, 3), by=st.integers(0, 2**61))
def test_it_is_read_and_edited_as_its_kafka_source_alone_would_be(
    of: Offsets, number: int, version: int, by: int
) -> None:
    data = _savepoint(of, number=number, version=version)
    read = _read(data)

    assert positions(read) == of
    assert [source.kind for source in read.sources] == ["kafka"]
    assert codes(read) == []
    there = _edit(data, lambda offset: offset + by, lambda topic: f"{topic}.new")
    assert positions(_read(there)) == {(f"{topic}.new", at): offset + by for (topic, at), offset in of.items()}
    assert _edit(there, lambda offset: offset - by, lambda topic: topic.removesuffix(".new")) == data


def test_without_its_state_it_would_begin_with_its_first_source_so_that_is_not_dropped() -> None:
    data = (RECORDED / "flink-2.2.0" / "_metadata").read_bytes()

    with pytest.raises(ApplyError, match="coordinator of a HybridSource is in operator 'hybrid-source'"):
        without_sources({"_metadata": data}, ["hybrid-source"], uri="savepoint-1")


@given(of=offsets, number=st.integers(1, 9), other=st.integers(1, 9))
def test_readers_and_a_coordinator_of_different_sources_are_damage(of: Offsets, number: int, other: int) -> None:
    read = _read(_savepoint(of, number=number, version=2, coordinated=other))

    assert codes(read) == ([] if number == other else ["CHECKPOINT_DAMAGED"])


def test_before_it_has_come_to_its_topic_it_has_no_position() -> None:
    lines = flink.utf("a file") + flink.long(0) + flink.long(99)
    name = flink.utf("0000000001")
    element = flink.versioned(flink.integer(0) + name + flink.integer(1) + flink.integer(len(lines)) + lines)
    of_files = flink.coordinator(flink.integer(0) + flink.integer(1) + flink.integer(4) + b"file", 0)
    read = _read(flink.metadata(Op(subtasks=[flink.subtask(0, flink.state(READER, [element]))], coordinator=of_files)))

    assert [(source.kind, source.positions) for source in read.sources] == [("other", ())]
    assert codes(read) == []


@with_cases("name", VERSIONS)
def test_no_mutant_is_edited_to_anything_but_the_planned_positions(name: str) -> None:
    rng, data = random.Random(SEED), (RECORDED / name / "_metadata").read_bytes()
    (read,) = _read(data).sources
    wanted = {(at.topic, at.partition): offset_of(at.offset) + 77 for at in read.positions}
    moves = {
        read.id: tuple(
            Move(topic=topic, partition=at, old=offset - 77, new_topic=topic, new=offset)
            for (topic, at), offset in wanted.items()
        )
    }
    refused = edited = 0
    for number in range(MUTANTS):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] = rng.randrange(256)
        try:
            made = edit_savepoint({"_metadata": bytes(changed)}, moves, uri="savepoint-1")
        except OffsetwiseError:
            refused += 1
            continue
        edited += 1
        assert positions(_read(made.files["_metadata"])) == wanted, f"mutant {number} of seed {SEED}"
    assert edited > 0 < refused
