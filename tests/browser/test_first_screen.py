"""What a stranger sees without scrolling: 1,050 above 950, what is between, and which numbers change."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from offsetwise.console.help import questions
from tests.browser.conftest import console, settle
from tests.browser.test_confirmations import in_viewport
from tests.browser.test_phone import look
from tests.browser.test_review import SERVE
from tests.gates import of_all

DESK, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
SIZES = [pytest.param(DESK, id="desk"), pytest.param(PHONE, id="phone")]
CHOSEN = {
    "draft?play=author": "Decide about",
    "review?play=reviewer": "Details of",
    "audit?play=reviewer": "Row",
}
"""By page: the list that names the row that is open."""


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size(DESK)
    return page


def stands(page: Page, shown: Locator) -> None:
    """Hold that it is on the screen, whole, before anything was scrolled."""
    expect(shown).to_be_visible()
    assert in_viewport(page, shown)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0


@pytest.mark.parametrize("size", SIZES)
def test_the_numbers_stand_on_the_first_screen(page: Page, bundled: str, size: ViewportSize) -> None:
    page.set_viewport_size(size)
    page.goto(f"{bundled}/compare")
    settle(page)
    stands(page, page.get_by_role("cell", name="1,050 → 950").first)


def test_both_rulers_and_their_sentence_stand_on_the_first_screen(page: Page, bundled: str) -> None:
    for path, sentence in (("", "The same record sits at"), ("compare", "on the old cluster and")):
        page.goto(f"{bundled}/{path}")
        settle(page)
        stands(page, page.get_by_text(sentence).first)
        chart = page.locator(".js-plotly-plot").first
        stands(page, chart)
        for drawn in ("1,050", "950", "100 records never read"):
            expect(chart).to_contain_text(drawn)


@pytest.mark.gates
def test_a_click_on_any_cell_opens_its_row_on_the_pages_of_a_plan(page: Page, tmp_path: Path) -> None:
    with console(*SERVE, log=tmp_path / "log") as address:
        for path, name in CHOSEN.items():
            page.goto(f"{address}/{path}")
            settle(page)
            chosen = page.get_by_role("combobox", name=name, exact=True)
            before = chosen.input_value()
            grid = page.get_by_test_id("stDataFrame").filter(visible=True).first
            grid.scroll_into_view_if_needed()
            box = grid.locator("canvas").first.bounding_box()
            assert box is not None
            page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 35 * 2 + 17)
            expect(chosen).not_to_have_value(before)


@pytest.mark.parametrize("size", of_all(SIZES, SIZES[-1:]))
def test_beside_each_title_a_button_opens_what_the_page_is_about(page: Page, bundled: str, size: ViewportSize) -> None:
    page.set_viewport_size(size)
    asked = {title: question for title, question in questions().items() if title != "Overview"}  # which says it at once
    for title in of_all([*asked], ["Compare", "Review"]):
        page.goto(f"{bundled}/{title.lower()}")
        settle(page)
        button = page.get_by_role("button", name="About this page")
        stands(page, button)
        button.click()
        opened = page.get_by_role("dialog")
        expect(opened).to_contain_text(asked[title])
        if title == "Review":
            look(page, "the dialog")
        page.keyboard.press("Escape")
        expect(opened).to_have_count(0)
