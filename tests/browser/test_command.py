"""`offsetwise console --migration FILE` in a real browser, with clusters that are down."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import CLI, SCREENSHOTS, console, settle, whole
from tests.console.test_data import migration


def test_a_migration_whose_clusters_are_down_keeps_checkpoint_and_sample(browser: Browser, tmp_path: Path) -> None:
    command = ("-c", CLI, "console", "--migration", str(migration(tmp_path)), "--port", "{port}")
    with console(*command, log=tmp_path / "log") as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{address}/compare?migration=mine")
        settle(page)
        page.get_by_role("button", name="Compare now").click()
        expect(page.get_by_text("The cluster does not answer")).to_be_visible(timeout=120_000)
        expect(page.get_by_role("heading", name="What the checkpoint says on its own")).to_be_visible()
        settle(page)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        whole(page)
        page.screenshot(path=SCREENSHOTS / "command-down.png")
        page.goto(address)
        settle(page)
        expect(page.get_by_text("the last attempt failed")).to_be_visible()
        expect(page.get_by_role("button", name="Open the sample")).to_be_visible()
        page.close()
