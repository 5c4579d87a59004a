"""A position is applied only with a proof that can be made again: what lies between its records is counted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import offsetwise
from offsetwise import files
from offsetwise.apply.readers import RecordPlace
from offsetwise.apply.recheck import recheck, require
from offsetwise.apply.recheck.proofs import EDGE, MOST, proofs_again
from offsetwise.errors import StalePlanError
from offsetwise.model import (
    Cluster,
    Exactness,
    IsolationLevel,
    LogRange,
    Neighbour,
    Outcome,
    Override,
    PartitionState,
    Plan,
    PlannedPosition,
    Proof,
    RestartPoint,
    Side,
    TopicPartition,
)
from offsetwise.plan.reading import read_plan
from offsetwise.plan.refusals import FROM_FILES, without_proof
from offsetwise.position import offset_of
from offsetwise.review.risk import plan_risks
from offsetwise.translation.identify import Records
from tests.apply.plans import POLLUTED, SHIFT, drafted
from tests.apply.worlds import MADE_OF, SALT, Stage, identity, proof, record, stage
from tests.commands import call
from tests.plugins.spark.folders import SAMPLES
from tests.with_cases import with_cases

RECORDED = Path(offsetwise.__file__).parent / "sample"
PROVEN = (Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.PRESERVED)


def neighbour(of: PlannedPosition, old: int) -> Neighbour:
    return Neighbour(
        old_offset=old,
        new_offset=old + SHIFT,
        timestamp_ms=None,
        identity=identity(of.topic, of.partition, old),
        side=Side.READ,
    )


def moved(staged: Stage, **changes: Any) -> None:
    """Change the first position of a plan."""
    first, *rest = staged.plan.positions
    restart = first.restart
    if "new_offset" in changes:
        restart = (replace(restart[0], new=changes["new_offset"]), *restart[1:])
    staged.plan = replace(staged.plan, positions=(replace(first, restart=restart, **changes), *rest))


def failing(staged: Stage) -> str:
    with pytest.raises(StalePlanError) as refused:
        require("ab" * 32, recheck(staged.plan, staged.world))
    return refused.value.problem


@with_cases("exactness", PROVEN)
@with_cases("how", ["no proof", "a proof without records"])
def test_a_proven_position_without_records_is_refused(tmp_path: Path, exactness: Exactness, how: str) -> None:
    staged = stage(tmp_path)
    first = staged.plan.positions[0]
    none = None if how == "no proof" else replace(proof(first), before=None, after=None)
    moved(staged, exactness=exactness, proof=none, new_offset=offset_of(first.new_offset) + 100)

    assert "PROOF_NOT_REPEATED: " in failing(staged)
    assert "has no records that prove" in failing(staged)
    assert without_proof(staged.plan.positions[0]) is not None


@with_cases("shape", ["both records", "none above", "none below"])
@with_cases("skipped", [1, 2, 100, 999])
def test_two_genuine_pairs_apart_that_skip_what_lies_between_are_refused(
    tmp_path: Path, skipped: int, shape: str
) -> None:
    staged = stage(tmp_path)
    first = staged.plan.positions[0]
    old = offset_of(first.old_offset or 0)
    apart = replace(proof(first), after=neighbour(first, old + skipped))
    if shape != "both records":
        apart = replace(apart, after=None) if shape == "none above" else replace(apart, before=None)
    moved(staged, proof=apart, new_offset=old + SHIFT + skipped)

    assert f"{skipped} record" in failing(staged)
    assert "that the job has not read" in failing(staged)


@with_cases("again", [1, 100])
def test_a_position_below_records_that_were_read_is_refused_where_the_plan_says_that_none_comes_twice(
    tmp_path: Path, again: int
) -> None:
    staged = stage(tmp_path)
    first = staged.plan.positions[0]
    old = offset_of(first.old_offset or 0)
    again = min(again, old - 1)
    apart = replace(proof(first), before=neighbour(first, old - again - 1))
    moved(staged, proof=apart, new_offset=old + SHIFT - again, replay=0)
    assert f"{again} record" in failing(staged)
    assert "that the job has read" in failing(staged)

    moved(staged, replay=again)
    assert [each for each in recheck(staged.plan, staged.world) if each.outcome is not Outcome.PASSED] == []


def test_what_lies_between_and_is_on_one_log_only_is_no_contradiction(tmp_path: Path) -> None:
    """Markers of transactions, records that were never copied, other producers' records: none is unread and below."""
    staged = stage(tmp_path)
    first = staged.plan.positions[0]
    old = offset_of(first.old_offset or 0)
    moved(staged, proof=replace(proof(first), before=neighbour(first, old - 4)))
    places = [(Cluster.NEW, (first.new_topic_partition, old + SHIFT - each)) for each in (1, 2, 3)]
    staged.world.missing_records.update(places)
    assert failing_none(staged)

    staged.world.missing_records.clear()
    staged.world.other_records.update(places)
    assert failing_none(staged)


