"""The Cutover page in a real browser: 200 jobs watched once asked for, drawn again by itself, and whole."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, Serve, keep, settle, whole
from tests.browser.test_phone import DESKTOP, HEIGHT, WIDTH, look
from tests.browser.test_screens import accessible, fits, in_each_theme, opened

PAGE = "cutover?migration=orders-to-new"
PATIENCE_MS = 60_000


def press(page: Page, *names: str) -> None:
    """Press the first of these buttons that there is."""
    settle(page)
    buttons = [page.get_by_role("button", name=name, exact=True) for name in names]
    next(button for button in buttons if button.count()).click()


def kept_in_each_theme(page: Page, name: str) -> None:
    """Hold that the page is whole and accessible in each theme, and keep its pictures."""
    for theme in in_each_theme(page):
        accessible(page)
        fits(page)
        keep(page, f"{name}-{theme}")


def opened_on_a_desk(page: Page, address: str) -> None:
    opened(page, f"{address}/{PAGE}")
    page.set_viewport_size(DESKTOP)


def test_two_hundred_jobs_are_whole_and_accessible_on_a_wall_and_on_a_phone(page: Page, serve: Serve) -> None:
    opened_on_a_desk(page, serve("cutover"))
    accessible(page)
    press(page, "Watch")
    expect(page.get_by_text("40 of 200 jobs cannot go on")).to_be_visible(timeout=PATIENCE_MS)
    lanes = page.get_by_role("list", name="Jobs", exact=True)
    expect(lanes.get_by_role("listitem")).to_have_count(50)
    expect(lanes.get_by_role("listitem").first).to_contain_text("! different")
    expect(page.get_by_text("OLD_LOG_GROWS").first).to_be_visible()
    kept_in_each_theme(page, "cutover")

    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    for theme in in_each_theme(page):
        look(page, PAGE)
        whole(page)
        page.screenshot(path=SCREENSHOTS / f"cutover-{theme}-{WIDTH}.png")


COUNTS: Final = (
    ("cutover-many", "2,000 of 10,000 jobs cannot go on", 50),
    ("cutover-two", "2 of 2 jobs cannot go on", 2),
)


@pytest.mark.gates
@pytest.mark.parametrize(("scenario", "answer", "lanes"), COUNTS)
def test_two_jobs_and_ten_thousand_are_as_clear_as_two_hundred(
    page: Page, serve: Serve, scenario: str, answer: str, lanes: int
) -> None:
    opened_on_a_desk(page, serve(scenario))
    press(page, "Watch")
    expect(page.get_by_text(answer)).to_be_visible(timeout=PATIENCE_MS)
    items = page.get_by_role("list", name="Jobs", exact=True).get_by_role("listitem")
    expect(items).to_have_count(lanes)
    expect(items.first).to_contain_text("! different")
    kept_in_each_theme(page, scenario)


def test_jobs_are_not_taken_for_those_of_now_where_a_cluster_is_silent(page: Page, serve: Serve) -> None:
    opened_on_a_desk(page, serve("cutover-down"))
    press(page, "Watch")
    warning = page.get_by_role("alert").filter(has_text="No look for")
    expect(warning).to_contain_text("Cluster 'new': expected an answer within 20 s", timeout=PATIENCE_MS)
    expect(page.get_by_text("40 of 200 jobs cannot go on")).to_be_visible()
    kept_in_each_theme(page, "cutover-down")


def test_the_page_follows_the_jobs_without_a_click_and_ends_when_all_have_caught_up(page: Page, serve: Serve) -> None:
    opened(page, f"{serve('cutover')}/{PAGE}")
    press(page, "Watch")
    press(page, "Stop watching")
    press(page, "Watch again")

    expect(page.get_by_text("40 of 200 jobs cannot go on")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("All of 200 jobs caught up.")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("Every job has caught up; nobody watches any more.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop watching")).to_have_count(0)
    keep(page, "cutover-caught-up")
