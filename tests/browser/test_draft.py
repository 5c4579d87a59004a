"""From the bundled sample to a submitted plan, in a real browser, as the people of the demonstration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import choose, console, keep, settle


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[str]:
    """A console with no plans yet."""
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as address:
        yield address


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size({"width": 1400, "height": 1000})
    return page


@pytest.mark.gates
def test_a_plan_of_the_sample_is_drafted_submitted_edited_and_waits_for_the_reviewer(page: Page, fresh: str) -> None:
    page.goto(fresh)
    settle(page)
    page.get_by_role("link", name="Open Draft", exact=True).click()
    expect(page.get_by_role("heading", name="Draft", level=1)).to_be_visible()
    expect(page.get_by_text("Nobody can sign in here")).to_be_visible()
    page.get_by_role("button", name="Play Ada, who drafts").click()
    expect(page.get_by_text("You play Ada, who drafts")).to_be_visible()
    expect(page).to_have_url(re.compile("play=author"))
    choose(page, "Way", "group offsets")
    expect(page.get_by_text("✓ applies here")).to_be_visible()
    settle(page)

    page.get_by_role("button", name="Submit for review").click()
    told = page.get_by_text("Plan 1 waits for a decision about exactly")
    expect(told).to_be_visible()
    first = digest(told.inner_text())
    expect(page.get_by_role("button", name="Open on Review as Rita")).to_be_visible()

    page.get_by_text("Decide otherwise about").click()
    page.get_by_label("Another offset on the new cluster").fill("947")
    page.get_by_label("Why it is right").first.fill("Three again: the sink drops them.")
    page.get_by_role("button", name="Decide", exact=True).click()
    expect(page.get_by_test_id("stMetric").filter(has_text="Replayed")).to_contain_text("≤ 3")
    expect(page.get_by_text("Version 2 of plan 1")).to_be_visible()
    settle(page)
    keep(page, "draft-decided")
    page.get_by_role("button", name="Submit for review").click()
    expect(told).not_to_contain_text(first)
    second = digest(told.inner_text())

    page.get_by_role("button", name="Continue as Rita").click()
    expect(page.get_by_text("You play Rita, who reviews")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_text("waits for your decision")).to_be_visible()
    row = page.get_by_test_id("stMarkdown").filter(has_text="waits for your decision")
    expect(row).to_contain_text("Ada, who drafts")
    expect(row).to_contain_text(second)
    settle(page)
    keep(page, "overview-waiting")
    page.get_by_role("link", name="Open", exact=True).first.click()
    expect(page.get_by_role("heading", name="Review", level=1)).to_be_visible()
    expect(page.get_by_text(second).first).to_be_visible()


def test_the_author_of_the_demonstration_sees_who_is_barred_and_the_full_digest(page: Page, fresh: str) -> None:
    page.goto(f"{fresh}/draft?play=author")
    settle(page)
    barred = page.get_by_test_id("stMarkdown").filter(has_text="Barred from deciding about it")
    expect(barred).to_contain_text("Ada, who drafts")
    shown = digest(page.get_by_text("A decision names exactly this").inner_text())
    page.get_by_role("button", name="Full digest").click()
    full = page.get_by_test_id("stCode").filter(has_text=shown)
    expect(full).to_have_text(re.compile("^[0-9a-f]{64}$"))
    with page.expect_download() as download:
        page.get_by_role("button", name="DRAFT plan").click()
    assert download.value.suggested_filename == f"plan-{shown}.DRAFT.json"


def digest(text: str) -> str:
    found = re.search(r"\b[0-9a-f]{8}\b", text)
    assert found is not None, text
    return found[0]
