"""What a reviewer sees of a plan beside its positions: transactions one by one, and what is at a target now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offsetwise.model import TargetBefore
from offsetwise.review.answers import NotAllowed
from offsetwise.store.review_rows import State
from tests.approval.signed import PLAN
from tests.console.test_review_page import Court, control, court, mail, said
from tests.review.people import ADA, RITA
from tests.transactions.settling import TO_SINK, stage

__all__ = ["court"]
SWORN = "cannot be taken back"


@pytest.fixture
def ending(tmp_path: Path) -> dict[str, Any]:
    """What a plan that ends transactions has otherwise than another one."""
    plan = stage(tmp_path / "sink").plan
    return {
        "positions": (),
        "targets": (TO_SINK,),
        "transactions": (replace(plan.transactions[0], reason="<b>So</b> it is."), *plan.transactions[1:]),
        "requirements": plan.requirements,
        "gate": plan.gate,
        "findings": (),
    }


def test_27_each_transaction_is_shown_and_approval_takes_the_words_that_it_cannot_be_taken_back(
    court: Court, ending: dict[str, Any]
) -> None:
    plan = court.submitted(**ending)
    page = court.opened(mail(RITA))

    assert "2 transactions are committed and 2 transactions are aborted" in said(page)
    assert "The first time-out was at" in said(page), "a clock for whoever approves"
    shown = next(each.value for each in page.dataframe if "transactional id" in each.value)
    assert sorted(shown["transactional id"]) == [f"tx-{number}-7" for number in range(4)]
    assert sorted(shown["EndTxn"]) == ["v4", "v4", "v5", "v5"]
    control(page, "approve", plan).click().run()
    assert f"expected '{SWORN}' to be typed" in said(page)
    assert court.state(plan) is State.SUBMITTED
    page.text_input(key=f"typed-{plan.plan}").set_value(SWORN)
    control(page, "approve", plan).click().run()
    assert court.state(plan) is State.APPROVED
    court.board.withdraw(ADA, plan.plan)
    assert "The first time-out" not in said(page.run())


def test_nobody_approves_by_a_direct_call_without_the_words(court: Court, ending: dict[str, Any]) -> None:
    plan = court.submitted(**ending)

    assert isinstance(court.approve(RITA, plan), NotAllowed)
    assert court.state(plan) is State.SUBMITTED


def test_what_is_at_a_target_now_is_shown_before_it_is_approved(court: Court) -> None:
    at = TargetBefore(target=PLAN.targets[0], before={"orders:0": 7, "<b>orders</b>:1": None})
    court.submitted(requirements=replace(PLAN.requirements, targets=(at,)))
    shown = said(court.opened(mail(RITA)))

    assert "**Now at Spark checkpoint, edited in a copy:** <b>orders</b>:1: nothing, orders:0: 7." in shown
