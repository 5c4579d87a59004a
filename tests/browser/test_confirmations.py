"""The decision bar is on the screen wherever the page is scrolled to, with what came of a button and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import console, settle
from tests.browser.test_heights import SCREENS, screens
from tests.gates import of_all

WIDTH, HEIGHT = 1440, 900
BAR = ".st-key-decision-bar"
SAMPLES = (
    ("orders-to-new (sample)", "checkpoint orders"),
    ("order-counts-to-new (sample)", "checkpoint order-counts"),
    ("orders-to-frankfurt (sample)", "checkpoint orders-app"),
    ("orders-to-frankfurt (sample)", "checkpoint orders-query"),
)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A console with no plans yet."""
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as made:
        yield made


def in_viewport(page: Page, shown: Locator) -> bool:
    """Whether all of it is on the screen, and stays there once the page is drawn to its end."""
    settle(page)
    box, size = shown.bounding_box(), page.viewport_size
    return box is not None and size is not None and box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


def fill_in(page: Page) -> None:
    """Type what an approval asks for: a reason for each check that is not met, and the word of an unsafe plan."""
    for field in page.get_by_role("textbox", name="Approve in spite of").all():
        field.fill("It was stopped a minute later.")
    label = page.get_by_text(re.compile("Type .* to approve"))
    if label.count():
        found = re.search("Type (.+) to approve", label.first.inner_text())
        assert found is not None
        page.get_by_role("textbox", name="to approve").fill(found[1])


@pytest.mark.parametrize(("migration", "of"), of_all(SAMPLES, SAMPLES[-1:]))
def test_what_came_of_submit_and_approve_is_seen_with_the_next_step(
    browser: Browser, address: str, migration: str, of: str
) -> None:
    page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
    page.goto(f"{address}/draft?migration={migration.replace(' ', '+')}&of={of.replace(' ', '+')}&play=author")
    settle(page)
    bar = page.locator(BAR)
    name = of.partition(" ")[2]
    expect(bar).to_contain_text(f"New plan · {name}")
    expect(bar).to_contain_text("open check")
    assert screens(page) <= SCREENS
    bar.get_by_role("button", name="Submit for review").click()
    said(page, "Plan 1 is submitted for review", "Plan 1 waits for a decision about exactly")
    expect(bar).to_contain_text(f"Plan 1 · {name}")
    expect(bar).to_contain_text("waits for Rita")

    bar.get_by_role("button", name="Open on Review as Rita").click()
    expect(page.get_by_role("heading", name="Review", level=1)).to_be_visible()
    settle(page)
    expect(page.get_by_role("heading", name=f"Plan 1 · {name}")).to_be_visible()
    assert screens(page) <= SCREENS
    fill_in(page)
    bar.get_by_role("button", name=re.compile("Approve$")).click()
    said(page, "Approved.", "Approved: version")
    bar.get_by_role("button", name=re.compile("Export$")).click()
    expect(page.get_by_text("Approved: version 1, 1 approval of 1 asked for.")).to_be_visible()
    expect(page.locator(BAR)).to_have_count(0)
    settle(page)
    assert screens(page) <= SCREENS
    page.context.close()


def said(page: Page, short: str, whole: str) -> None:
    """Hold that the corner of the window and the bar say what came of a button, both on the screen."""
    toast = page.get_by_test_id("stToast").filter(has_text=short)
    expect(toast).to_be_visible()
    assert in_viewport(page, toast)
    box = page.locator(BAR).get_by_text(whole)
    expect(box).to_be_visible()
    assert in_viewport(page, box)


@pytest.mark.parametrize(("width", "height"), [(WIDTH, HEIGHT), (390, 844)], ids=["desktop", "phone"])
def test_the_bar_stays_wherever_the_page_is_scrolled_to(
    browser: Browser, address: str, width: int, height: int
) -> None:
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.goto(f"{address}/draft?play=author")
    settle(page)
    submit = page.locator(BAR).get_by_role("button", name="Submit for review")
    for top in (0, 700, 100_000):
        page.evaluate("top => document.querySelector('[data-testid=stMain]').scrollTo(0, top)", top)
        assert in_viewport(page, submit)
        bar = page.locator(BAR).bounding_box()
        assert bar is not None
        assert bar["height"] < height / 3, "most of the screen is the page's"
        assert bar["x"] >= 0
        assert bar["x"] + bar["width"] <= width
    page.context.close()
