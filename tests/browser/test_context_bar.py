"""The two lines over every title: who looks or is played, which job is shown, and what waits in the navigation."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Serve, choose, console, settle
from tests.gates import of_all
from tests.screens import OF_ONE_MIGRATION
from tools.screenshots import LINKS

WAIT_S = 10


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size({"width": 1440, "height": 900})
    return page


def test_the_bar_names_migration_job_and_clusters_whole_above_the_title(page: Page, bundled: str) -> None:
    for path in of_all((*OF_ONE_MIGRATION, "draft", "fleet"), ("compare", "draft", "fleet")):
        page.goto(f"{bundled}/{path}?{LINKS['kinesis']}")
        settle(page)
        title = page.get_by_role("heading", level=1).bounding_box()
        chosen = page.get_by_role("combobox", name="Migration")
        expect(chosen).to_have_value("orders-to-frankfurt (sample)")
        for name in ("Migration", *(["Job"] if path not in ("clusters", "fleet") else [])):
            entry = page.get_by_role("combobox", name=name)
            assert entry.evaluate("one => one.scrollWidth <= one.clientWidth"), f"{path}: the {name} is cut"
            box = entry.bounding_box()
            assert box is not None
            assert title is not None
            assert box["y"] + box["height"] <= title["y"], f"{path}: the {name} stands over the title"
        if path != "draft":
            expect(page.locator(".st-key-context-bar")).to_contain_text("→")
        expect(page.get_by_test_id("stSidebar").get_by_role("combobox")).to_have_count(0)


@pytest.mark.gates
def test_a_job_stays_chosen_on_the_way_over_pages_that_show_none(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/compare")
    settle(page)
    choose(page, "Job", "checkpoint payments")
    expect(page).to_have_url(re.compile("of=checkpoint(\\+|%20)payments"))
    for name in ("Help", "Audit", "Lag"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
        settle(page)
    expect(page.get_by_role("combobox", name="Job")).to_have_value("checkpoint payments")


@pytest.mark.gates
def test_a_part_is_changed_in_the_line_and_a_plan_arrives_in_another_window(browser: Browser, tmp_path: Path) -> None:
    author, reviewer = (browser.new_context(viewport={"width": 1440, "height": 900}).new_page() for _ in range(2))
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as address:
        reviewer.goto(f"{address}/lag?play=reviewer")
        settle(reviewer)
        expect(reviewer.get_by_text("You play Rita, who reviews")).to_be_visible()
        expect(reviewer.get_by_text("Not signed in")).to_have_count(0)
        expect(reviewer.get_by_role("link", name="Review", exact=True)).to_be_visible()
        author.goto(f"{address}/draft?play=author")
        settle(author)
        author.get_by_role("button", name="Submit for review").click()
        expect(author.get_by_text("Plan 1 waits for a decision about exactly")).to_be_visible()
        submitted = time.monotonic()
        link = reviewer.get_by_role("link", name="Review (1)", exact=True)
        expect(link).to_be_visible(timeout=WAIT_S * 1_000)
        assert time.monotonic() - submitted <= WAIT_S
        link.click()
        expect(reviewer.get_by_role("heading", name="Review", level=1)).to_be_visible()
        expect(reviewer).to_have_title(re.compile(r"^\(1\) Review · "))

        author.get_by_role("button", name="Continue as Vera").click()
        expect(author.get_by_text("You play Vera, who looks")).to_be_visible()
        expect(author).to_have_url(re.compile("play=viewer"))
        author.reload()
        expect(author.get_by_text("You play Vera, who looks")).to_be_visible()
        settle(author)
        author.get_by_role("button", name="End", exact=True).click()
        expect(author.get_by_text("You play")).to_have_count(0)
        expect(author).not_to_have_url(re.compile("play="))
    for page in (author, reviewer):
        page.context.close()


def test_the_demonstration_is_not_offered_beside_ones_own_migration(page: Page, serve: Serve, bundled: str) -> None:
    page.goto(f"{bundled}/draft")
    settle(page)
    expect(page.get_by_role("button", name="Try the demonstration")).to_be_visible()
    page.goto(f"{serve('unread')}/draft")
    settle(page)
    expect(page.get_by_text("Nobody can sign in here")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("demonstration|Play"))).to_have_count(0)
