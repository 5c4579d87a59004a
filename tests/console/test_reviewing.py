"""What a reviewer is shown of a plan, as values: order, costs, and what there is to check."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.console.plan.checklist import Looked, checks
from offsetwise.console.plan.panel.position_words import at_most
from offsetwise.console.plan.positions import Attention, cost, headline, rows_of
from offsetwise.console.plan.versions import text
from offsetwise.console.widgets.escaping import BREAK, plain
from offsetwise.model import (
    CheckpointRequirement,
    Exactness,
    GateCheck,
    GroupBefore,
    IsolationLevel,
    LogRange,
    Outcome,
    Plan,
    PlannedPosition,
    TopicRequirement,
)
from offsetwise.plan.drift import Drift, DriftKind
from offsetwise.review.difference import difference
from tests.approval.signed import PLAN
from tests.with_cases import with_cases

FIRST = PLAN.positions[0]
CHECKPOINT = CheckpointRequirement(
    uri="/ckpt", engine="spark", job_id="q", last_planned_batch=6, last_committed_batch=6, files=()
)
MOVED = Drift(kind=DriftKind.CHECKPOINT_MOVED, subject="ckpt, last planned batch", reviewed="6", now="7")


def plan_of(*positions: PlannedPosition) -> Plan:
    return replace(PLAN, positions=positions)


def requiring(*, topics: tuple[TopicRequirement, ...] = (), **changes: object) -> Plan:
    """The plan, with what must still hold changed."""
    wanted = replace(PLAN.requirements, new=replace(PLAN.requirements.new, topics=topics))
    return replace(PLAN, requirements=replace(wanted, **changes))  # type: ignore[arg-type] # of the test's own


def found(plan: Plan, name: str, looked: Looked | None = None) -> GateCheck:
    return next(check for check in checks(plan, looked) if check.name.startswith(name))


def test_unsafe_stands_before_changed_before_inexact_before_proven() -> None:
    proven, changed, bounded, skips, lost = (replace(FIRST, partition=number) for number in range(5))
    bounded = replace(bounded, exactness=Exactness.BOUNDED, replay=21)
    skips = replace(skips, skip=3)
    lost = replace(lost, skip=None, replay=None)
    before = plan_of(proven, replace(changed, reason="other"), bounded, skips, lost)
    after = plan_of(proven, changed, bounded, skips, lost)
    rows = rows_of(after, difference(before, after, digests=("a", "b")))
    assert [(row.position.partition, row.attention) for row in rows] == [
        (3, Attention.UNSAFE),
        (4, Attention.UNSAFE),
        (1, Attention.CHANGED),
        (2, Attention.INEXACT),
        (0, Attention.NOTHING),
    ]
    assert headline(rows) == "5 change; 4 of 5 partitions need a look, shown first"
    assert rows[2].changed == ("reason",)


def test_what_is_not_known_is_never_a_number() -> None:
    known, unknown = rows_of(plan_of(replace(FIRST, skip=2, replay=5), replace(FIRST, partition=1, skip=None)), None)
    assert cost((known,)) == (2, 5, 0)
    assert cost((known, unknown)) == (None, 5, 1)
    assert at_most(FIRST, None) == "?"
    assert at_most(replace(FIRST, exactness=Exactness.BOUNDED), 60) == "≤ 60"
    assert at_most(FIRST, 60) == "60"


def test_partitions_of_two_sources_have_names_of_their_own() -> None:
    rows = rows_of(plan_of(FIRST, replace(FIRST, source="1")), None)
    assert sorted(row.name for row in rows) == ["orders-0@0", "orders-0@1"]


class TestTheChecklist:
    @with_cases(
        ("topics", "outcome"),
        [
            ((TopicRequirement(name="orders", id=None, partitions=1),), Outcome.PASSED),
            ((TopicRequirement(name="orders", id=None, partitions=2),), Outcome.FAILED),
            ((), Outcome.UNKNOWN),
        ],
        ids=["all", "one lacks", "not recorded"],
    )
    def test_every_partition_has_an_offset(self, topics: tuple[TopicRequirement, ...], outcome: Outcome) -> None:
        assert found(requiring(topics=topics), "every partition").outcome is outcome

    @with_cases(
        ("log", "isolation", "outcome"),
        [
            (LogRange(log_start=0, lso=940, hw=1100), IsolationLevel.READ_UNCOMMITTED, Outcome.PASSED),
            (LogRange(log_start=0, lso=940, hw=1100), IsolationLevel.READ_COMMITTED, Outcome.FAILED),
            (LogRange(log_start=951, lso=1100, hw=1100), IsolationLevel.READ_COMMITTED, Outcome.FAILED),
            (LogRange(log_start=None, lso=1100, hw=1100), IsolationLevel.READ_COMMITTED, Outcome.UNKNOWN),
        ],
        ids=["inside", "past the stable end", "before the start", "not read"],
    )
    def test_every_offset_is_inside_its_log(self, log: LogRange, isolation: IsolationLevel, outcome: Outcome) -> None:
        plan = replace(plan_of(replace(FIRST, new=log)), isolation_level=isolation)
        assert found(plan, "every offset").outcome is outcome

    @with_cases(
        ("committed", "name", "outcome"),
        [
            (6, "no batch pending", Outcome.PASSED),
            (5, "query stopped", Outcome.UNKNOWN),
            (None, "query", Outcome.UNKNOWN),
        ],
        ids=["committed", "pending", "not known"],
    )
    def test_a_pending_batch_leaves_it_open_whether_the_query_stopped(
        self, committed: int | None, name: str, outcome: Outcome
    ) -> None:
        plan = requiring(checkpoint=replace(CHECKPOINT, last_committed_batch=committed))
        assert found(plan, name).outcome is outcome

    @with_cases(
        ("state", "outcome"),
        [("EMPTY", Outcome.PASSED), ("Stable", Outcome.FAILED), (None, Outcome.UNKNOWN)],
        ids=["empty", "members", "not read"],
    )
    def test_a_group_has_no_members(self, state: str | None, outcome: Outcome) -> None:
        plan = requiring(groups=(GroupBefore(group="etl", state=state, offsets=()),))
        assert found(plan, "group etl").outcome is outcome

    def test_fresh_is_not_known_until_somebody_looked(self) -> None:
        assert found(PLAN, "fresh").outcome is Outcome.UNKNOWN
        assert found(PLAN, "fresh", Looked(drifts=(), at="12:00")).outcome is Outcome.PASSED
        moved = found(PLAN, "fresh", Looked(drifts=(MOVED,), at="12:00"))
        assert (moved.outcome, moved.told) == (Outcome.FAILED, "1 thing changed, seen 12:00.")

    def test_the_start_gate_is_told_as_the_plan_has_it(self) -> None:
        check = GateCheck(name="no open transaction", outcome=Outcome.FAILED, told="One is open.")
        assert check in checks(replace(PLAN, gate=(check,)), None)


@given(st.text(max_size=200))
def test_a_remark_is_shown_as_it_was_written_and_nothing_of_it_is_markup(said: str) -> None:
    shown = text(said).replace(BREAK, "")
    lines = [line.replace("\\\\", "\0") for line in shown.split("  \n")]
    assert len(lines) == max(1, len(said.splitlines()))
    bare = [line.replace("\\", "").replace("\0", "\\") for line in lines]
    assert bare == ([plain(line) for line in said.splitlines()] or [""])
    for line in lines:
        assert not any(char in "<>[]`*_#$:" and line[place - 1 : place] != "\\" for place, char in enumerate(line))
