"""Every requirement of a plan, held against the world: what changed is stale, what cannot be read is refused too."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.apply.recheck import RecheckResult, recheck, require
from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import (
    Cluster,
    Exactness,
    GroupBefore,
    GroupOffset,
    GroupState,
    IsolationLevel,
    Outcome,
    Override,
)
from offsetwise.position import offset_of
from tests.apply.plans import COPY, IN_PLACE, PENDING, SHIFT
from tests.apply.worlds import GROUP, TO_GROUP, Stage, proof, stage
from tests.with_cases import with_cases


def held(staged: Stage) -> tuple[RecheckResult, ...]:
    return recheck(staged.plan, staged.world)


def not_passed(staged: Stage) -> list[tuple[Outcome, str]]:
    return [(each.outcome, each.told) for each in held(staged) if each.outcome is not Outcome.PASSED]


def required(staged: Stage) -> None:
    require("ab" * 32, held(staged))


def batches(staged: Stage) -> list[int]:
    return sorted(int(path.name) for path in (staged.source / "offsets").iterdir() if path.name.isdigit())


def _next_batch(staged: Stage) -> None:
    last = batches(staged)[-1]
    shutil.copy2(staged.source / "offsets" / str(last), staged.source / "offsets" / str(last + 1))
    shutil.copy2(staged.source / "commits" / str(last), staged.source / "commits" / str(last + 1))


def _other_bytes(staged: Stage) -> None:
    path = staged.source / "offsets" / str(batches(staged)[-1])
    path.write_bytes(path.read_bytes().replace(b'"batchWatermarkMs":', b'"batchWatermarkMs": ', 1))


def _other_query(staged: Stage) -> None:
    (staged.source / "metadata").write_text(json.dumps({"id": "00000000-0000-0000-0000-000000000000"}))
    (staged.source / ".metadata.crc").unlink(missing_ok=True)


def _running(staged: Stage) -> None:
    (staged.source / "offsets" / ".9.0000.tmp").write_bytes(b"")


def _committed_by_another(staged: Stage) -> None:
    key = next(iter(staged.groups.offsets[GROUP]))
    staged.groups.offsets[GROUP][key] = GroupOffset(topic=key.topic, partition=key.partition, offset=8)


def _expired(staged: Stage) -> None:
    staged.groups.offsets[GROUP].clear()


def _old_record_replaced(staged: Stage) -> None:
    first = staged.plan.positions[0]
    assert first.old_offset is not None
    staged.world.other_records.add((Cluster.OLD, (first.topic_partition, offset_of(first.old_offset))))


def _new_record_replaced(staged: Stage) -> None:
    first = staged.plan.positions[0]
    staged.world.other_records.add((Cluster.NEW, (first.new_topic_partition, offset_of(first.new_offset) - 1)))


DRIFT: dict[str, Callable[[Stage], None]] = {
    "another old cluster": lambda s: s.world.change(Cluster.OLD, cluster_id="other"),
    "another new cluster": lambda s: s.world.change(Cluster.NEW, cluster_id="other"),
    "old topic recreated": lambda s: s.world.change_topics(Cluster.OLD, lambda t: replace(t, id="other")),
    "new topic recreated": lambda s: s.world.change_topics(Cluster.NEW, lambda t: replace(t, id="other")),
    "new topic gone": lambda s: s.world.change_topics(Cluster.NEW, lambda _: None),
    "partitions added on new": lambda s: s.world.change_topics(
        Cluster.NEW, lambda t: replace(t, partitions=(*t.partitions, replace(t.partitions[0], partition=99)))
    ),
    "partitions added on old": lambda s: s.world.change_topics(
        Cluster.OLD, lambda t: replace(t, partitions=(*t.partitions, replace(t.partitions[0], partition=99)))
    ),
    "log start passed the place": lambda s: s.world.change_logs(Cluster.NEW, log_start=99_999),
    "log truncated below the position": lambda s: s.world.change_logs(Cluster.NEW, hw=1, lso=1),
    "the query committed another batch": _next_batch,
    "an offset file has other bytes": _other_bytes,
    "another query": _other_query,
    "a query is running": _running,
    "the group has members": lambda s: setattr(s.groups, "state", "Stable"),
    "somebody committed with the group": _committed_by_another,
    "the group's commits expired": _expired,
    "a record on the old cluster is another one": _old_record_replaced,
    "a record on the new cluster is another one": _new_record_replaced,
}

UNREADABLE: dict[str, Callable[[Stage], None]] = {
    "no cluster id": lambda s: s.world.change(Cluster.NEW, cluster_id=None),
    "a topic that may not be described": lambda s: s.world.change_topics(
        Cluster.NEW, lambda t: replace(t, error="the user is not authorised")
    ),
    "a log without an end": lambda s: s.world.change_logs(Cluster.NEW, hw=None, error="no leader"),
    "no checkpoint": lambda s: shutil.rmtree(s.source),
    "a group that cannot be read": lambda s: setattr(s.groups, "error", "the user is not authorised"),
}
GONE: dict[str, Callable[[Stage], None]] = {
    "a record that retention took on the old cluster": lambda s: s.world.change_logs(Cluster.OLD, log_start=99_999),
    "a record that is not there any more": lambda s: s.world.missing_records.update(
        (Cluster.NEW, (p.new_topic_partition, offset_of(p.new_offset))) for p in s.plan.positions
    ),
}


def test_a_plan_holds_in_the_world_it_was_drafted_from(tmp_path: Path) -> None:
    staged = stage(tmp_path)

    required(staged)
    assert len(staged.world.asked) == 4 * len(staged.plan.positions), "both neighbours, on both clusters"


def test_growth_of_log_ends_and_retention_below_the_records_is_no_change(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    lowest = min(p.old_offset or 0 for p in staged.plan.positions)
    staged.world.change_logs(Cluster.NEW, hw=10**12, lso=10**12, log_start=offset_of(lowest) + SHIFT - 1)
    staged.world.change_logs(Cluster.OLD, hw=10**12, lso=10**12, log_start=lowest - 1)

    assert not_passed(staged) == []


@with_cases("drift", DRIFT)
def test_what_changed_makes_the_plan_stale(tmp_path: Path, drift: str) -> None:
    staged = stage(tmp_path)
    DRIFT[drift](staged)

    with pytest.raises(StalePlanError, match="Nothing was written"):
        required(staged)


@with_cases("what", UNREADABLE)
def test_what_cannot_be_read_is_refused_and_not_called_stale(tmp_path: Path, what: str) -> None:
    staged = stage(tmp_path)
    UNREADABLE[what](staged)

    with pytest.raises(ApplyError, match="cannot be read"):
        required(staged)
    assert {outcome for outcome, _ in not_passed(staged)} == {Outcome.UNKNOWN}


@with_cases("what", GONE)
def test_a_proof_that_cannot_be_made_again_is_refused_by_its_code(tmp_path: Path, what: str) -> None:
    staged = stage(tmp_path)
    GONE[what](staged)

    with pytest.raises(StalePlanError, match=r"PROOF_NOT_REPEATED: expected to make the proof .* Nothing was written"):
        required(staged)
    assert {outcome for outcome, _ in not_passed(staged)} == {Outcome.UNKNOWN}


def test_the_difference_is_told_for_each_partition(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    staged.world.change_logs(Cluster.NEW, log_start=99_999)

    told = {(each.topic, each.partition) for each in held(staged) if each.outcome is Outcome.FAILED}
    assert told == {p.new_topic_partition for p in staged.plan.positions}


def test_a_job_that_reads_committed_records_is_held_to_the_last_stable_offset(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    staged.plan = replace(staged.plan, isolation_level=IsolationLevel.READ_COMMITTED)
    staged.world.change_logs(Cluster.NEW, lso=1)

    assert {outcome for outcome, _ in not_passed(staged)} == {Outcome.FAILED}
    assert all(told.endswith("the position, now 1.") for _, told in not_passed(staged))


def test_neighbours_that_do_not_enclose_the_place_prove_nothing(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    first, *rest = staged.plan.positions
    staged.plan = replace(staged.plan, positions=(replace(first, new_offset=offset_of(first.new_offset) - 1), *rest))

    ((outcome, told),) = not_passed(staged)
    assert outcome is Outcome.FAILED
    assert "do not enclose" in told


def pending(folder: Path) -> Stage:
    """Stage a plan whose pending batch is written too, both its ends proven."""
    staged = stage(folder, COPY, sample=PENDING)
    ends = [(one, one.restart[-1]) for one in staged.plan.positions if len(one.restart) > 1]
    assert any(end.old != one.old_offset for one, end in ends)
    positions = tuple(replace(one, end_proof=proof(replace(one, old_offset=end.old))) for one, end in ends)
    staged.plan = replace(staged.plan, positions=positions)
    return staged


def test_of_a_pending_batch_both_ends_are_read_again_on_both_sides_and_both_clusters(tmp_path: Path) -> None:
    staged = pending(tmp_path)

    assert not_passed(staged) == []
    for one in staged.plan.positions:
        for point in one.restart:
            for side, at, shift in (
                (Cluster.OLD, one.topic_partition, 0),
                (Cluster.NEW, one.new_topic_partition, SHIFT),
            ):
                assert (side, (at, offset_of(point.old) + shift)) in staged.world.asked
                if point.old:
                    assert (side, (at, offset_of(point.old) - 1 + shift)) in staged.world.asked


@with_cases("side", Cluster)
@with_cases("below", [0, 1], ids=["at the end", "below the end"])
def test_another_record_at_the_end_of_a_pending_batch_makes_the_plan_stale(
    tmp_path: Path, side: Cluster, below: int
) -> None:
    staged = pending(tmp_path)
    one = next(each for each in staged.plan.positions if each.restart[-1].old > offset_of(each.restart[0].old) + 1)
    place = offset_of(one.restart[-1].old) - below + (SHIFT if side is Cluster.NEW else 0)
    staged.world.other_records.add(
        (side, (one.new_topic_partition if side is Cluster.NEW else one.topic_partition, place))
    )

    ((outcome, told),) = not_passed(staged)
    assert outcome is Outcome.FAILED
    assert f"the record at {place} is another one than was reviewed" in told


def test_neighbours_that_do_not_enclose_the_end_of_a_batch_prove_nothing(tmp_path: Path) -> None:
    staged = pending(tmp_path)
    first, *rest = staged.plan.positions
    begin, end = first.restart
    assert end.new is not None
    moved = replace(first, restart=(begin, replace(end, new=offset_of(end.new) + 1)))
    staged.plan = replace(staged.plan, positions=(moved, *rest))

    ((outcome, told),) = not_passed(staged)
    assert outcome is Outcome.FAILED
    assert f"end of batch {end.batch}: the plan's neighbours on the new cluster do not enclose" in told


def test_a_persons_own_place_need_not_lie_between_the_records(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    first, *rest = staged.plan.positions
    own = Override(offset=5, reason="agreed", by="somebody")
    moved = replace(first, new_offset=5, override=own, restart=(), exactness=Exactness.UNKNOWN)
    staged.plan = replace(staged.plan, positions=(moved, *rest))

    assert not_passed(staged) == []


def test_a_topic_that_the_plan_does_not_require_is_not_written_to(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    wanted = staged.plan.requirements
    staged.plan = replace(staged.plan, requirements=replace(wanted, new=replace(wanted.new, topics=())))

    with pytest.raises(StalePlanError):
        required(staged)


def test_a_topic_that_nobody_held_to_anything_is_told_as_that(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    wanted, used = staged.plan.requirements, {p.topic for p in staged.plan.positions}
    staged.plan = replace(
        staged.plan,
        requirements=replace(wanted, old=replace(wanted.old, topics=())),
        positions=tuple(replace(p, proof=None) for p in staged.plan.positions),
    )

    found = not_passed(staged)
    assert {outcome for outcome, _ in found} == {Outcome.UNKNOWN}
    assert len(found) == len(used)
    assert all("does not say which topic it was. It is on the old cluster." in told for _, told in found)


def test_a_record_at_the_end_of_a_log_is_not_there(tmp_path: Path) -> None:
    """The end is the offset that the next record will get."""
    staged = stage(tmp_path)
    last = max(p.old_offset or 0 for p in staged.plan.positions)
    unknown = tuple(replace(p, old=replace(p.old, hw=None, lso=None)) for p in staged.plan.positions)
    staged.plan = replace(staged.plan, positions=unknown)
    staged.world.change_logs(Cluster.OLD, hw=last, lso=last)

    assert any(f"the record at {last:,} proves the position, and is not in" in told for _, told in not_passed(staged))


def test_a_target_that_has_begun_is_left_to_its_writer(tmp_path: Path) -> None:
    staged = stage(tmp_path, IN_PLACE, TO_GROUP)
    _other_bytes(staged)
    _committed_by_another(staged)

    made = recheck(staged.plan, staged.world, begun=(IN_PLACE, TO_GROUP))
    assert all(each.outcome is Outcome.PASSED for each in made)


def test_the_group_that_a_plan_was_drafted_from_must_not_have_moved_on(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    offsets = tuple((p.topic, p.partition, offset_of(p.old_offset or 0)) for p in staged.plan.positions)
    wanted = replace(staged.plan.requirements, old_group=GroupBefore(group="old-etl", state="Empty", offsets=offsets))
    staged.plan = replace(staged.plan, requirements=wanted)
    now = tuple(GroupOffset(topic=t, partition=p, offset=offset) for t, p, offset in offsets)
    staged.world.change(Cluster.OLD, groups=(GroupState(name="old-etl", state="Empty", offsets=now),))
    assert not_passed(staged) == []

    later = (replace(now[0], offset=now[0].offset + 1), *now[1:])
    staged.world.change(Cluster.OLD, groups=(GroupState(name="old-etl", state="Empty", offsets=later),))
    ((outcome, told),) = not_passed(staged)
    assert outcome is Outcome.FAILED
    assert str(now[0].topic_partition) in told


def test_the_records_are_not_read_where_something_differs_already(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    staged.world.change(Cluster.NEW, cluster_id="other")
    held(staged)

    assert staged.world.asked == []


def test_a_young_file_is_told_as_a_running_query(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    _running(staged)
    os.utime(staged.source / "offsets" / ".9.0000.tmp", (1, 1))
    assert not_passed(staged) == [], "an old one is a leftover"


@with_cases("drift", ["a query is running", "the group has members"])
def test_somebody_at_work_is_to_be_stopped_and_the_plan_stays_good(tmp_path: Path, drift: str) -> None:
    staged = stage(tmp_path)
    DRIFT[drift](staged)

    with pytest.raises(StalePlanError) as caught:
        required(staged)
    assert caught.value.fix.startswith("Stop the query and every member of the group")
