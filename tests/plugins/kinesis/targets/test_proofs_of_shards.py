"""A position in several shards is applied only with a proof that can be made again on the records of both streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from offsetwise.apply.recheck.several import several_again
from offsetwise.model import (
    Cluster,
    CopiedRecord,
    Exactness,
    Outcome,
    PartProof,
    Plan,
    PlannedPosition,
    Proof,
    RestartPoint,
)
from offsetwise.plan.refusals import without_proof
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, ShardPlace, after, at, in_shards
from offsetwise.ports.stretches import ReadStretch, Stretch
from offsetwise.position import OpaquePosition
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.with_cases import with_cases

SALT = bytes(16).hex()


@dataclass(frozen=True)
class Copied:
    """Two old shards, and the new one that a link copied both to: each record by the number of its old shard, and its
    own; None for another producer's. A record's place is its index."""

    old: tuple[int, int]
    new: tuple[tuple[int, int] | None, ...]
    lost: frozenset[tuple[Cluster, int, int]] = frozenset()
    """Records that retention took: cluster, shard, index."""

    def log(self, side: Cluster, partition: int) -> list[str]:
        if side is Cluster.OLD:
            return [f"{partition}-{index}" for index in range(self.old[partition])]
        return [f"other-{index}" if each is None else f"{each[0]}-{each[1]}" for index, each in enumerate(self.new)]

    def stretches(self, side: Cluster, wanted: Sequence[Stretch], *, salt: bytes) -> Sequence[ReadStretch]:
        assert salt.hex() == SALT
        return [self._stretch(side, each) for each in wanted]

    def _stretch(self, side: Cluster, wanted: Stretch) -> ReadStretch:
        log = self.log(side, wanted.partition)
        ends = [each for each in (wanted.first, wanted.final) if isinstance(each, ShardPlace)]
        low = wanted.first.sequence if isinstance(wanted.first, ShardPlace) else None
        high = wanted.final.sequence if isinstance(wanted.final, ShardPlace) else None
        read = [
            (at(index), log[index])
            for index in range(low or 0, len(log) if high is None else min(high + 1, len(log)))
            if (side, wanted.partition, index) not in self.lost
        ]
        below = [each for each in read if self._is_below(each[0], wanted.position)]
        return ReadStretch(
            below=tuple(below),
            above=tuple(each for each in read if each not in below),
            expired=frozenset(each for each in ends if (side, wanted.partition, each.sequence) in self.lost),
        )

    @staticmethod
    def _is_below(record: ShardPlace, place: Any) -> bool:
        return place is None or place == SHARD_END or (place != TRIM_HORIZON and record < place)


def place_of(index: int) -> ShardPlace:
    """Return the place below which so many records lie, as engines say it."""
    return after(index - 1) if index else TRIM_HORIZON


def planned(positions: tuple[int, int], place: ShardPlace, *parts: PartProof, **changes: Any) -> Plan:
    """Plan that the new shard is begun at a place, by a job that has read so many records of each old one."""
    plan = shard_plan(DATA / CHAIN, stream="chain")
    old = in_shards({number: place_of(index) for number, index in enumerate(positions)})
    one = replace(
        plan.positions[0],
        partition=0,
        old_offset=old,
        new_offset=place,
        exactness=Exactness.EXACT,
        replay=0,
        restart=(RestartPoint(batch=None, old=old, new=place),),
        proof=Proof(salt=SALT, identity="partition key and data", parts=parts),
        override=None,
    )
    return replace(plan, positions=(replace(one, **changes),))


def part_of(copied: Copied, shard: int, before: int | None, after_: int | None) -> PartProof:
    return PartProof(partition=shard, before=pair(copied, shard, before), after=pair(copied, shard, after_))


def pair(copied: Copied, shard: int, index: int | None) -> CopiedRecord | None:
    if index is None:
        return None
    return CopiedRecord(old=at(index), new=at(copied.new.index((shard, index))), identity=f"{shard}-{index}")


def held(copied: Copied, plan: Plan) -> set[Outcome]:
    return {each.outcome for each in several_again(plan, copied, lambda place: place)}


@st.composite
def copies(draw: st.DrawFn) -> Copied:
    old = (draw(st.integers(0, 8)), draw(st.integers(0, 8)))
    left = [[(shard, index) for index in range(count)] for shard, count in enumerate(old)]
    new: list[tuple[int, int] | None] = []
    while any(left):
        new += draw(st.sampled_from([[], [], [None]]))
        record = left[draw(st.sampled_from([shard for shard in (0, 1) if left[shard]]))].pop(0)
        if draw(st.sampled_from([True, True, True, False])):
            new.append(record)
    return Copied(old=old, new=tuple(new))


@settings(max_examples=300)
@given(copies(), st.data())
def test_of_all_records_and_all_places_between_them_none_that_skips_or_repeats_is_confirmed(
    copied: Copied, data: st.DataObject
) -> None:
    positions = tuple(data.draw(st.integers(0, count), label="read") for count in copied.old)
    place = data.draw(st.integers(0, len(copied.new)), label="place")
    parts = []
    for shard, index in enumerate(positions):
        there = [(each[1], at_) for at_, each in enumerate(copied.new) if each is not None and each[0] == shard]
        below = data.draw(st.sampled_from([None, *(old for old, new in there if old < index and new < place)]))
        above = data.draw(st.sampled_from([None, *(old for old, new in there if old >= index and new >= place)]))
        parts.append(part_of(copied, shard, below, above))
    plan = planned((positions[0], positions[1]), place_of(place), *parts)
    (one,) = plan.positions

    confirmed = without_proof(one, on_one_topic=False) is None and held(copied, plan) == {Outcome.PASSED}

    skipped = [each for each in copied.new[:place] if each is not None and each[1] >= positions[each[0]]]
    again = [each for each in copied.new[place:] if each is not None and each[1] < positions[each[0]]]
    if confirmed:
        assert (skipped, again) == ([], [])
    elif not skipped and not again:
        assert without_proof(one, on_one_topic=False) is not None, "a right place is confirmed by any records"
        assert not any(each.before or each.after for each in parts)


THREE = Copied(old=(6, 6), new=tuple((shard, index) for index in range(6) for shard in (0, 1)))
"""Both shards were read to their third record: the new one is read to its sixth."""
PARTS = tuple(part_of(THREE, shard, 2, 3) for shard in (0, 1))
RIGHT = planned((3, 3), place_of(6), *PARTS)


def changed(number: int, **changes: Any) -> Plan:
    parts = [replace(each, **changes) if at_ == number else each for at_, each in enumerate(PARTS)]
    return planned((3, 3), place_of(6), *parts)


def test_a_right_proof_is_made_again() -> None:
    assert without_proof(RIGHT.positions[0], on_one_topic=False) is None
    assert held(THREE, RIGHT) == {Outcome.PASSED}


@with_cases("number", [0, 1])
@with_cases("name", ["before", "after"])
@with_cases(
    "change",
    [
        {"identity": "1-5"},
        {"old": at(5)},
        {"old": at(0)},
        {"old": at(99)},
        {"new": at(0)},
        {"new": at(11)},
        {"new": at(99)},
        {"old": after(2)},
        {"new": TRIM_HORIZON},
    ],
    ids=str,
)
def test_no_field_of_a_record_can_be_changed(number: int, name: str, change: dict[str, Any]) -> None:
    record = getattr(PARTS[number], name)
    plan = changed(number, **{name: replace(record, **change)})

    if without_proof(plan.positions[0], on_one_topic=False) is None:
        assert Outcome.FAILED in held(THREE, plan)


def test_records_of_another_shard_prove_nothing() -> None:
    for plan in (changed(0, partition=1), changed(0, partition=7), planned((3, 3), place_of(6), PARTS[0])):
        assert without_proof(plan.positions[0], on_one_topic=False) is not None
    swapped = [replace(each, partition=1 - each.partition) for each in PARTS]
    assert Outcome.FAILED in held(THREE, planned((3, 3), place_of(6), *swapped))


def test_a_proof_of_the_streams_the_other_way_round_is_refused() -> None:
    turned = [
        PartProof(
            partition=each.partition,
            before=replace(each.before, old=each.before.new, new=each.before.old) if each.before else None,
            after=replace(each.after, old=each.after.new, new=each.after.old) if each.after else None,
        )
        for each in PARTS
    ]
    plan = planned((3, 3), place_of(6), *turned)
    assert without_proof(plan.positions[0], on_one_topic=False) is not None or Outcome.FAILED in held(THREE, plan)


@with_cases("moved", [0, 1, 5, 7, 8, 12])
def test_another_place_between_genuine_records_is_refused(moved: int) -> None:
    wide = [part_of(THREE, shard, 0, 5) for shard in (0, 1)]
    plan = planned((3, 3), place_of(moved), *wide)
    refused = without_proof(plan.positions[0], on_one_topic=False) is not None
    assert refused or Outcome.FAILED in held(THREE, plan)
    assert held(THREE, planned((3, 3), place_of(6), *wide)) == {Outcome.PASSED}


@with_cases("side", Cluster)
@with_cases("index", [2, 3])
def test_a_record_that_retention_took_is_unproven_and_can_be_accepted(side: Cluster, index: int) -> None:
    there = index if side is Cluster.OLD else THREE.new.index((0, index))
    lost = replace(THREE, lost=frozenset({(side, 0, there)}))
    found = [each for each in several_again(RIGHT, lost, lambda place: place) if each.outcome is not Outcome.PASSED]

    assert [(each.outcome, each.unproven) for each in found] == [(Outcome.UNKNOWN, RIGHT.positions[0].topic_partition)]


@with_cases("exactness", [Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.PRESERVED])
def test_a_proven_position_without_its_records_is_refused(exactness: Exactness) -> None:
    empty = [PartProof(partition=shard, before=None, after=None) for shard in (0, 1)]
    nothing = Proof(salt=SALT, identity="", parts=tuple(empty))
    for proof in (None, Proof(salt=SALT, identity=""), nothing):
        one = replace(RIGHT.positions[0], exactness=exactness, proof=proof)
        assert without_proof(one, on_one_topic=False) is not None
        assert without_proof(replace(one, exactness=Exactness.BOUNDED), on_one_topic=False) is None
    nothing_below = replace(RIGHT.positions[0], new_offset=TRIM_HORIZON, proof=nothing)
    assert without_proof(nothing_below, on_one_topic=False) is None
    assert Outcome.FAILED in held(THREE, planned((3, 3), TRIM_HORIZON, *empty)), "read records would be read again"
    assert held(THREE, planned((0, 0), TRIM_HORIZON, *empty)) == {Outcome.PASSED}


def test_a_position_that_stays_on_its_stream_is_the_jobs_own() -> None:
    (first, *_) = shard_plan(DATA / CHAIN, stream="chain").positions
    first = replace(first, exactness=Exactness.PRESERVED)
    assert isinstance(first.old_offset, OpaquePosition)
    assert without_proof(first) is None
    assert without_proof(first, on_one_topic=False) is not None

    def elsewhere(place: ShardPlace) -> PlannedPosition:
        assert first.old_offset is not None
        return replace(first, new_offset=place, restart=(replace(first.restart[0], new=place),))

    for place in (after(7), TRIM_HORIZON, SHARD_END, at(1)):
        assert without_proof(elsewhere(place)) is not None
    assert isinstance(first.old_offset, ShardPlace)
    assert without_proof(elsewhere(after(first.old_offset.sequence or 0, 2))) is None, "inside the same aggregate"
