"""One cluster of a DynamicKafkaSource moved in a savepoint: its own bytes as planned, those of the others untouched."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from offsetwise.config import JobTraits
from offsetwise.errors import ApplyError, OffsetwiseError
from offsetwise.model import Checkpoint, StatedJob, Target
from offsetwise.plugins.flink.targets.dynamic import MovedCluster
from offsetwise.plugins.flink.targets.edit import edit_savepoint
from offsetwise.position import offset_of
from offsetwise.targets.moves import Move
from tests.gates import PART
from tests.plan.scene import drafted
from tests.plugins.flink import files as flink
from tests.plugins.flink.files import Op, positions
from tests.plugins.flink.targets.edits import edit, read
from tests.plugins.flink.test_ways import savepoint
from tests.with_cases import with_cases

RECORDED: Final = Path(__file__).parents[3] / "data" / "dynamic-kafka"
VERSIONS: Final = ("flink-2.0.0", "flink-2.2.0")
READER: Final = "SourceReaderState"
SEED: Final = 20261128
MUTANTS: Final = 10_000 // PART
SERVERS: Final = "new-broker-1.example:9092,new-broker-2.example:9092"
WEST: Final = MovedCluster("west", SERVERS)
ASSIGNED, UNASSIGNED = 0, 1
Splits = Mapping[str, Mapping[tuple[str, int], int]]
"""By cluster, topic and partition: an offset."""


def _read(files: Mapping[str, bytes], cluster: str | None = "west") -> Checkpoint:
    return read(files, cluster)


_edit: Final = partial(edit, cluster="west", moved=WEST)


def _element(cluster: str, key: tuple[str, int], offset: int, version: int, *, retained: bool = False) -> bytes:
    kept = b"" if version == 1 else b"\x01" + flink.long(99) if retained else b"\0"
    return flink.versioned(flink.utf(cluster) + kept + flink.integer(0) + flink.kafka_split(*key, offset), version)


def _coordinator(
    splits: Splits, servers: Mapping[str, str], *, written: int, version: int, status: int = ASSIGNED
) -> bytes:
    made = flink.integer(1) + flink.utf("a stream") + flink.integer(len(splits))
    for cluster, its in splits.items():
        topics = sorted({topic for topic, _ in its})
        made += flink.utf(cluster) + flink.integer(len(topics)) + b"".join(map(flink.utf, topics))
        made += flink.utf(servers[cluster])
        if written > 1:
            made += b"\x01" + flink.integer(3) + b"obj" + b"\0"
    made += flink.integer(version) + flink.integer(len(splits))
    for cluster, its in splits.items():
        body = flink.listed(its, version, status)
        made += flink.utf(cluster) + flink.integer(len(body)) + body
    if written > 2:
        gone = flink.listed({("gone", 0): 7}, version)
        made += flink.integer(1) + flink.utf("removed") + flink.long(99) + flink.integer(len(gone)) + gone
    return flink.coordinator(made, written)


def _savepoint(
    splits: Splits, servers: Mapping[str, str], *, written: int = 2, version: int = 3, elements: int = 1
) -> bytes:
    kept = [_element(cluster, key, at, elements) for cluster, its in splits.items() for key, at in its.items()]
    return flink.metadata(
        Op(
            subtasks=[flink.subtask(0, flink.state(READER, kept))],
            coordinator=_coordinator(splits, servers, written=written, version=version),
        ),
        Op(uid="next", subtasks=[flink.subtask(0, flink.state("theirs", [b"kept"]))]),
    )


ADDRESSES: Final = {"west": "old:9092", "east": "east:9092", "söuth": "south:9092"}
TOPICS: Final = st.sampled_from(["orders", "clicks", "a.long-name_of.a.topic"])
ITS: Final = st.dictionaries(st.tuples(TOPICS, st.integers(0, 300)), st.integers(0, 2**62), min_size=1, max_size=5)


@given(
    splits=st.fixed_dictionaries({"east": ITS, "west": ITS, "söuth": ITS}),
    written=st.sampled_from([1, 2, 3]),
    version=st.sampled_from([2, 3]),
    elements=st.sampled_from([1, 2]),
    prefix=st.sampled_from(["", "old.", "a-much-longer-prefix.of.the.copies."]),
    more=st.integers(0, 2**61),
)
def test_exactly_the_bytes_of_the_one_cluster_change(
    splits: Splits, written: int, version: int, elements: int, prefix: str, more: int
) -> None:
    before = _savepoint(splits, ADDRESSES, written=written, version=version, elements=elements)
    its = {(prefix + topic, partition): at + more for (topic, partition), at in splits["west"].items()}
    wanted = _savepoint(
        {**splits, "west": its}, {**ADDRESSES, "west": SERVERS}, written=written, version=version, elements=elements
    )

    made = _edit(before, move=lambda offset: offset + more, rename=lambda topic: prefix + topic)

    assert made.files == {"_metadata": wanted}
    assert len(made.changes["_metadata"]) == len(its)


class TestRecorded:
    @with_cases("name", VERSIONS)
    def test_the_one_cluster_is_moved_and_taken_back_to_the_same_bytes(self, name: str) -> None:
        data = (RECORDED / name / "_metadata").read_bytes()
        read = _read({"_metadata": data})
        (servers,) = {each for each in _addresses(data) if each not in _addresses(_edit(data).files["_metadata"])}

        there = _edit(data, move=lambda offset: offset + 77, rename=lambda topic: f"old.{topic}").files["_metadata"]
        after = _read({"_metadata": there})
        back = _edit(
            there,
            move=lambda offset: offset - 77,
            rename=lambda topic: topic.removeprefix("old."),
            moved=MovedCluster("west", servers),
        )

        moved = {(f"old.{topic}", at): offset + 77 for (topic, at), offset in positions(read).items()}
        assert positions(after) == moved
        assert [source.raw for source in after.sources] == [source.raw for source in read.sources]
        assert back.files == {"_metadata": data}

    @with_cases("name", VERSIONS)
    def test_what_is_not_stated_or_not_there_is_refused(self, name: str) -> None:
        data = (RECORDED / name / "_metadata").read_bytes()
        with pytest.raises(ApplyError, match="DynamicKafkaSource"):
            _edit(data, moved=None)
        with pytest.raises(ApplyError, match="DynamicKafkaSource"):
            _edit(data, moved=MovedCluster("north", SERVERS))

    @with_cases("name", VERSIONS)
    def test_without_a_statement_it_is_read_as_before(self, name: str) -> None:
        held = {"_metadata": (RECORDED / name / "_metadata").read_bytes()}
        (source,) = _read(held, None).sources
        assert (source.kind, source.positions, source.cluster) == ("dynamic-kafka", (), None)
        assert json.loads(source.raw or "").keys() == {"east", "west"}
        assert _read(held, "north") == _read(held, None)

    @with_cases("name", VERSIONS)
    def test_no_mutant_is_edited_to_anything_but_the_planned_positions(self, name: str) -> None:
        rng, data = random.Random(SEED), (RECORDED / name / "_metadata").read_bytes()
        (read,) = _read({"_metadata": data}).sources
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
            held = {"_metadata": bytes(changed)}
            try:
                made = edit_savepoint(held, moves, uri="savepoint-1", moved=WEST)
            except OffsetwiseError:
                refused += 1
                continue
            edited += 1
            assert positions(_read(made.files)) == wanted, f"mutant {number} of seed {SEED}"
            others = [_read(each).sources[0].raw for each in (held, made.files)]
            assert others[0] == others[1], f"mutant {number} of seed {SEED}"
        assert edited > 0 < refused


def _addresses(data: bytes) -> set[str]:
    """Return the addresses of brokers in a recorded savepoint."""
    return {f"127.0.0.1:{each[:5].decode()}" for each in data.split(b"127.0.0.1:")[1:]}


class TestRefusals:
    SPLITS: Final[Splits] = {"west": {("orders", 0): 5}, "east": {("orders", 0): 6}}

    def _of(self, elements: list[bytes], coordinator: bytes) -> bytes:
        return flink.metadata(Op(subtasks=[flink.subtask(0, flink.state(READER, elements))], coordinator=coordinator))

    def test_a_source_whose_coordinator_keeps_nothing_is_refused(self) -> None:
        data = self._of([_element("west", ("orders", 0), 5, 1)], b"\0")
        with pytest.raises(ApplyError, match="without its coordinator's state"):
            _edit(data)

    def test_a_split_of_a_removed_cluster_is_refused(self) -> None:
        known = _coordinator(self.SPLITS, ADDRESSES, written=3, version=3)
        with pytest.raises(ApplyError, match="no longer reads"):
            _edit(self._of([_element("west", ("orders", 0), 5, 2, retained=True)], known))

    def test_a_cluster_that_the_coordinator_does_not_read_is_refused(self) -> None:
        known = _coordinator({"east": {("orders", 0): 6}}, ADDRESSES, written=2, version=3)
        with pytest.raises(ApplyError, match="does not read the cluster 'west'"):
            _edit(self._of([_element("west", ("orders", 0), 5, 1), _element("east", ("orders", 0), 6, 1)], known))

    def test_addresses_that_no_state_can_hold_are_refused(self) -> None:
        for servers in ("brøker:9092", "b" * 70_000):
            with pytest.raises(ApplyError, match="addresses of the new cluster"):
                _edit(_savepoint(self.SPLITS, ADDRESSES), moved=MovedCluster("west", servers))

    @with_cases(
        ("splits", "told"),
        [
            ({"west": {("orders", 0): -2}}, "has no offset for orders-0"),
            ({"west": {("orders", 0): 5, ("orders", 1): -1}}, "has no offset for orders-1"),
        ],
    )
    def test_a_start_that_is_no_offset_is_a_problem_of_the_stated_cluster_only(self, splits: Splits, told: str) -> None:
        held = {"_metadata": _savepoint({**splits, "east": {("orders", 0): 6}}, ADDRESSES)}
        assert told in " ".join(problem.message for problem in _read(held).problems)
        assert not _read(held, "east").problems

    def test_a_partition_that_no_reader_keeps_is_a_problem_of_the_stated_cluster_only(self) -> None:
        known = _coordinator(self.SPLITS, ADDRESSES, written=2, version=3)
        held = {"_metadata": self._of([_element("east", ("orders", 0), 6, 1)], known)}
        assert "no reader keeps a position" in " ".join(problem.message for problem in _read(held).problems)
        assert not _read(held, "east").problems

    def test_a_bounded_source_is_a_problem(self) -> None:
        split = flink.versioned(flink.utf("west") + flink.integer(0) + flink.kafka_split("orders", 0, 5, 9), 1)
        known = _coordinator({"west": {("orders", 0): 5}}, ADDRESSES, written=1, version=2)
        (problem,) = _read({"_metadata": self._of([split], known)}).problems
        assert (problem.code, "is bounded" in problem.message) == ("NO_POSITION", True)

    def test_a_partition_that_the_coordinator_does_not_know_is_damage(self) -> None:
        known = _coordinator({"west": {("orders", 0): 5}}, ADDRESSES, written=1, version=2)
        kept = [_element("west", ("orders", at), 5, 1) for at in (0, 1)]
        (problem,) = _read({"_metadata": self._of(kept, known)}).problems
        assert problem.code == "CHECKPOINT_DAMAGED"

    def test_both_halves_of_the_statement_are_in_the_plan_or_nothing_is_edited(self) -> None:
        assert MovedCluster.of(StatedJob()) is None
        assert MovedCluster.of(StatedJob(dynamic_cluster="west")) is None
        assert MovedCluster.of(StatedJob(dynamic_cluster="west", dynamic_servers=SERVERS)) == WEST


def test_an_unedited_restore_is_predicted_to_go_on_reading_the_old_cluster() -> None:
    made = savepoint()
    assert made.checkpoint is not None
    sources = tuple(replace(source, cluster="west") for source in made.checkpoint.sources)
    plan = drafted(replace(made, checkpoint=replace(made.checkpoint, sources=sources)), Target(kind="flink-savepoint"))
    assert plan.prediction.effect == "unknown"
    assert "goes on reading the old cluster" in plan.prediction.told


@with_cases("stated", [{"dynamic_cluster": "west"}, {"dynamic_servers": SERVERS}])
def test_a_job_states_both_the_cluster_and_the_new_addresses_or_neither(stated: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="stated together"):
        JobTraits.model_validate(stated)
