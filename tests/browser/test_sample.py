"""The bundled sample migration in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import choose, console, process, settle
from tests.browser.keyboard import tabbed
from tests.gates import of_all
from tools.screenshots import pages


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size({"width": 1400, "height": 1000})
    return page


def test_the_overview_shows_1050_beside_950_and_leads_to_the_proof(page: Page, bundled: str) -> None:
    page.goto(bundled)
    settle(page)
    case = page.get_by_text("The same record sits at")
    expect(case).to_contain_text("1,050")
    expect(case).to_contain_text("950")
    page.get_by_role("button", name="Open the sample").click()
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()
    expect(page.get_by_text("Why 950")).to_be_visible()


def test_the_sample_is_explored_without_java_and_starts_nothing(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with process("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as (address, server):
        for path in ("", "compare"):
            page.goto(f"{address}/{path}")
            settle(page)
            expect(page.get_by_role("heading", level=1).first).to_be_visible()
        started = Path(f"/proc/{server}/task/{server}/children")

        assert not started.exists() or started.read_text() == ""


def test_1050_and_950_stand_on_one_row_flagged_and_its_evidence_opens(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/compare?topic=orders&row=orders-1")
    settle(page)
    expect(page.get_by_role("heading", name="Evidence · orders-1")).to_be_visible()
    named = page.locator("[aria-label*='what the old number would do']")
    grid = page.get_by_test_id("stDataFrame").filter(has=named).first
    first = grid.locator("tr[role=row]").nth(1)
    expect(first).to_contain_text("1050")
    expect(first).to_contain_text("950")
    expect(first).to_contain_text("! skips 100")
    grid.scroll_into_view_if_needed()
    box = grid.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 16, box["y"] + 35 + 17)
    expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()
    expect(page).not_to_have_url(re.compile("row=orders-1"))
    expect(page.get_by_text("If nobody edits it")).to_be_visible()


def test_a_click_on_any_cell_selects_its_row(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/compare")
    settle(page)
    named = page.locator("[aria-label*='what the old number would do']")
    grid = page.get_by_test_id("stDataFrame").filter(has=named).first
    grid.scroll_into_view_if_needed()
    for row, across, name in (
        (3, 0.15, "payments-0"),
        (1, 0.5, "orders-0"),
        (8, 0.9, "clicks-0"),
        (2, 0.3, "orders-1"),
    ):
        box = grid.locator("canvas").first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + across * box["width"], box["y"] + 35 * row + 17)
        expect(page.get_by_role("heading", name=f"Evidence · {name}")).to_be_visible()
        settle(page)
    expect(page.get_by_label("Evidence of")).to_have_value("orders-1")


def test_the_tab_of_the_browser_says_which_job_is_shown(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/compare?of=checkpoint%20payments")
    settle(page)
    expect(page).to_have_title("Compare · checkpoint payments · Offsetwise")


STRAIGHT: Final = ("", "compare", "review")
"""Pages of each kind: that of the migration, of one job, and of plans."""


@pytest.mark.parametrize(
    "path",
    of_all(pages(), STRAIGHT),
    ids=lambda path: path or "overview",
)
def test_the_first_request_of_a_fresh_server_may_go_straight_to_any_page(page: Page, tmp_path: Path, path: str) -> None:
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as address:
        page.goto(f"{address}/{path}")
        settle(page)
        expect(page.get_by_text("Page not found")).to_have_count(0)
        expect(page.get_by_role("dialog")).to_have_count(0)
        wanted = path.capitalize() or "Offsetwise"
        expect(page.get_by_role("heading", name=wanted, level=1)).to_be_visible()


def test_what_is_shown_can_be_downloaded(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/compare?topic=orders")
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).first.click()
    text = Path(download.value.path()).read_text()
    assert text.startswith("topic,p,old offset,new offset,shift,")
    assert "orders,0,1050,950,-100," in text


def test_the_page_can_be_used_with_the_keyboard_alone(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/compare")
    settle(page)
    reached = tabbed(page, until="Evidence of")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Evidence · orders-1")).to_be_visible()
    for control in ("Overview", "Help", "Migration", "Job", "Topic", "If unedited", "Order"):
        assert any(name.startswith(control) for name in reached), f"{control}: Tab reached only {reached}"


@pytest.mark.gates
def test_two_sessions_with_different_filters_do_not_disturb_each_other(browser: Browser, bundled: str) -> None:
    one, other = (browser.new_context(viewport={"width": 1400, "height": 1000}).new_page() for _ in range(2))
    one.goto(f"{bundled}/compare?topic=orders&row=orders-1")
    other.goto(f"{bundled}/compare?topic=payments")
    settle(one)
    settle(other)
    expect(one.get_by_role("heading", name="Evidence · orders-1")).to_be_visible()
    expect(other.get_by_role("heading", name="Evidence · payments-0")).to_be_visible()
    choose(other, "Evidence of", "payments-1")
    expect(other.get_by_role("heading", name="Evidence · payments-1")).to_be_visible()
    one.reload()
    settle(one)
    expect(one.get_by_role("heading", name="Evidence · orders-1")).to_be_visible()
    expect(one).to_have_url(re.compile("topic=orders"))
    expect(other).to_have_url(re.compile("row=payments-1"))
    for page in (one, other):
        page.context.close()
