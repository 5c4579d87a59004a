"""What a plan requires of the cutover, chosen on Draft, kept with the plan, shown on Review and in the export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.console import answers, board
from offsetwise.console.plan.panel import cutover_fields
from offsetwise.console.server import access
from offsetwise.console.server.access import Access
from offsetwise.model import CutoverRequirement
from offsetwise.store.store import Store, open_store
from tests.console.conftest import APP, words
from tests.console.test_draft_page import opened, press, sheet_of
from tests.console.test_shell import bundled

REVIEW: Final = "pages/plan/review.py"
KINESIS: Final = "orders-to-frankfurt (sample)"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path) -> Iterator[Store]:
    """The store of plans, of the console and of the demonstration alike."""
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'plans.sqlite'}", wait_s=60) as store:
        board.use(lambda: store.reviews, lambda: store.reviews)
        yield store
    access.use(Access())
    st.cache_resource.clear()


def choose(page: AppTest, states: str, still_ms: int | None = None) -> AppTest:
    page.selectbox(key=cutover_fields.STATES).select(states).run()
    if still_ms is not None:
        page.selectbox(key=cutover_fields.STILL).select(still_ms).run()
    assert not page.exception
    return page


def test_nothing_is_required_until_somebody_chooses_it(kept: Store) -> None:
    press(opened("author"), "submit")

    assert sheet_of(kept).plan.requirements.cutover is None


def test_what_is_chosen_is_kept_shown_to_the_reviewer_and_there_when_the_draft_is_opened_again(kept: Store) -> None:
    page = choose(opened("author"), "stand still and are copied", 300_000)
    press(page, "submit")
    reopened = opened("author")
    review = AppTest.from_file(str(APP), default_timeout=60)
    review.switch_page(REVIEW)
    for name, value in {"plan": "1", "play": "reviewer"}.items():
        review.query_params[name] = value
    review.run()

    required = sheet_of(kept).plan.requirements.cutover
    assert required == CutoverRequirement(states=("frozen", "copied"), still_for_ms=300_000)
    assert reopened.selectbox(key=cutover_fields.STATES).value == "stand still and are copied"
    assert reopened.selectbox(key=cutover_fields.STILL).value == 300_000
    assert not review.exception
    assert (
        "**Required before it is applied:** the logs of its topics on the old cluster have stood still for 5 min, and "
        "every record of them is on the new cluster. `apply` watches them, and refuses else."
    ) in words(review).replace("\\", "")


def test_another_time_than_those_offered_stays_when_a_draft_is_opened_again(kept: Store) -> None:
    answers.use(bundled())
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.switch_page("pages/plan/draft.py")
    page.session_state[cutover_fields.STATES], page.session_state[cutover_fields.STILL] = "stand still", 90_000
    for name, value in {"of": "checkpoint payments", "play": "author"}.items():
        page.query_params[name] = value
    page.run()
    press(page, "submit")
    reopened = opened("author")

    assert sheet_of(kept).plan.requirements.cutover == CutoverRequirement(states=("frozen",), still_for_ms=90_000)
    assert reopened.selectbox(key=cutover_fields.STILL).value == 90_000
    choose(reopened, "may still grow")
    press(reopened, "submit")
    assert sheet_of(kept).plan.requirements.cutover is None


def test_a_stream_whose_ends_nobody_can_watch_offers_no_such_field() -> None:
    answers.use(bundled())
    page = opened("author", of="orders-app", migration=KINESIS)

    assert cutover_fields.STATES not in [each.key for each in page.selectbox]
