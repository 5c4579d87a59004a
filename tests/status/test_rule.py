"""The state of a job follows from its evidence: the first row of the table that the evidence meets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import (
    CutoverState,
    JobState,
    Subject,
    SubjectKind,
    Summary,
    Target,
    Turnout,
    UnreadJob,
    Verification,
    VerifiedPosition,
)
from offsetwise.plan.target import target_types
from offsetwise.status.evidence import (
    AppliedEvidence,
    ComparisonEvidence,
    CutoverEvidence,
    JobEvidence,
    PlanEvidence,
)
from offsetwise.status.rule import Rules, status_of
from tests.with_cases import with_cases

NOW: Final = 1_800_000_000_000
HOUR: Final = 3_600_000
RULES: Final = Rules(migration="my file.yaml", now_ms=NOW)
JOB: Final = Subject(kind=SubjectKind.GROUP, name="etl eu")


def summary(**changes: int) -> Summary:
    """Make the numbers of a comparison of four partitions, all proven."""
    names = ("exact", "position_exact", "preserved", "bounded", "claimed", "unknown", "blocked")
    zeros = dict.fromkeys((*names, "raw_wrong", "raw_out_of_range", "raw_skip", "raw_replay"), 0)
    return Summary(partitions=4, **{**zeros, "exact": 4, **changes})


def verified(turnout: Turnout, *, started: bool) -> Verification:
    """Make a look at one target of one position."""
    position = VerifiedPosition(
        target=Target(kind="consumer-group", group="etl eu"),
        source="etl eu",
        topic="orders",
        partition=0,
        planned=950,
        found=950,
        turnout=turnout,
        told="orders-0: the group is there.",
    )
    return Verification(plan_digest="0", verified_at="2027-01-15T08:00:00Z", started=started, positions=(position,))


PLAN: Final = PlanEvidence(
    file="out/plan.json",
    digest="ab",
    drafted_ms=NOW - HOUR,
    drift=(),
    approvers=(),
    approved_ms=None,
    rejection=None,
)
APPROVED: Final = replace(PLAN, approvers=("rea",), approved_ms=NOW - HOUR // 2, approvals=("out/a.approval",))
APPLIED: Final = AppliedEvidence(
    receipt="out/plan.receipt.json",
    ended_ms=NOW - HOUR // 4,
    undone=0,
    steps=1,
    verification=verified(Turnout.CONFIRMED, started=False),
    shows_start=True,
    lag_before=100,
    lag=100,
)
BEGUN: Final = replace(APPLIED, verification=verified(Turnout.MOVED_ON, started=True))
COMPARISON: Final = ComparisonEvidence(taken_ms=NOW - HOUR, summary=summary(), blocking=())
COPIED: Final = CutoverEvidence(state=CutoverState.COPIED, taken_ms=NOW - 1_000, still_ms=90_000)
STOPPED: Final[dict[str, Any]] = {"active": False, "moved_ms": NOW - 2 * HOUR, "activity": "It stands still."}

RUNS: Final[dict[str, Any]] = {"active": True, "activity": "It has members."}
DIFFERENT: Final = replace(APPLIED, verification=verified(Turnout.DIFFERENT, started=True))

TABLE: Final[dict[str, tuple[dict[str, Any], JobState]]] = {
    "nothing known": ({}, JobState.READY),
    "runs": (RUNS, JobState.RUNNING),
    "stopped": (STOPPED, JobState.STOPPED),
    "frozen": (STOPPED | {"cutover": replace(COPIED, state=CutoverState.FROZEN)}, JobState.STOPPED),
    "copied": (STOPPED | {"cutover": COPIED}, JobState.MIRRORED),
    "copied while it runs": (RUNS | {"cutover": COPIED}, JobState.RUNNING),
    "compared": (STOPPED | {"comparison": COMPARISON}, JobState.COMPARED),
    "compared before it moved": (STOPPED | {"moved_ms": NOW, "comparison": COMPARISON}, JobState.STOPPED),
    "compared, and its group has committed others since": (
        STOPPED | {"comparison": replace(COMPARISON, moved=True)},
        JobState.STOPPED,
    ),
    "not all proven": (
        STOPPED | {"comparison": replace(COMPARISON, summary=summary(exact=3, claimed=1))},
        JobState.STOPPED,
    ),
    "comparison blocks": (STOPPED | {"comparison": replace(COMPARISON, blocking=("X",))}, JobState.BLOCKED),
    "planned": (STOPPED | {"comparison": COMPARISON, "plan": PLAN}, JobState.PLANNED),
    "planned, without a comparison": ({"plan": PLAN}, JobState.PLANNED),
    "stale": (STOPPED | {"plan": replace(PLAN, drift=("It moved.", "It grew."))}, JobState.STALE),
    "stale though approved": ({"plan": replace(APPROVED, drift=("It moved.",))}, JobState.STALE),
    "rejected": ({"plan": replace(PLAN, rejection="rea rejected it.")}, JobState.BLOCKED),
    "rejected though approved": ({"plan": replace(APPROVED, rejection="kim rejected it.")}, JobState.BLOCKED),
    "approved": (STOPPED | {"plan": APPROVED}, JobState.APPROVED),
    "being applied": ({"plan": APPROVED, "applied": replace(APPLIED, ended_ms=None)}, JobState.BLOCKED),
    "applied": ({"plan": APPROVED, "applied": APPLIED}, JobState.APPLIED),
    "applied, the plan's source moved": (
        {"plan": replace(APPROVED, drift=("It moved.",)), "applied": APPLIED},
        JobState.APPLIED,
    ),
    "applied, unseen": ({"applied": replace(APPLIED, verification=None)}, JobState.APPLIED),
    "started": ({"applied": replace(BEGUN, lag=101)}, JobState.STARTED),
    "started, lag unknown": ({"applied": replace(BEGUN, lag=None)}, JobState.STARTED),
    "caught up": ({"applied": BEGUN}, JobState.CAUGHT_UP),
    "caught up, old checkpoint gone": (
        {"applied": BEGUN, "unread": UnreadJob(error="E", problem="Gone.", fix="Look.")},
        JobState.CAUGHT_UP,
    ),
    "different": (
        {"applied": replace(APPLIED, verification=verified(Turnout.DIFFERENT, started=True))},
        JobState.DIFFERENT,
    ),
    "rolled back": ({"plan": APPROVED, "applied": replace(APPLIED, undone=1)}, JobState.ROLLED_BACK),
    "rolled back in part": ({"applied": replace(APPLIED, undone=1, steps=2)}, JobState.BLOCKED),
    "unread": ({"unread": UnreadJob(error="E", problem="Gone.", fix="Look.")}, JobState.BLOCKED),
    "topic missing": (STOPPED | {"missing": ("orders (the new cluster)",)}, JobState.BLOCKED),
}


@with_cases(("given_evidence", "state"), TABLE.values(), ids=TABLE)
def test_a_job_is_in_the_state_that_its_evidence_shows(given_evidence: dict[str, Any], state: JobState) -> None:
    status = status_of(JobEvidence(job=JOB, **given_evidence), RULES)

    assert status.state is state
    assert status.evidence
    assert (status.next is None) == (state is JobState.CAUGHT_UP)


def test_every_state_is_reached() -> None:
    assert {state for _, state in TABLE.values()} == {*JobState}


def test_commands_name_the_files_and_jobs_as_a_shell_takes_them() -> None:
    compared = status_of(JobEvidence(job=JOB, **STOPPED, comparison=COMPARISON), RULES)
    approved = status_of(JobEvidence(job=JOB, plan=APPROVED), RULES)

    assert compared.next == "offsetwise draft -m 'my file.yaml' --group 'etl eu' --target …"
    assert approved.next == "offsetwise apply out/plan.json -m 'my file.yaml' --approval out/a.approval --execute"
    copied = status_of(JobEvidence(job=JOB, plan=replace(APPROVED, takes_output=True)), RULES)
    assert (copied.next or "").endswith(" --approval out/a.approval --output … --execute")


def test_more_may_be_left_to_read_where_that_is_said() -> None:
    evidence = JobEvidence(job=JOB, applied=replace(BEGUN, lag_before=0, lag=40))

    assert status_of(evidence, RULES).state is JobState.STARTED
    assert status_of(evidence, replace(RULES, lag_at_most=40)).state is JobState.CAUGHT_UP
    assert status_of(evidence, replace(RULES, lag_at_most=39)).state is JobState.STARTED


maybe = st.booleans()
EVIDENCE = st.builds(
    JobEvidence,
    job=st.just(JOB),
    unread=st.sampled_from([None, UnreadJob(error="E", problem="Gone.", fix="Look.")]),
    missing=st.sampled_from([(), ("orders (the new cluster)",)]),
    topics=st.integers(0, 3),
    active=st.sampled_from([None, True, False]),
    moved_ms=st.one_of(st.none(), st.integers(NOW - 3 * HOUR, NOW + HOUR)),
    activity=st.just("It says so."),
    cutover=st.one_of(st.none(), st.builds(replace, st.just(COPIED), state=st.sampled_from(CutoverState))),
    comparison=st.one_of(
        st.none(),
        st.builds(
            ComparisonEvidence,
            taken_ms=st.integers(NOW - 3 * HOUR, NOW + HOUR),
            summary=st.sampled_from([summary(), summary(exact=2, bounded=2), summary(exact=0, preserved=4)]),
            blocking=st.sampled_from([(), ("X", "Y")]),
        ),
    ),
    plan=st.one_of(
        st.none(),
        st.builds(
            replace,
            st.sampled_from([PLAN, APPROVED]),
            drift=st.sampled_from([(), ("It moved.",)]),
            rejection=st.sampled_from([None, "rea rejected it."]),
        ),
    ),
    applied=st.one_of(
        st.none(),
        st.builds(
            replace,
            st.just(APPLIED),
            ended_ms=st.one_of(st.none(), st.just(NOW)),
            undone=st.integers(0, 1),
            verification=st.one_of(st.none(), st.builds(verified, st.sampled_from(Turnout), started=maybe)),
            shows_start=st.booleans(),
            lag_before=st.one_of(st.none(), st.integers(0, 200)),
            lag=st.one_of(st.none(), st.integers(0, 200)),
        ),
    ),
)


@given(EVIDENCE, st.integers(0, 100))
def test_no_evidence_is_better_than_it_says(evidence: JobEvidence, lag_at_most: int) -> None:
    status = status_of(evidence, replace(RULES, lag_at_most=lag_at_most))
    applied, plan = evidence.applied, evidence.plan

    if status.state in (JobState.STARTED, JobState.CAUGHT_UP):
        assert applied is not None
        assert applied.verification is not None
        assert applied.verification.started
        assert not applied.verification.is_different
    if status.state is JobState.CAUGHT_UP:
        assert applied is not None
        assert applied.lag is not None
        assert applied.lag <= max(applied.lag_before or 0, lag_at_most)
    if status.state in (JobState.APPLIED, JobState.STARTED, JobState.CAUGHT_UP):
        assert applied is not None
        assert applied.ended_ms is not None
        assert not applied.undone
    if status.state in (JobState.PLANNED, JobState.APPROVED):
        assert plan is not None
        assert not plan.drift
        assert plan.rejection is None
        assert evidence.unread is None
        assert not evidence.missing
    if status.state is JobState.APPROVED:
        assert plan is not None
        assert plan.approvers
    if status.state is JobState.COMPARED:
        assert evidence.comparison is not None
        assert evidence.active is not True
        assert not evidence.comparison.blocking
    if status.state is JobState.MIRRORED:
        assert evidence.cutover is not None
        assert evidence.cutover.state is CutoverState.COPIED
    assert status.age_ms >= 0


def test_the_old_lag_is_told_until_the_plan_is_applied_and_again_once_that_is_taken_back() -> None:
    evidence = JobEvidence(job=JOB, old_lag=40, **STOPPED)
    assert status_of(evidence, RULES).old_lag == 40
    assert status_of(replace(evidence, plan=APPROVED, applied=APPLIED), RULES).old_lag is None
    assert status_of(replace(evidence, applied=replace(APPLIED, undone=1)), RULES).old_lag == 40


def test_a_job_that_runs_has_not_stopped() -> None:
    assert status_of(JobEvidence(job=JOB, **STOPPED), RULES).stopped_ms == STOPPED["moved_ms"]
    assert status_of(JobEvidence(job=JOB, **RUNS, moved_ms=NOW), RULES).stopped_ms is None


@with_cases(
    ("shows_start", "lag", "told"),
    [
        (True, 0, "The job began exactly at the planned positions, and has 0 records left"),
        (True, 900, "The job began exactly at the planned positions; it has 900 records left"),
        (
            False,
            0,
            "The job has moved on from the planned positions, none of which it stands before, and has 0 records",
        ),
        (False, 900, "none of which it stands before; it has 900 records left"),
    ],
)
def test_where_a_job_began_is_said_only_where_that_is_seen(shows_start: bool, lag: int, told: str) -> None:
    evidence = JobEvidence(job=JOB, applied=replace(BEGUN, shows_start=shows_start, lag=lag))
    assert told in status_of(evidence, RULES).evidence


def test_a_spark_query_shows_where_it_began_and_groups_and_savepoints_do_not() -> None:
    shown = {each.name for each in target_types() if each.shows_start}
    assert {"spark-checkpoint", "spark-checkpoint-in-place", "seeded-checkpoint"} <= shown
    assert not shown & {"consumer-group", "flink-savepoint", "kcl-leases", "connector"}
