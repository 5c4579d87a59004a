"""What a plan requires of the cutover: nothing is written unless the old logs stand still, and are copied."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from offsetwise.apply.recheck import recheck
from offsetwise.apply.recheck.cutover import cutover_again
from offsetwise.apply.run import apply, dry_run, require_held
from offsetwise.cli.render import applied as render_apply
from offsetwise.errors import ApplyError, StalePlanError, exit_code
from offsetwise.model import (
    Cluster,
    Cutover,
    CutoverRequirement,
    GroupBefore,
    GroupState,
    LateCommit,
    Outcome,
    Plan,
)
from tests.apply.worlds import TO_GROUP, Stage, stage
from tests.cutovers import GROWING, OPEN_TRANSACTION, STILL, STILL_MS, seen
from tests.plan.scene import drafted
from tests.with_cases import with_cases

PLAN: Final = drafted()
FROZEN: Final = CutoverRequirement(states=("frozen",), still_for_ms=STILL_MS)
COPIED: Final = CutoverRequirement(states=("copied",), still_for_ms=STILL_MS)
BOTH: Final = CutoverRequirement(states=("frozen", "copied"), still_for_ms=STILL_MS)


def requiring(folder: Path, required: CutoverRequirement | None, *shown: Cutover) -> Stage:
    """Lay out a plan for a group that requires something of the old logs, and what watching them shows."""
    staged = stage(folder, TO_GROUP)
    staged.plan = replace(staged.plan, requirements=replace(staged.plan.requirements, cutover=required))
    staged.world.cutovers = [*shown]
    return staged


def nothing_written(staged: Stage) -> bool:
    return not staged.groups.commits and not [*staged.folder.glob("receipt.json*")]


@with_cases(
    ("required", "shown"),
    [
        (FROZEN, seen([STILL, STILL])),
        (FROZEN, seen([STILL], copied=[False])),
        (COPIED, seen([STILL, STILL], copied=[True, True])),
        (BOTH, seen([STILL], copied=[True])),
    ],
)
def test_a_plan_is_applied_once_the_old_logs_are_as_it_requires(
    tmp_path: Path, required: CutoverRequirement, shown: Cutover
) -> None:
    staged = requiring(tmp_path, required, shown, shown)

    require_held(staged.order(), dry_run(staged.order(), staged.tools()), staged.receipt)
    apply(staged.order(), staged.receipt, staged.tools())

    assert staged.groups.commits
    assert not staged.world.cutovers, "it is looked at by the dry run, and again before anything is written"


GREW = (
    "The plan requires that the logs of its topics on the old cluster have stood still for 10 s, but orders-1 is open. "
    "It grew by 50 offsets since the first look, to 150. Its leader remembers producers 4,001, 7, the last to write "
    "first."
)


@with_cases(
    ("required", "shown", "told"),
    [
        (FROZEN, seen([STILL, GROWING]), GREW),
        (FROZEN, seen([GROWING, [(100, 100), (160, 160)], GROWING]), "to 160. Its leader remembers producers 4,001, 7"),
        (FROZEN, seen([GROWING, GROWING]), "1 more partition came no further."),
        (
            FROZEN,
            seen([STILL, OPEN_TRANSACTION]),
            "orders-1 is draining. It has ended at 100 for 10 s, and a transaction",
        ),
        (
            COPIED,
            seen([STILL, STILL], copied=[True, False]),
            "orders-1 is frozen. It has ended at 100 for 10 s. The last record",
        ),
        (BOTH, seen([STILL, STILL]), "and every record of them is on the new cluster, but orders-0 is frozen."),
    ],
)
def test_nothing_is_written_while_the_old_logs_are_not_as_the_plan_requires(
    tmp_path: Path, required: CutoverRequirement, shown: Cutover, told: str
) -> None:
    staged = requiring(tmp_path, required, shown, shown)

    with pytest.raises(StalePlanError) as tried:
        require_held(staged.order(), dry_run(staged.order(), staged.tools()), staged.receipt)
    with pytest.raises(StalePlanError) as refused:
        apply(staged.order(), staged.receipt, staged.tools())

    assert told in refused.value.problem
    assert tried.value.problem == refused.value.problem
    assert "Nothing was written." in refused.value.problem
    assert "`offsetwise cutover -m FILE --plan PLAN --watch`" in refused.value.fix
    assert exit_code(refused.value) == 3
    assert nothing_written(staged)


def test_an_end_that_nobody_tells_is_no_log_that_stands_still(tmp_path: Path) -> None:
    unknown = seen([STILL, [(100, 100), (None, None)]])
    staged = requiring(tmp_path, FROZEN, unknown)

    with pytest.raises(ApplyError) as refused:
        apply(staged.order(), staged.receipt, staged.tools())

    assert "orders-1 is open. Where the log ends is not known: its leader did not say." in refused.value.problem
    assert exit_code(refused.value) == 1
    assert nothing_written(staged)


def test_commits_that_came_while_the_logs_were_watched_make_the_plan_stale(tmp_path: Path) -> None:
    late = LateCommit(topic="orders", partition=0, planned=90, committed=95)
    staged = requiring(tmp_path, FROZEN, seen([STILL], late=(late,)))
    then = GroupBefore(group="etl", state="Empty", offsets=())
    staged.plan = replace(staged.plan, requirements=replace(staged.plan.requirements, old_group=then))
    staged.world.change(Cluster.OLD, groups=(GroupState(name="etl", state="Empty", type="Classic"),))

    with pytest.raises(StalePlanError) as refused:
        apply(staged.order(), staged.receipt, staged.tools())

    assert "orders-0: the group has committed 95 on the old cluster; when the plan was drafted, 90." in str(
        refused.value
    )
    assert "draft the plan again" in refused.value.fix
    assert nothing_written(staged)


def test_nobody_waits_for_the_old_logs_of_a_plan_that_is_stale_anyway(tmp_path: Path) -> None:
    staged = requiring(tmp_path, FROZEN, seen([STILL]))
    staged.world.change(Cluster.NEW, cluster_id="other")

    with pytest.raises(StalePlanError, match="other"):
        apply(staged.order(), staged.receipt, staged.tools())
    assert len(staged.world.cutovers) == 1


def test_a_plan_that_requires_nothing_watches_nothing(tmp_path: Path) -> None:
    staged = requiring(tmp_path, None)

    assert not any(each.cutover for each in recheck(staged.plan, staged.world))
    apply(staged.order(), staged.receipt, staged.tools())
    assert staged.groups.commits


class Watched:
    """What watching shows."""

    def __init__(self, shown: Cutover) -> None:
        self.shown = shown

    def cutover(self, plan: Plan) -> Cutover:  # noqa: ARG002 - as `Readers` have it
        return self.shown


@given(
    logs=st.lists(
        st.lists(st.sampled_from([(100, 100), (101, 101), (101, 100), (None, None)]), min_size=2, max_size=14),
        min_size=1,
        max_size=3,
    ),
    copied=st.lists(st.booleans(), min_size=3, max_size=3),
    required=st.sampled_from([FROZEN, COPIED, BOTH]),
)
def test_it_is_met_only_where_every_look_of_the_time_found_the_same_ends_and_everything_is_copied(
    logs: list[list[tuple[int | None, int | None]]],
    copied: list[bool],
    required: CutoverRequirement,
) -> None:
    looks = max(map(len, logs))
    padded = [[*[ends[0]] * (looks - len(ends)), *ends] for ends in logs]
    plan = replace(PLAN, requirements=replace(PLAN.requirements, cutover=required))

    (result,) = cutover_again(plan, Watched(seen(padded, copied=copied)))

    newest = [ends[-11:] for ends in padded]
    same = all(len(ends) == 11 and len({end for end, _ in ends}) == 1 for ends in newest)
    known = all(ends[-1][0] is not None and ends[-1][0] == ends[-1][1] for ends in newest)
    met = same and known and (required is FROZEN or all(copied[: len(logs)]))
    assert result.cutover
    assert (result.outcome is Outcome.PASSED) == met


@with_cases(
    ("shown", "told"),
    [
        (
            seen([STILL]),
            "✓ met As the plan requires, the logs of its topics on the old cluster have stood still",
        ),
        (
            seen([GROWING]),
            "! not met The plan requires that the logs of its topics on the old cluster",
        ),
        (seen([[(100, 100), (None, None)]]), "? unknown The plan requires that the logs of its topics"),
    ],
)
def test_a_dry_run_says_to_a_person_whether_it_is_met(tmp_path: Path, shown: Cutover, told: str) -> None:
    staged = requiring(tmp_path, FROZEN, shown)
    out = Console(file=StringIO(), width=200)

    render_apply.dry_run(out, dry_run(staged.order(), staged.tools()))

    assert isinstance(out.file, StringIO)
    assert told in out.file.getvalue()