def failing_none(staged: Stage) -> bool:
    return all(each.outcome is Outcome.PASSED for each in recheck(staged.plan, staged.world))


def test_a_proof_whose_records_lie_too_far_apart_is_not_made_again(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    first = staged.plan.positions[0]
    old = offset_of(first.old_offset or 0)
    far = MOST + 2
    staged.world.change_logs(Cluster.OLD, hw=old + 2 * far, lso=old + 2 * far)
    staged.world.change_logs(Cluster.NEW, hw=old + 2 * far, lso=old + 2 * far)
    moved(staged, proof=replace(proof(first), after=neighbour(first, old + far)), new_offset=old + SHIFT + far)

    assert f"{far - 1:,} offsets lie between" in failing(staged) or f"{far:,} offsets lie between" in failing(staged)


def test_an_adjacent_proof_costs_no_further_reading(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    recheck(staged.plan, staged.world)

    assert len(staged.world.asked) == len(set(staged.world.asked)) == 4 * len(staged.plan.positions)


@with_cases("shape", ["both records", "none above", "none below"])
@with_cases("below", [1, 3, 40])
@with_cases("above", [0, 2, 30])
def test_a_proof_whose_records_lie_apart_costs_one_further_window_on_each_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: int, above: int, shape: str
) -> None:
    """However far apart they are, all that lies between is one range of each log, asked for with all other records."""
    staged = stage(tmp_path)
    first = staged.plan.positions[0]
    old = offset_of(first.old_offset or 0)
    apart = replace(
        proof(first),
        before=None if shape == "none below" else neighbour(first, old - below),
        after=None if shape == "none above" else neighbour(first, old + above),
    )
    moved(staged, proof=apart)
    questions: list[Cluster] = []
    read = staged.world.records

    def counted(side: Cluster, places: Sequence[RecordPlace], **given: Any) -> Mapping[RecordPlace, Records]:
        questions.append(side)
        return read(side, places, **given)

    monkeypatch.setattr(staged.world, "records", counted)

    assert failing_none(staged)
    assert sorted(questions) == sorted(Cluster), "one question for each cluster"
    assert len(staged.world.asked) == len(set(staged.world.asked)), "each record once"
    for side, at, shift in (
        (Cluster.OLD, first.topic_partition, 0),
        (Cluster.NEW, first.new_topic_partition, SHIFT),
    ):
        own = {each.old_offset + shift for each in (apart.before, apart.after) if each and each.old_offset is not None}
        offsets = {offset for of, (of_partition, offset) in staged.world.asked if (of, of_partition) == (side, at)}
        assert own <= offsets
        further = sorted(offsets - own)
        if not further:
            # Nothing lies between one record and the position, so nothing can lie on the wrong side of it.
            assert (shape != "none below" and below == 1) or (shape != "none above" and above == 0)
            continue
        assert further == [*range(further[0], further[-1] + 1)], "one window"
        assert len(further) <= (below + above - 1 if shape == "both records" else EDGE + max(below, above))


def test_a_position_at_the_end_of_an_old_log_needs_no_record_and_one_that_grew_does(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    first = staged.plan.positions[0]
    old = offset_of(first.old_offset or 0)
    empty = replace(first, proof=None, old=LogRange(log_start=old, lso=old, hw=old))
    assert without_proof(empty) is None
    grown = PartitionState(partition=0, log_start=old, lso=old + 1, hw=old + 1)
    assert without_proof(empty, grown) is not None


def test_what_a_person_decided_and_what_is_not_called_proven_needs_no_proof(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    first = replace(staged.plan.positions[0], proof=None)
    decided = Override(offset=first.new_offset, reason="counted by hand", by="ada")
    assert without_proof(replace(first, override=decided)) is None
    assert without_proof(replace(first, exactness=Exactness.BOUNDED)) is None
    assert without_proof(first) is not None


@dataclass(frozen=True)
class Mirrored:
    """An old log and the copy of it that a mirror made in order, with other producers' records and gaps."""

    new: tuple[int | None, ...]
    """By offset the record of the old log (its offset there), a negative number of another producer, None for a gap."""
    old: tuple[bool, ...]
    """By offset whether there is a record: else a marker or a gap."""

    def records(
        self, side: Cluster, places: Sequence[RecordPlace], *, isolation: IsolationLevel, salt: bytes
    ) -> dict[RecordPlace, Records]:
        assert isolation
        assert salt == SALT
        log = self.new if side is Cluster.NEW else [at if there else None for at, there in enumerate(self.old)]
        serials = {place: log[place[1]] for place in places}
        return {place: record("t", 0, serial) for place, serial in serials.items() if serial is not None}


@st.composite
def mirrored(draw: st.DrawFn) -> Mirrored:
    old = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=1, max_size=12))
    new: list[int | None] = []
    for at, there in enumerate(old):
        new += draw(st.lists(st.sampled_from([None, -at - 100]), max_size=2))
        if there and draw(st.sampled_from([True, True, True, False])):
            new.append(at)
    return Mirrored(new=tuple(new), old=tuple(old))


@settings(max_examples=200)
@given(mirrored(), st.data())
def test_of_all_pairs_of_genuine_records_and_all_positions_between_them_none_that_skips_is_confirmed(
    log: Mirrored, data: st.DataObject
) -> None:
    position = drafted_position()
    at = data.draw(st.integers(0, len(log.old)), label="the job's position")
    pairs = [(serial, place) for place, serial in enumerate(log.new) if serial is not None and serial >= 0]
    below = data.draw(st.sampled_from([None, *(pair for pair in pairs if pair[0] < at)]), label="record below")
    above = data.draw(st.sampled_from([None, *(pair for pair in pairs if pair[0] >= at)]), label="record above")
    place = data.draw(
        st.integers(0 if below is None else below[1] + 1, len(log.new) if above is None else above[1]), label="place"
    )
    before, after = (None if pair is None else pair_of(*pair) for pair in (below, above))
    one = replace(
        position,
        topic="t",
        new_topic="t",
        partition=0,
        old_offset=at,
        new_offset=place,
        exactness=Exactness.EXACT,
        replay=0,
        restart=(RestartPoint(batch=0, old=at, new=place),),
        proof=Proof(salt=SALT.hex(), identity=MADE_OF, before=before, after=after),
    )
    logs = {
        side: {TopicPartition("t", 0): PartitionState(partition=0, log_start=0, lso=end, hw=end)}
        for side, end in ((Cluster.OLD, len(log.old)), (Cluster.NEW, len(log.new)))
    }
    plan = replace(drafted_plan(), positions=(one,))

    held = proofs_again(plan, log, logs)

    if all(each.outcome is Outcome.PASSED for each in held):
        skipped = [serial for serial in log.new[:place] if serial is not None and serial >= at]
        again = [serial for serial in log.new[place:] if serial is not None and 0 <= serial < at]
        if (before, after) != (None, None):
            assert (skipped, again) == ([], []), held
        else:
            assert at >= len(log.old), "nothing is unread"
    right = not any(serial is not None and serial >= at for serial in log.new[:place]) and not any(
        serial is not None and 0 <= serial < at for serial in log.new[place:]
    )
    if right and (before or after):
        assert all(each.outcome is Outcome.PASSED for each in held), "a right position is confirmed by any pair"


def pair_of(old: int, new: int) -> Neighbour:
    return Neighbour(old_offset=old, new_offset=new, timestamp_ms=None, identity=identity("t", 0, old), side=Side.READ)


@cache
def drafted_plan() -> Plan:
    return drafted(str(SAMPLES / POLLUTED))


def drafted_position() -> PlannedPosition:
    return replace(drafted_plan().positions[0], override=None)


def test_a_plan_drafted_from_files_says_so_to_its_reviewer_and_to_whoever_applies_it(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    read = ("--comparison", RECORDED / "comparison-payments.json")
    snapshots = ("--snapshots", RECORDED / "old.json", RECORDED / "new.json")
    given = (
        "--migration",
        RECORDED / "migration.yaml",
        "--target",
        "spark-checkpoint",
        "--author",
        "ann",
        "--out",
        out,
    )
    drafted = call("draft", *read, *snapshots, *given)
    assert drafted.code == 0, drafted.err

    plan = read_plan(out.read_bytes(), subject="plan")
    assert plan.from_files is True
    assert json.loads(out.read_text())["format_version"] == "1.1"
    assert FROM_FILES in plan_risks(plan)
    assert FROM_FILES not in plan_risks(replace(plan, from_files=None))
    assert "from_files" not in json.loads(files.dump(replace(plan, from_files=None)))
    key = ("--key", tmp_path / "rea", "--as", "rea")
    assert call("keygen", "--out", tmp_path / "rea", "--as", "rea").code == 0
    assert FROM_FILES in " ".join(call("sign", out, *key, "--out", tmp_path / "approval.json").err.split())
    tried = call("apply", out, "--migration", RECORDED / "migration.yaml")
    assert FROM_FILES in " ".join(tried.err.split())


def test_a_forged_plan_is_not_signed_and_not_approved(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    moved(staged, proof=None)
    (tmp_path / "plan.json").write_text(files.dump(staged.plan))
    assert call("keygen", "--out", tmp_path / "rea", "--as", "rea").code == 0

    ran = call(
        *("sign", tmp_path / "plan.json", "--key", tmp_path / "rea", "--as", "rea"),
        *("--out", tmp_path / "approval.json"),
    )

    assert ran.code == 1
    assert "PROOF_NOT_REPEATED" in ran.err
    assert not (tmp_path / "approval.json").exists()
