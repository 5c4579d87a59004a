"""The live lab in a real browser: two brokers, MirrorMaker, a Spark checkpoint, and the console over them."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import CLI, SCREENSHOTS, console, settle, whole

COMPARE_SECONDS = 300


@pytest.mark.timeout(900)
def test_a_person_compares_the_live_lab_and_sees_1050_beside_950(
    browser: Browser, sample: Path, tmp_path: Path
) -> None:
    command = ("-c", CLI, "console", "--migration", str(sample), "--port", "{port}")
    with console(*command, log=tmp_path / "log") as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(address)
        settle(page)
        expect(page.get_by_text("? not compared yet").first).to_be_visible()
        page.get_by_role("link", name="Compare", exact=True).nth(1).click()
        page.get_by_role("button", name="Compare now").click()
        expect(page.get_by_text("Reading checkpoint orders and both clusters")).to_be_visible()
        expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible(timeout=COMPARE_SECONDS * 1_000)
        settle(page)
        named = page.locator("[aria-label*='what the old number would do']")
        first = page.get_by_test_id("stDataFrame").filter(has=named).first.locator("tr[role=row]").nth(1)
        for text in ("orders", "1050", "950", "! skips 100"):
            expect(first).to_contain_text(text)
        expect(page.get_by_text("Why 950")).to_be_visible()
        expect(page.get_by_text("would go wrong")).to_be_visible()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        whole(page)
        page.screenshot(path=SCREENSHOTS / "live-compare.png")
        page.reload()
        settle(page)
        expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()
        page.close()
