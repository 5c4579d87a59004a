"""The store goes down while somebody decides: what is answered is what is there, and nobody decides twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.errors import StoreError, StoreUnclearError
from offsetwise.review.answers import AlreadyDecided, Approved
from offsetwise.store.review_rows import State
from offsetwise.store.store import Store
from tests.review.people import ADA, RITA, Scene, access_with_key
from tests.store.test_settling import Wire, wire, wired

__all__ = ["wire", "wired"]


@pytest.fixture
def scenes(wired: tuple[Store, Store], tmp_path: Path) -> tuple[Scene, Scene]:
    """A board behind a wire that can be cut, and the same one beside it."""
    access = access_with_key(tmp_path)
    behind, beside = wired
    return Scene(behind.reviews, access), Scene(beside.reviews, access)


def standing(scene: Scene, plan: int) -> tuple[State, int]:
    sheet = scene.board.sheet(ADA, plan)
    assert sheet is not None
    assert scene.board.check_chain(ADA).intact
    return sheet.row.state, len(sheet.decisions)


def test_a_decision_whose_reply_was_lost_is_answered_as_made(scenes: tuple[Scene, Scene], wire: Wire) -> None:
    behind, beside = scenes
    saved = beside.submitted()
    wire.cut = "after"

    answer = behind.approve(RITA, saved)

    assert wire.cut is None
    assert isinstance(answer, Approved)
    assert standing(beside, saved.plan) == (State.APPROVED, 1)


def test_a_decision_that_never_arrived_is_an_error_and_can_be_made_again(
    scenes: tuple[Scene, Scene], wire: Wire
) -> None:
    behind, beside = scenes
    saved = beside.submitted()
    wire.cut = "before"

    with pytest.raises(StoreError) as caught:
        behind.approve(RITA, saved)

    assert not isinstance(caught.value, StoreUnclearError)
    assert standing(beside, saved.plan) == (State.SUBMITTED, 0)
    assert isinstance(behind.approve(RITA, saved), Approved)


def test_a_decision_of_which_nobody_knows_is_said_to_be_unclear_and_is_not_made_twice(
    scenes: tuple[Scene, Scene], wire: Wire
) -> None:
    behind, beside = scenes
    saved = beside.submitted()
    wire.cut, wire.closed = "after", True

    with pytest.raises(StoreUnclearError, match="look at the plan"):
        behind.approve(RITA, saved)

    assert standing(beside, saved.plan) == (State.APPROVED, 1)
    assert isinstance(beside.approve(RITA, saved), AlreadyDecided)
