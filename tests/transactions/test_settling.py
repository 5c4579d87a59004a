"""Ending transactions of a sink under a plan: what a draft refuses, and what applying does when things go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offsetwise import files
from offsetwise.apply import reversal
from offsetwise.apply.reversal import BackOrder
from offsetwise.apply.run import apply, dry_run
from offsetwise.approval import ApprovalPolicy
from offsetwise.config import JobTraits
from offsetwise.errors import ApplyError, LostReplyError, OffsetwiseError, PlanError, StalePlanError
from offsetwise.model import OpenPartition, Outcome, PlannedTransaction, Settlement, Target, Turnout, time_of
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import check_request
from offsetwise.plan.sinks.ending import moved, settle
from offsetwise.review.risk import facts_of
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.ended import ShownTransaction, judge, places_of
from offsetwise.transactions.observed import Described, Missing
from offsetwise.wording.irreversible import confirmation, irreversible
from tests.apply.plans import COPY
from tests.apply.worlds import NOW, REVIEWER, approval
from tests.gates import FULL, PART
from tests.transactions.coordinator import DENIED, NAMES, Held, end_txn
from tests.transactions.recorded import recorded
from tests.transactions.settling import (
    HANGING,
    NOW_MS,
    TO_SINK,
    Staged,
    asked,
    choice,
    found,
    row,
    settled,
    stage,
)
from tests.transactions.settling_gates import OFTEN
from tests.with_cases import with_cases

LIB = Path(__file__).parents[2]
SEED = 20261123
COMMIT, ABORT = Settlement


# --------------------------------------------------------------------------- the coordinator of these tests

STATES = {
    "Ongoing(p,e)": Held(producer_id=7, epoch=3),
    "no such id": None,
    "CompleteCommit(p,e) by v4": Held(producer_id=7, epoch=3, state="CompleteCommit", visible=True),
    "CompleteCommit(p,e+1) by v5": Held(producer_id=7, epoch=4, state="CompleteCommit", visible=True),
    "timed out: CompleteAbort(p,e+1)": Held(producer_id=7, epoch=4, state="CompleteAbort", visible=False),
    "Empty(p,e), never used": Held(producer_id=7, epoch=3, state="Empty"),
    "Empty(p,e+2) after InitProducerId": Held(producer_id=7, epoch=5, state="Empty"),
}


@with_cases(("before", "request_", "answer", "after"), recorded("endtxn_answers")["rows"])
def test_the_coordinator_of_these_tests_answers_as_a_broker_did(
    before: str, request_: str, answer: str, after: str
) -> None:
    versions = [int(request_[1])] if request_.startswith("v") else [4, 5]
    for version in versions:
        for commit in [True, False] if " or " in request_ else ["commit" in request_]:
            code, held = end_txn(
                STATES[before],
                producer_id=8 if "other p" in request_ else 7,
                epoch=4 if "e+1" in request_ else 3,
                version=version,
                commit=commit,
            )

            assert NAMES[code] == answer
            if after == "unchanged":
                assert held == STATES[before]
            else:
                assert held is not None
                state = after.partition("(")[0]
                bumped = 3 + (2 if "e+2" in after else 1 if "e+1" in after else 0)
                assert (held.state, held.epoch) == (state, bumped)


# --------------------------------------------------------------------------- drafting


def test_commits_come_before_aborts_and_each_names_its_request() -> None:
    made = settled(row(0, Decision.ABORT), row(1, Decision.COMMIT), row(2, Decision.SETTLED), row(3, Decision.NOTHING))

    assert [(each.producer_id, each.decision, each.version) for each in made.transactions] == [
        (1, COMMIT, 4),
        (0, ABORT, 5),
    ]
    assert [each.producer_id for each in made.requirement.states] == [0, 1, 2]
    (gate,) = made.gate
    assert "13:00" in gate.told


def test_a_broker_before_4_0_is_sent_the_version_that_it_takes() -> None:
    looked = found(row(0, Decision.ABORT), row(1, Decision.COMMIT), end_txn_version=3)
    made = settle(looked, cluster="old", topics=(), request=asked(), job=JobTraits(), now_ms=NOW_MS)

    assert [each.version for each in made.transactions] == [3, 3]


REFUSED = [
    Decision.LOST,
    Decision.UNKNOWN,
    Decision.FOREIGN,
    Decision.WAIT,
    Decision.LIVE,
    Decision.UNEXPLAINED,
    Decision.SINK_WENT_ON,
    Decision.NOT_NEWEST,
    Decision.WRONG_CLUSTER,
    Decision.DENIED,
]


@with_cases("decision", REFUSED)
def test_one_transaction_that_may_not_be_ended_stops_the_whole_plan(decision: Decision) -> None:
    with pytest.raises(PlanError, match=f"{decision}: tx-1-7") as refused:
        settled(row(0, Decision.COMMIT), row(1, decision))

    assert "Nothing was written" in refused.value.problem


def test_every_decision_is_planned_refused_or_left_alone() -> None:
    left = {Decision.NOTHING, Decision.SETTLED, Decision.OTHER_JOB}
    hangs = row(9, Decision.HANGING, transactional_id=None)

    assert {*Decision} == {Decision.COMMIT, Decision.ABORT, Decision.HANGING, *REFUSED, *left}
    assert len(settled(row(0, Decision.COMMIT), hangs, *(row(9, each) for each in left)).transactions) == 1


@with_cases("decision", [COMMIT, ABORT])
def test_12_a_person_decides_about_what_nothing_explains_with_a_reason(decision: Settlement) -> None:
    request = asked(settlements=(choice("tx-0-7", decision),))
    (made,) = settled(row(0, Decision.UNEXPLAINED), request=request).transactions

    assert (made.decision, made.by, made.reason) == (decision, "amy", "The job is gone.")
    with pytest.raises(PlanError, match="REASON"):
        settled(row(0, Decision.UNEXPLAINED), request=asked(settlements=(choice("tx-0-7", decision, " "),)))
    with pytest.raises(PlanError, match="NOT_UNEXPLAINED"):
        settled(row(0, Decision.COMMIT), request=request)


def test_10_a_commit_that_times_out_before_a_plan_can_be_applied_is_refused_and_an_abort_is_not() -> None:
    soon = time_of(NOW.replace(second=59))

    with pytest.raises(PlanError, match=r"TIME_LEFT.*59 s"):
        settled(row(0, Decision.COMMIT, deadline=soon))
    assert settled(row(0, Decision.ABORT, deadline=soon)).transactions


def test_10_a_commit_that_times_out_before_it_can_be_sent_is_refused_when_the_plan_is_applied(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.world.rows = [replace(each, left_ms=59_000) for each in made.world.rows]

    with pytest.raises(StalePlanError) as refused:
        applied(made)

    told = "the broker aborts it in 59 s, and applying a plan takes up to 1 min, so that it would be too late to commit"
    assert refused.value.problem.count(told) == 2, "each commit, and no abort"
    assert (made.sink.count, Path(made.receipt + ".journal").exists()) == (0, False)


def test_15_and_16_what_people_state_lets_a_plan_be_drafted() -> None:
    tolerant = JobTraits(tolerates_replay=True)

    assert settled(row(0, Decision.COMMIT), row(1, Decision.SINK_WENT_ON), job=tolerant).transactions
    (made,) = settled(row(0, Decision.NOT_NEWEST), request=asked(sink_rewound=True)).transactions
    assert made.decision is ABORT


def test_16_who_approves_an_abort_that_a_newer_checkpoint_may_hold_states_that_there_is_none(
    tmp_path: Path,
) -> None:
    unsure = row(1, Decision.ABORT, newer_may_hold=True)
    plan = stage(tmp_path).plan

    for request, outcome, typed in (
        (asked(), Outcome.UNKNOWN, "no newer checkpoint, cannot be taken back"),
        (asked(sink_rewound=True), Outcome.PASSED, "cannot be taken back"),
    ):
        _, newest = settled(row(0, Decision.COMMIT), unsure, request=request).gate
        assert (newest.outcome, "tx-1-7" in newest.told) == (outcome, True)
        unapproved = replace(plan, gate=(*plan.gate, newest))
        assert confirmation(unapproved) == facts_of(unapproved, "ab" * 32).confirm == typed
        assert ("could be looked for" in str(irreversible(unapproved))) is (outcome is Outcome.UNKNOWN)


@with_cases(
    ("changes", "message"),
    [
        ({"problems": ("A broker did not answer.",), "complete": False}, "A broker did not answer"),
        ({"cluster_id": None}, "did not tell its cluster id"),
    ],
)
def test_what_could_not_be_asked_stops_the_plan(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        settle(
            found(row(0, Decision.COMMIT), **changes),
            cluster="old",
            topics=(),
            request=asked(),
            job=JobTraits(),
            now_ms=NOW_MS,
        )


def test_a_transaction_whose_partitions_are_hidden_is_refused_and_so_is_a_plan_without_any() -> None:
    with pytest.raises(PlanError, match="not shown"):
        settled(row(0, Decision.COMMIT, partitions=()))
    with pytest.raises(PlanError, match="found none open"):
        settled(row(0, Decision.SETTLED))


def test_26_hanging_ones_are_ended_by_a_plan_of_their_own() -> None:
    hangs = row(0, Decision.HANGING, transactional_id=None, broker_state=None, coordinator_epoch=2, deadline=None)
    (made,) = settled(hangs, row(1, Decision.COMMIT), request=asked(HANGING)).transactions

    assert (made.decision, made.version, made.transactional_id, made.coordinator_epoch) == (ABORT, None, None, 2)
    for others in ((TO_SINK, HANGING), (HANGING, COPY)):
        with pytest.raises(PlanError, match="plan of their own"):
            check_request(asked(*others))
    with pytest.raises(PlanError, match="DENIED"):
        settled(hangs, row(1, Decision.DENIED), request=asked(HANGING))


@with_cases("decision", [Decision.DENIED, Decision.UNKNOWN])
def test_26_what_may_be_another_jobs_is_never_aborted_as_hanging_and_stops_no_plan_of_this_jobs(
    decision: Decision, tmp_path: Path
) -> None:
    other = row(9, decision, transactional_id=None, broker_state=None, deadline=None)

    with pytest.raises(PlanError, match=decision):
        settled(other, request=asked(HANGING))
    assert [each.name for each in settled(other, row(0, Decision.COMMIT)).transactions] == [
        "tx-0-7 (producer 0, epoch 1)"
    ]
    made = stage(tmp_path)
    assert not [*moved(made.plan, found(*made.world.rows, other))]


# --------------------------------------------------------------------------- the plan's file


def test_a_plan_is_read_as_it_was_written_and_one_without_transactions_keeps_its_bytes(tmp_path: Path) -> None:
    made = stage(tmp_path)

    assert read_plan(made.data, subject="plan") == made.plan
    body = json.loads(files.dump(replace(made.plan, transactions=())))
    assert "transactions" not in body
    assert (
        "sink"
        not in json.loads(files.dump(replace(made.plan, requirements=replace(made.plan.requirements, sink=None))))[
            "requirements"
        ]
    )


def _changed(plan: Any, number: int = 0, **changes: Any) -> Any:
    rows = list(plan.transactions)
    rows[number] = replace(rows[number], **changes)
    return replace(plan, transactions=tuple(rows))


@with_cases(
    ("change", "message"),
    [
        (lambda p: replace(p, transactions=p.transactions[::-1]), "aborts before it commits"),
        (lambda p: replace(p, transactions=()), "do not belong together"),
        (lambda p: replace(p, transactions=(*p.transactions, p.transactions[-1])), "a transaction is in it twice"),
        (lambda p: _changed(p, version=5), "never sent"),
        (lambda p: _changed(p, transactional_id=None), "not of the kind"),
        (lambda p: _changed(p, partitions=()), "has no partition"),
        (lambda p: _changed(p, epoch=-1), "negative"),
        (lambda p: _changed(p, by="amy", reason=" "), "without a reason"),
        (lambda p: replace(p, targets=(*p.targets, HANGING)), "hanging"),
        (lambda p: replace(p, targets=(COPY,)), r"no positions|belong together"),
    ],
)
def test_a_plan_that_contradicts_itself_about_transactions_is_not_used(
    change: Callable[[Any], Any], message: str, tmp_path: Path
) -> None:
    changed = change(stage(tmp_path).plan)

    with pytest.raises(PlanError, match=message):
        read_plan(files.dump(changed).encode(), subject="plan")


def test_27_who_approves_types_that_it_cannot_be_taken_back(tmp_path: Path) -> None:
    plan = stage(tmp_path).plan

    assert facts_of(plan, "ab" * 32).confirm == confirmation(plan) == "cannot be taken back"
    assert facts_of(replace(plan, transactions=()), "ab" * 32).confirm is None


# --------------------------------------------------------------------------- applying


def applied(made: Staged) -> Any:
    return apply(made.order(), made.receipt, made.tools())


def states(made: Staged) -> list[str]:
    return [made.sink.ids[str(each.transactional_id)].state for each in made.plan.transactions]


def test_every_transaction_ends_as_planned_and_a_second_call_finds_it_so(tmp_path: Path) -> None:
    made = stage(tmp_path)
    run = dry_run(made.order(), made.tools(), made.receipt)
    assert (run.changes, made.sink.count) == (True, 0)
    assert run.previews[0].transactions == made.plan.transactions

    receipt = applied(made).receipt

    assert states(made) == ["CompleteCommit", "CompleteCommit", "CompleteAbort", "CompleteAbort"]
    assert "2 committed, 2 aborted" in receipt.steps[0].told
    assert applied(made).already[0].standing == "as written"
    assert made.sink.count == 4


DRIFTS: dict[str, dict[str, Any]] = {
    "another epoch": {"epoch": 2},
    "another producer": {"producer_id": 99},
    "ended meanwhile": {"state": "CompleteCommit", "visible": True},
}


@with_cases("name", DRIFTS)
@with_cases("number", [0, 3])
def test_18_a_state_other_than_the_reviewed_one_stops_everything_before_anything_is_sent(
    name: str, number: int, tmp_path: Path
) -> None:
    made = stage(tmp_path)
    made.sink.change(f"tx-{number}-7", **DRIFTS[name])

    with pytest.raises(StalePlanError, match=f"tx-{number}-7"):
        applied(made)
    assert made.sink.count == 0
    assert not Path(made.receipt + ".journal").exists()


def test_18_another_cluster_and_partitions_that_grew_are_drift(tmp_path: Path) -> None:
    plan, rows = stage(tmp_path).plan, [row(n, Decision.COMMIT if n < 2 else Decision.ABORT) for n in range(4)]
    grown = replace(rows[0], partitions=(*rows[0].partitions, OpenPartition(topic="sink", partition=1, start_offset=0)))

    assert [*moved(plan, found(*rows))] == []
    assert [each.kind for each in moved(plan, found(*rows, cluster_id="other"))] == ["SINK_REPLACED"]
    assert "sink-1 from 0" in next(moved(plan, found(grown, *rows[1:]))).now
    assert [each.kind for each in moved(plan, found(*rows, row(4, Decision.LIVE)))] == ["SINK_MOVED"]


def test_20_a_user_who_may_not_write_is_told_by_the_dry_run(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.sink.denied = True

    with pytest.raises(ApplyError, match="may not") as refused:
        dry_run(made.order(), made.tools(), made.receipt)
    assert "Grant WRITE on TransactionalId 'tx-', prefixed" in refused.value.fix
    assert made.sink.count == 0


@with_cases("number", range(1, 5))
def test_22_a_reply_that_is_lost_is_looked_for_and_nothing_is_sent_twice(number: int, tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.sink.lose = {number: "reply"}

    applied(made)

    assert made.sink.count == 4


@with_cases("number", range(1, 5))
def test_22_a_request_that_is_swallowed_is_sent_again_by_the_same_command(number: int, tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.sink.lose = {number: "request"}

    with pytest.raises(LostReplyError, match="may still arrive") as lost:
        applied(made)
    assert f"number {number} of 4" in lost.value.problem
    noted = [
        json.loads(line)["notes"]["sending"]
        for line in Path(made.receipt + ".journal").read_text().splitlines()
        if "sending" in line
    ]
    each = made.plan.transactions[number - 1]
    assert json.loads(noted[-1]) == [number - 1, each.transactional_id, each.producer_id, each.epoch, each.version]
    made.sink.lose = {}

    applied(made)

    assert "Ongoing" not in states(made)
    assert made.sink.count == 5


def test_23_what_somebody_else_ended_between_two_calls_is_refused(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.sink.lose = {2: "request"}
    with pytest.raises(LostReplyError):
        applied(made)
    made.sink.lose = {}
    made.sink.change("tx-3-7", state="CompleteAbort", epoch=2, visible=False)

    with pytest.raises(StalePlanError, match=r"tx-3-7.*number 4 of 4.*The 3 before it are ended"):
        applied(made)


def test_24_of_twenty_number_seven_refuses(tmp_path: Path) -> None:
    made = stage(tmp_path, commits=12, aborts=8)
    seventh = made.plan.transactions[6]
    made.sink.refuse = {str(seventh.transactional_id): DENIED}

    with pytest.raises(ApplyError, match=r"number 7 of 20\. The 6 before it are ended as planned") as refused:
        applied(made)
    assert "The 13 after it, to number 20, did not begin" in refused.value.problem
    assert "rollback" not in refused.value.fix, "it would be refused"
    assert [state == "Ongoing" for state in states(made)] == [False] * 6 + [True] * 14


@with_cases("swallowed", range(1, 7))
def test_24_a_request_answered_without_an_error_that_changed_nothing_is_not_called_ended(
    swallowed: int, tmp_path: Path
) -> None:
    made = stage(tmp_path, commits=4, aborts=4)
    seventh, open_ = made.plan.transactions[6], made.plan.transactions[swallowed - 1]
    made.sink.lose = {swallowed: "work"}
    made.sink.refuse = {str(seventh.transactional_id): DENIED}

    with pytest.raises(ApplyError, match="Of the 6 before it 5 are ended as planned") as refused:
        applied(made)
    done = "committed" if open_.decision is COMMIT else "aborted"
    assert f"{open_.name}: expected it to be {done}, found it open" in refused.value.problem
    assert states(made).count("Ongoing") == 3

    made.sink.lose, made.sink.refuse = {}, {}
    applied(made)
    assert "Ongoing" not in states(made)


def test_24_what_was_answered_without_an_error_and_not_done_is_said_at_the_end_too(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.sink.lose = {1: "work", 3: "work"}

    with pytest.raises(ApplyError, match="answered without an error, and 2 of them are not ended as planned"):
        applied(made)
    assert states(made) == ["Ongoing", "CompleteCommit", "Ongoing", "CompleteAbort"]


def test_25_an_abort_without_an_error_whose_records_are_visible_fails_loudly(tmp_path: Path) -> None:
    made = stage(tmp_path)

    class Trapped(type(made.sink)):  # type: ignore[misc]
        def end(self, planned: PlannedTransaction) -> Any:
            if planned.decision is ABORT:  # committed by somebody, after the look and before the request
                self.change(str(planned.transactional_id), state="CompleteCommit", visible=True)
            return super().end(planned)

    made.sink.__class__ = Trapped
    with pytest.raises(ApplyError, match=r"FAILED.*its records are visible"):
        applied(made)
    assert not Path(made.receipt).exists()


def test_an_address_that_leads_to_another_cluster_ends_nothing_and_is_gone_on_from(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.sink.led_to = "cluster another"

    with pytest.raises(StalePlanError, match=r"the address leads to cluster another now.*None was ended before it"):
        applied(made)
    assert made.sink.count == 0

    made.sink.led_to = None
    applied(made)
    assert made.sink.count == 4


def test_27_a_rollback_is_refused_with_a_sentence(tmp_path: Path) -> None:
    made = stage(tmp_path)
    applied(made)
    order = BackOrder(
        path=made.receipt,
        migration=made.migration,
        approvals=(approval(made.data),),
        policy=ApprovalPolicy(trusted=(REVIEWER.public,)),
    )

    with pytest.raises(ApplyError, match="A commit cannot be taken back"):
        reversal.rollback(order, made.tools())


def test_37_one_of_two_appliers_with_one_journal_is_refused(tmp_path: Path) -> None:
    made = stage(tmp_path)
    seen: list[OffsetwiseError] = []

    class Slow(type(made.sink)):  # type: ignore[misc]
        def end(self, planned: PlannedTransaction) -> Any:
            if not seen:
                with pytest.raises(ApplyError, match="held by another process") as refused:
                    applied(made)
                seen.append(refused.value)
            return super().end(planned)

    made.sink.__class__ = Slow
    applied(made)

    assert len(seen) == 1
    assert made.sink.count == 4


def test_a_journal_that_names_another_transaction_is_not_believed(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.sink.lose = {1: "request"}
    with pytest.raises(LostReplyError):
        applied(made)
    journal = Path(made.receipt + ".journal")
    journal.write_text(journal.read_text().replace('tx-0-7\\", 0, 1, 4', 'tx-0-7\\", 0, 2, 4'))

    with pytest.raises(StalePlanError, match="about to be ended"):
        applied(made)


# --------------------------------------------------------------------------- what the logs say


@with_cases(
    ("decision", "answer", "shown", "turnout"),
    [
        (COMMIT, "CompleteCommit", {"visible": True}, Turnout.CONFIRMED),
        (COMMIT, "CompleteCommit", {"visible": False}, Turnout.DIFFERENT),
        (ABORT, "CompleteAbort", {"visible": True}, Turnout.DIFFERENT),
        (ABORT, "CompleteAbort", {"visible": False}, Turnout.CONFIRMED),
        (COMMIT, "CompleteAbort", {"visible": True}, Turnout.DIFFERENT),
        (COMMIT, "PrepareCommit", {"visible": True}, Turnout.UNKNOWN),
        (COMMIT, "Ongoing", {"visible": True}, Turnout.DIFFERENT),
        (COMMIT, Missing.ABSENT, {"visible": True}, Turnout.CONFIRMED),
        (COMMIT, Missing.DENIED, {"visible": True}, Turnout.UNKNOWN),
        (COMMIT, "CompleteCommit", {"problem": "retention has taken its records"}, Turnout.UNKNOWN),
        (COMMIT, "CompleteCommit", {"last_stable_offset": 5, "held_open": True}, Turnout.DIFFERENT),
        (COMMIT, "CompleteCommit", {"last_stable_offset": 5, "held_open": False}, Turnout.UNKNOWN),
        (COMMIT, "CompleteCommit", {"last_stable_offset": None, "problem": "no answer"}, Turnout.UNKNOWN),
    ],
)
def test_the_logs_decide_as_long_as_the_coordinator_does_not_say_otherwise(
    decision: Settlement, answer: str, shown: dict[str, Any], turnout: Turnout
) -> None:
    kind = Decision.COMMIT if decision is COMMIT else Decision.ABORT
    (planned,) = settled(row(1, kind)).transactions
    said = (
        answer
        if isinstance(answer, Missing)
        else Described(producer_id=1, epoch=1, state=answer, timeout_ms=1, start_ms=1)
    )
    (place,) = places_of(planned)
    log = ShownTransaction(**({"last_stable_offset": 11, "held_open": False} | shown))

    made, told = judge(planned, said, {place: log})

    assert made is turnout, told
    assert told.startswith("tx-1-7 (producer 1, epoch 1)")


# --------------------------------------------------------------------------- kills and races


def gate(name: str, folder: Path) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.transactions.settling_gates", name, str(folder), str(PART), str(SEED)],
        capture_output=True,
        text=True,
        check=False,
        cwd=LIB,
        env={**os.environ, "PYTHONPATH": str(LIB / "lib")},
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def test_23_an_application_that_is_killed_anywhere_is_gone_on_with(
    quick_path: Path, figure: Callable[[str], None]
) -> None:
    told = gate("kills", quick_path)

    figure(
        f"SIGKILL at every {PART}. write, and before and after every request, of plans that end 1 to 23 transactions, "
        f"and again while going on (seed {SEED}): {told['count']:,} kills in {told['seconds']:.0f} s, at each of "
        f"{len(told['struck'])} kinds of points {min(told['struck'].values())} times or more, {len(told['wrong'])} "
        "ended otherwise"
    )
    assert told["wrong"] == []
    assert told["count"] >= (2_000 if FULL else 2_000 // PART)
    assert not FULL or min(told["struck"].values()) >= OFTEN


def test_37_of_twenty_processes_that_apply_one_plan_each_transaction_ends_as_planned(
    quick_path: Path, figure: Callable[[str], None]
) -> None:
    told = gate("race", quick_path)

    figure(
        f"one plan that ends transactions, applied by 20 processes at once, half of them with receipts of their own: "
        f"{told['count']:,} applications in {told['seconds']:.0f} s, {len(told['wrong'])} ended otherwise"
    )
    assert told["wrong"] == []


@with_cases(
    ("decision", "state", "held", "drifts"),
    [
        (Decision.SINK_WENT_ON, "CompleteCommit", False, 1),
        (Decision.LIVE, "Ongoing", False, 1),
        (Decision.WRONG_CLUSTER, "Ongoing", False, 1),
        (Decision.NOTHING, "CompleteAbort", False, 0),
        (Decision.ABORT, "Ongoing", False, 0),
    ],
)
def test_15_a_plan_that_only_marks_is_stale_once_a_draft_of_it_would_be_refused(
    decision: Decision, state: str, held: bool, drifts: int, tmp_path: Path
) -> None:
    marked = row(0, Decision.SETTLED, held=True, broker_state="CompleteCommit", partitions=(), left_ms=None)
    later = row(1, decision, held=held, broker_state=state)
    staged = stage(tmp_path).plan
    sink = staged.requirements.sink
    assert sink is not None
    only_marks = replace(
        staged,
        transactions=(),
        targets=(Target(kind="flink-savepoint"),),
        requirements=replace(staged.requirements, sink=replace(sink, states=(marked.as_required,))),
    )

    assert len(list(moved(only_marks, found(marked)))) == 0
    assert len(list(moved(only_marks, found(marked, later)))) == drifts
