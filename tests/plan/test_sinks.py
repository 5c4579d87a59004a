"""A job's sinks in a plan: what is marked as committed, what is refused, and what the start gate says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from offsetwise import files
from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.findings.sinks import transaction_timeout_refused
from offsetwise.model import (
    Comparison,
    GateCheck,
    OpenPartition,
    Outcome,
    Plan,
    PlannedTransaction,
    Settlement,
    Target,
    Transaction,
    time_of,
)
from offsetwise.plan.drift import DriftKind
from offsetwise.plan.reading import contradictions, read_plan
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sinks.ending import moved
from offsetwise.plan.sinks.gate import PENDING, RESTORE, TIMEOUT
from offsetwise.plan.sinks.marking import COMMITTED_BEFORE, marks_of
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.report import SinkTransactions
from tests.checkpoints import changed
from tests.plan.scene import ETL, STARTING, drafted, migration
from tests.plugins.flink.test_ways import AT_MS, SAVEPOINT, savepoint
from tests.with_cases import with_cases

WITHOUT = Target(kind="flink-savepoint-without-sources")
MOVES = JobTraits(sink_cluster="old", new_sink_cluster="new")
STAYS = JobTraits(sink_cluster="old")
HELD = Transaction(
    operator="sink",
    transactional_id="tx-0-4",
    producer_id=7,
    epoch=1,
    checkpoint_id=4,
    state="received",
    schema="v1",
)
OTHER = replace(HELD, transactional_id="tx-1-4", producer_id=8)


def holding(*held: Transaction) -> Comparison:
    made = savepoint()
    assert made.checkpoint is not None
    saved = replace(flink_details(made.checkpoint).saved, written_ms=AT_MS - 60_000)
    return replace(made, checkpoint=changed(made.checkpoint, saved=saved, transactions=held or (HELD, OTHER)))


def row(
    of: Transaction, decision: Decision = Decision.SETTLED, state: str | None = "CompleteCommit", **more: object
) -> SinkTransaction:
    standard = SinkTransaction(
        transactional_id=of.transactional_id,
        producer_id=of.producer_id,
        epoch=of.epoch,
        held=True,
        held_state=of.state,
        broker_state=state,
        left_ms=None,
        decision=decision,
        reason=f"It is so ({decision}).",
    )
    return replace(standard, **more)  # type: ignore[arg-type]


def said(*rows: SinkTransaction, cluster_id: str | None = "id-sink") -> SinkTransactions:
    return SinkTransactions(
        taken_at="2026-11-21T12:00:00.000Z", cluster_id=cluster_id, complete=True, transactions=rows
    )


SETTLED = said(row(HELD), row(OTHER))


def plan(
    sink: SinkTransactions | None = SETTLED,
    *targets: Target,
    job: JobTraits = MOVES,
    made: Comparison | None = None,
    mark_settled: bool = True,
    cutover_ms: int | None = None,
) -> Plan:
    return drafted(
        made or holding(),
        *(targets or (SAVEPOINT,)),
        job=job,
        sink=sink,
        settings=(("mark_settled", "true"),) if mark_settled else (),
        cutover_ms=cutover_ms,
    )


def check(name: str, of: Plan) -> GateCheck | None:
    return next((each for each in of.gate if each.name == name), None)


def outcome(name: str, of: Plan) -> Outcome | None:
    found = check(name, of)
    return None if found is None else found.outcome


@with_cases("target", [SAVEPOINT, WITHOUT])
def test_28_what_is_settled_and_marked_passes_the_gate_and_stands_in_the_plan(target: Target) -> None:
    made = plan(SETTLED, target, *([ETL] if target == WITHOUT else []))

    assert [(each.transactional_id, each.producer_id, each.epoch, each.reason) for each in made.marks] == [
        ("tx-0-4", 7, 1, "It is so (SETTLED)."),
        ("tx-1-4", 8, 1, "It is so (SETTLED)."),
    ]
    assert made.requirements.sink is not None
    assert (made.requirements.sink.name, made.requirements.sink.cluster_id) == ("old", "id-sink")
    assert [each.state for each in made.requirements.sink.states] == ["CompleteCommit", "CompleteCommit"]
    assert outcome(PENDING, made) is Outcome.PASSED
    restore = check(RESTORE, made)
    assert restore is not None
    assert restore.outcome is Outcome.PASSED
    assert "2 transactions that the savepoint holds will be marked as committed" in restore.told


def test_a_plan_with_marks_is_read_as_it_was_written_and_one_without_keeps_its_bytes() -> None:
    made = plan()
    text = files.dump(made)
    without = files.dump(plan(mark_settled=False))

    assert read_plan(text.encode(), subject="plan.json") == made
    assert json.loads(text)["marks"][0] == {
        "transactional_id": "tx-0-4",
        "producer_id": "7",
        "epoch": 1,
        "reason": "It is so (SETTLED).",
    }
    assert "marks" not in json.loads(without)
    assert "sink" not in json.loads(without)["requirements"]


def test_28_without_the_mark_the_plan_says_that_the_restore_fails_and_how() -> None:
    for made in (plan(mark_settled=False), plan(None, mark_settled=False), plan(SETTLED, ETL, mark_settled=False)):
        found = check(RESTORE, made)
        assert found is not None
        assert found.outcome is Outcome.FAILED
        for words in (
            "SINK_MOVES_WITH_PENDING",
            "2 transactions",
            "InvalidPidMapping",
            "gives up",
            "--set mark_settled=true",
        ):
            assert words in found.told


def test_28_a_sink_that_stays_or_a_job_that_begins_anew_restores_nothing_elsewhere() -> None:
    assert check(RESTORE, plan(mark_settled=False, job=STAYS)) is None
    assert check(RESTORE, plan(SETTLED, STARTING, mark_settled=False)) is None
    assert check(RESTORE, plan(None, mark_settled=False, job=JobTraits())) is None


@with_cases(
    "found", [row(HELD, Decision.UNKNOWN, None), row(HELD, Decision.FOREIGN, "Ongoing", reason="Another producer.")]
)
def test_28_a_sink_cluster_that_does_not_know_what_is_held_is_not_the_one_it_wrote_to(found: SinkTransaction) -> None:
    made = plan(said(found), made=holding(HELD), job=JobTraits(sink_cluster="new"), mark_settled=False)
    told = check(RESTORE, made)

    assert told is not None
    assert told.outcome is Outcome.FAILED
    assert "that the cluster 'new', which its sink writes to, does not know" in told.told
    assert "as new_sink_cluster this one" in told.told


REFUSED = [
    (Decision.COMMIT, "Ongoing"),
    (Decision.LOST, "CompleteAbort"),
    (Decision.UNKNOWN, None),
    (Decision.FOREIGN, "Ongoing"),
    (Decision.WAIT, "PrepareCommit"),
    (Decision.LIVE, "Ongoing"),
    (Decision.UNEXPLAINED, "Ongoing"),
    (Decision.WRONG_CLUSTER, "CompleteCommit"),
    (Decision.DENIED, None),
    (Decision.SETTLED, "Ongoing"),
]


@with_cases(("decision", "state"), REFUSED)
def test_29_a_mark_of_what_is_not_shown_as_committed_is_refused(decision: Decision, state: str | None) -> None:
    with pytest.raises(PlanError, match="MARK_NOT_SETTLED") as caught:
        plan(said(row(HELD), row(OTHER, decision, state)))

    assert "tx-1-4 (producer 8, epoch 1)" in caught.value.problem
    assert "tx-0-4" not in caught.value.problem
    assert "--target sink-transactions" in caught.value.fix


def test_29_what_the_log_shows_as_committed_is_marked_and_its_topics_are_looked_at_again() -> None:
    at = OpenPartition(topic="out", partition=0, start_offset=3, records=7)
    made = plan(said(row(HELD), row(OTHER, Decision.SETTLED, "Ongoing", partitions=(at,))))

    assert {each.transactional_id for each in made.marks} == {"tx-0-4", "tx-1-4"}
    assert made.requirements.sink is not None
    assert made.requirements.sink.topics == ("out",)
    assert [each.partitions for each in made.requirements.sink.states] == [(), (at,)]


def test_29_what_nobody_answered_about_is_not_marked() -> None:
    for found in (None, said(row(HELD)), said(row(HELD), row(replace(OTHER, epoch=2)))):
        with pytest.raises(PlanError, match=r"tx-1-4 \(producer 8, epoch 1\): the cluster of the sink was not asked"):
            plan(found)


@with_cases("decision", [Decision.LIVE, Decision.SINK_WENT_ON])
def test_29_a_job_that_goes_on_or_went_on_is_not_started_from_this_savepoint(decision: Decision) -> None:
    later = row(replace(HELD, transactional_id="tx-0-5"), decision, "CompleteCommit", held=False)

    with pytest.raises(PlanError, match=f"tx-0-5 .* is {decision}, not SETTLED"):
        plan(said(row(HELD), row(OTHER), later))
    if decision is Decision.SINK_WENT_ON:
        assert len(plan(said(row(HELD), row(OTHER), later), job=replaced(MOVES, tolerates_replay=True)).marks) == 2


def replaced(job: JobTraits, **more: object) -> JobTraits:
    return job.model_copy(update=more)


def test_29_what_the_same_plan_commits_before_may_be_marked() -> None:
    ended = PlannedTransaction(
        transactional_id="tx-1-4",
        producer_id=8,
        epoch=1,
        decision=Settlement.COMMIT,
        version=4,
        partitions=(),
        deadline=None,
        reason="Held.",
    )
    request = DraftRequest(targets=(SAVEPOINT,), author="ada", sink=said(row(HELD), row(OTHER, Decision.COMMIT)))
    read = holding().checkpoint

    assert read is not None
    assert [each.reason for each in marks_of(read.details, request, MOVES, (ended,))] == [
        "It is so (SETTLED).",
        COMMITTED_BEFORE,
    ]
    for wrong in (replace(ended, decision=Settlement.ABORT), replace(ended, epoch=2)):
        with pytest.raises(PlanError, match="tx-1-4"):
            marks_of(read.details, request, MOVES, (wrong,))


def test_a_mark_needs_a_copy_of_a_savepoint_and_something_to_mark() -> None:
    with pytest.raises(PlanError, match="found 'mark_settled', which consumer-group does not take"):
        plan(SETTLED, ETL)
    finished = replace(HELD, state="committed")
    named = replace(HELD, producer_id=None, epoch=None, state="precommitted", schema=None)
    with pytest.raises(PlanError, match="found none that a restore would commit"):
        plan(SETTLED, made=holding(finished, named))
    with pytest.raises(PlanError, match="did not tell its id"):
        plan(said(row(HELD), row(OTHER), cluster_id=None))


SOON = time_of(datetime.fromtimestamp(AT_MS / 1000 + 60, UTC))


@with_cases(
    ("found", "cutover_ms", "expected", "told"),
    [
        (SETTLED, None, "passed", "Everything that the savepoint holds is committed"),
        (said(row(HELD), row(OTHER, Decision.COMMIT, "Ongoing", deadline=SOON)), None, "unknown", "tx-1-4"),
        (said(row(HELD), row(OTHER, Decision.COMMIT, "Ongoing", deadline=SOON)), AT_MS + 90_000, "failed", "runs out"),
        (said(row(HELD), row(OTHER, Decision.COMMIT, "Ongoing")), AT_MS + 90_000, "unknown", "tx-1-4"),
        (said(row(HELD), row(OTHER, Decision.LOST, "CompleteAbort")), None, "failed", "(LOST)"),
        (said(row(HELD), row(OTHER, Decision.DENIED, None)), None, "unknown", "(DENIED)"),
        (said(row(HELD, Decision.WAIT), row(OTHER, Decision.LIVE)), None, "failed", "1 more not committed"),
    ],
)
def test_10_the_gate_goes_by_what_the_sinks_cluster_says_now(
    found: SinkTransactions, cutover_ms: int | None, expected: str, told: str
) -> None:
    made = check(PENDING, plan(found, job=STAYS, mark_settled=False, cutover_ms=cutover_ms))

    assert made is not None
    assert (made.outcome, told in made.told) == (expected, True), made.told


def test_31_a_time_out_that_the_cluster_refuses_fails_the_gate_and_is_a_finding() -> None:
    finding = transaction_timeout_refused.finding("1 h, and 15 min are allowed.")
    made = plan(replace(SETTLED, findings=(finding,)))

    assert outcome(TIMEOUT, made) is Outcome.FAILED
    assert "TRANSACTION_TIMEOUT_REFUSED" in {each.code for each in made.findings}
    assert outcome(TIMEOUT, plan()) is None


def test_18_a_marked_transaction_in_any_other_state_is_a_drift_and_others_may_go_on() -> None:
    made = plan()
    unmarked = row(replace(HELD, transactional_id="tx-9-9"), Decision.ABORT, "Ongoing", held=False)

    assert list(moved(made, SETTLED)) == []
    assert list(moved(made, said(row(HELD), row(OTHER), unmarked))) == []
    (one,) = moved(made, said(row(HELD), row(OTHER, Decision.UNKNOWN, "Ongoing")))
    assert (one.kind, one.subject) == (DriftKind.SINK_MOVED, "tx-1-4 (producer 8, epoch 1)")
    assert [each.kind for each in moved(made, said(row(HELD)))] == [DriftKind.SINK_MOVED]
    assert [each.kind for each in moved(made, replace(SETTLED, cluster_id="other"))] == [DriftKind.SINK_REPLACED]


@with_cases(
    ("change", "told"),
    [
        (lambda one: replace(one, targets=(ETL,)), "none of its targets is a copy of a savepoint"),
        (lambda one: replace(one, requirements=replace(one.requirements, sink=None)), "of which cluster"),
        (lambda one: replace(one, marks=one.marks * 2), "marks a transaction twice"),
        (lambda one: replace(one, marks=(replace(one.marks[0], epoch=-1),)), "a negative number"),
        (lambda one: replace(one, marks=(replace(one.marks[0], reason=" "),)), "no name or reason"),
    ],
)
def test_a_plan_that_contradicts_itself_about_marks_is_refused(change: Callable[[Plan], Plan], told: str) -> None:
    assert [each for each in contradictions(change(plan())) if told in each]
    assert list(contradictions(plan())) == []


def test_the_migration_file_names_both_clusters_of_the_sink() -> None:
    made = migration(MOVES)
    (stated,) = made.checkpoints

    assert (made.sink(stated), made.sink(stated, moved=True)) == (made.source, made.target)
