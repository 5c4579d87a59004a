"""How much of a page a person scrolls: no page of a sample is longer than two and a half screens at 1440 x 900."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from offsetwise.console.reader import Reader
from tests.browser.conftest import settle
from tests.gates import of_all
from tests.screens import OF_ONE_MIGRATION
from tools.screenshots import pages, rest

SCREENS = 2.5
WIDTH, HEIGHT = 1440, 900
OF_ONE_JOB = (*OF_ONE_MIGRATION, "fleet")
ELSEWHERE = ("draft", "review", "export")
"""Pages of a plan, which `test_confirmations.py` walks through and measures as these are."""
TITLE_PX, ABOVE_PX = 28, 24
"""The largest title, and the most of nothing above it."""
TITLE = """() => {
    const title = document.querySelector('h1')
    const box = (one) => one.getBoundingClientRect()
    const line = box(document.querySelector('.st-key-top-line'))
    const above = Math.max(line.bottom, box(document.querySelector('.st-key-context-bar')).bottom)
    const row = box(title.closest('[data-testid="stHorizontalBlock"]'))
    return [parseFloat(getComputedStyle(title).fontSize), line.top, row.top - above, row.height]
}"""
"""The size of a title, what is empty above the first line of the page and above the title, and how tall its row is."""
GRIDS = {
    "compare": ("what the old number would do", "Evidence · "),
    "lag": ("with position and lag on both clusters", " over time"),
    "fleet": ("with verdict, age, problems", "Facts · "),
    "draft?play=author": ("old offset, planned offset", "Evidence · "),
}
"""By page: words of its table's description, and of the heading of what a row opens."""


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    return page


def screens(page: Page) -> float:
    """Return how many screens long the page is."""
    rest(page)
    return float(page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")) / HEIGHT


def addresses() -> list[str]:
    """Every page of the first job of every sample, in full of every job, and the pages of no job."""
    of_jobs = [
        f"{path}?{urlencode(sample.address(subject))}"
        for sample in Reader(()).offered()
        for subject in of_all(sample.subjects, sample.subjects[:1])
        for path in OF_ONE_JOB
    ]
    return [*(path for path in pages() if path not in (*OF_ONE_JOB, *ELSEWHERE)), *of_jobs]


@pytest.mark.gates
def test_no_page_of_a_sample_is_longer_than_two_and_a_half_screens_and_nothing_is_wasted_above_its_title(
    page: Page, bundled: str, figure: Callable[[str], None]
) -> None:
    heights = {}
    for path in [*addresses(), *ELSEWHERE]:
        page.goto(f"{bundled}/{path}")
        settle(page)
        size, first, above, row = page.evaluate(TITLE)
        assert size <= TITLE_PX, path
        assert first <= ABOVE_PX, path
        assert above <= ABOVE_PX, path
        assert row <= TITLE_PX + ABOVE_PX, path
        if path not in ELSEWHERE:
            heights[path] = screens(page)
    longest = max(heights, key=lambda path: heights[path])
    figure(f"the longest page of the samples is {longest} with {heights[longest]:.1f} screens")
    assert {path: height for path, height in heights.items() if height > SCREENS} == {}


@pytest.mark.parametrize("path", of_all([*GRIDS], ["compare"]))
def test_what_a_row_opens_stands_beside_its_table_on_one_screen(page: Page, bundled: str, path: str) -> None:
    described, heading = GRIDS[path]
    page.goto(f"{bundled}/{path}")
    settle(page)
    named = page.locator(f"[aria-label*='{described}']")
    grid = page.get_by_test_id("stDataFrame").filter(has=named).first
    grid.scroll_into_view_if_needed()
    before = page.get_by_role("heading", name=heading).first.inner_text()
    box = grid.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 35 * 2 + 17)
    opened = page.get_by_role("heading", name=heading).first
    expect(opened).not_to_have_text(before)
    settle(page)
    table, proof = grid.bounding_box(), opened.bounding_box()
    assert table is not None
    assert proof is not None
    assert proof["x"] >= table["x"] + table["width"], "it stands beside the table"
    assert 0 <= proof["y"] <= HEIGHT - 100, "it is on the screen, without scrolling"
    assert table["y"] <= HEIGHT - 100
