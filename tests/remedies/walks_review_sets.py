"""Remedies of the review of sets of plans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from offsetwise.approval import Verdict
from offsetwise.review.exports import Destination
from tests.remedies.walks_review import Given, on_board
from tests.review import people
from tests.review.people import ADA, ANN, RALPH, RITA
from tests.review.sets import approve, drafted_set, reject, set_of, submitted_set
from tests.review.test_sets import UNSAFE, edit, member
from tests.transactions.settling import TO_SINK, stage

DECIDING = "sets/deciding.py::_why_not_now"


@on_board("sets/answers.py::refusal", "Open the set again, and look at that plan")
def set_with_an_open_plan(board: people.Scene) -> Given:
    saved = board.submitted(ANN, moves="payments")
    drafted = drafted_set(board)

    def looked() -> object:
        board.board.withdraw(ANN, saved.plan)
        return board.board.submit_set(ADA, drafted)

    return lambda: board.board.submit_set(ADA, drafted), looked


@on_board("sets/board.py::SetsBoard.set_kit", "Export a set that enough people approve")
def set_that_waits_is_exported(board: people.Scene) -> Given:
    made = submitted_set(board)

    def approved() -> object:
        approve(board, RITA, made)
        return board.board.set_kit(RITA, made.number, Destination())

    return lambda: board.board.set_kit(RITA, made.number, Destination()), approved


@on_board(DECIDING, "Open the set again")
def set_by_another_digest(board: people.Scene) -> Given:
    made = submitted_set(board)
    return lambda: approve(board, RITA, replace(made, digest="ab" * 32)), lambda: approve(board, RITA, made)


@on_board(DECIDING, "Say it in fewer words")
def set_with_a_long_remark(board: people.Scene) -> Given:
    made = submitted_set(board)
    return lambda: approve(board, RITA, made, remark="x" * 10_001), lambda: approve(board, RITA, made, remark="x")


@on_board(DECIDING, "Ask its author to submit the set again")
def set_that_was_changed(board: people.Scene) -> Given:
    made = submitted_set(board)
    edit(board, made, "orders")

    def again() -> object:
        new = board.board.submit_set_again(ADA, made.number, made.digest)
        return approve(board, RITA, new)  # type: ignore[arg-type]

    return lambda: approve(board, RITA, made), again


@on_board(DECIDING, "Nothing is left to decide about it")
def set_that_was_decided(board: people.Scene) -> Given:
    made = submitted_set(board)
    approve(board, RITA, made)
    return lambda: approve(board, RALPH, made), lambda: board.board.set_kit(RALPH, made.number, Destination())


@on_board(DECIDING, "Reject the others one by one")
def set_with_a_plan_approved_alone(board: people.Scene) -> Given:
    made = submitted_set(board)
    board.approve(RALPH, member(board, made, "audit"))
    other = member(board, made, "orders")
    return lambda: reject(board, RITA, made), lambda: board.board.decide(
        RITA, other.plan, other.digest, Verdict.REJECTED
    )


@on_board("sets/deciding.py::_parts", "Another person has to approve too")
def set_approved_twice_by_one(board: people.Scene) -> Given:
    board.deciding(required=2)
    made = submitted_set(board)
    approve(board, RITA, made)
    return lambda: approve(board, RITA, made), lambda: approve(board, RALPH, made)


@on_board("sets/deciding.py::_why_not_typed", "Look at the rows marked unsafe")
def set_with_unsafe_rows(board: people.Scene) -> Given:
    made = board.board.submit_set(ADA, set_of([("group a", board.drafted(ADA, moves="a", positions=UNSAFE))], "pilot"))
    return lambda: approve(board, RITA, made), lambda: approve(board, RITA, made, typed="pilot")  # type: ignore[arg-type]


@on_board("sets/drafting.py::", "Choose one from the list")
def set_that_is_not_there(board: people.Scene) -> Given:
    made = submitted_set(board)
    return lambda: approve(board, RITA, replace(made, number=99)), lambda: approve(board, RITA, made)


@on_board("sets/drafting.py::", "Draft the jobs again, on the Draft page")
def set_that_was_withdrawn(board: people.Scene) -> Given:
    made = submitted_set(board)
    board.board.withdraw_set(ADA, made.number, made.digest)
    drafted = drafted_set(board, drafted_at="2026-03-01T10:00:00Z")
    return lambda: board.board.submit_set_again(ADA, made.number, made.digest), lambda: board.board.submit_set(
        ADA, drafted
    )


@on_board("sets/drafting.py::_taken_back", "There is nothing left to withdraw")
def set_withdrawn_twice(board: people.Scene) -> Given:
    made = submitted_set(board)
    board.board.withdraw_set(ADA, made.number, made.digest)
    return lambda: board.board.withdraw_set(ADA, made.number, made.digest), lambda: board.board.sets(ADA)


@on_board("sets/drafting.py::_store", "Draft that job alone")
def set_with_a_plan_that_cannot_be_taken_back(board: people.Scene) -> Given:
    with TemporaryDirectory() as folder:
        plan = stage(Path(folder) / "sink").plan
    ends: dict[str, Any] = {
        "positions": (),
        "targets": (TO_SINK,),
        "transactions": plan.transactions,
        "requirements": plan.requirements,
        "gate": plan.gate,
        "findings": (),
    }
    content = board.drafted(ADA, **ends)
    together = set_of([("checkpoint sink", content)])
    return lambda: board.board.submit_set(ADA, together), lambda: board.board.save_draft(ADA, content)
