"""After Submit and after Approve the confirmation is on the screen, wherever the page was scrolled to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import console, settle

WIDTH, HEIGHT = 1440, 900


def in_viewport(page: Page, shown: Locator) -> bool:
    """Whether all of it is on the screen, and stays there once the page is drawn to its end."""
    settle(page)
    box = shown.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= HEIGHT


@pytest.mark.parametrize(
    ("migration", "of"),
    [
        ("orders-to-new (sample)", "checkpoint orders"),
        ("order-counts-to-new (sample)", "checkpoint order-counts"),
        ("orders-to-frankfurt (sample)", "checkpoint orders-app"),
        ("orders-to-frankfurt (sample)", "checkpoint orders-query"),
    ],
)
def test_the_confirmation_is_seen(browser: Browser, tmp_path: Path, migration: str, of: str) -> None:
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as address:
        page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
        page.goto(f"{address}/draft?migration={migration.replace(' ', '+')}&of={of.replace(' ', '+')}&play=author")
        settle(page)
        page.get_by_role("button", name="Submit for review").click()
        toast = page.get_by_test_id("stToast").filter(has_text="Plan 1 is submitted for review")
        expect(toast).to_be_visible()
        assert in_viewport(page, toast)
        box = page.get_by_text("Plan 1 waits for a decision about exactly")
        expect(box).to_be_visible()
        assert in_viewport(page, box)

        page.get_by_role("button", name="Continue as Rita").click()
        expect(page.get_by_text("You play Rita, who reviews")).to_be_visible()
        page.goto(f"{address}/review?play=reviewer&plan=1")
        settle(page)
        typed = page.get_by_role("textbox", name="to approve")
        if typed.count():
            label = page.get_by_text(re.compile("Type .* to approve")).first.inner_text()
            found = re.search("Type (.+) to approve", label)
            assert found is not None
            typed.fill(found[1])
        page.get_by_role("button", name=re.compile("Approve$")).click()
        toast = page.get_by_test_id("stToast").filter(has_text="Approved.")
        expect(toast).to_be_visible()
        assert in_viewport(page, toast)
        box = page.get_by_text("Approved: version")
        expect(box).to_be_visible()
        assert in_viewport(page, box)
        page.context.close()
