"""`offsetwise console --migration FILE` in a real browser, with clusters that are down."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Dialog, expect

from tests.browser.conftest import CLI, SCREENSHOTS, console, settle, whole
from tests.console.test_reader import migration
from tools.screenshots import pages


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
        expect(page.get_by_text("3 jobs · 1 not readable · 2 not compared")).to_be_visible()
        page.get_by_text("3 bundled sample migrations").click()
        expect(page.get_by_role("button", name="Open the sample")).to_be_visible()
        page.close()


@pytest.mark.skipif(sys.platform != "linux", reason="another system has another command that opens a browser")
def test_the_console_is_opened_in_the_browser_where_there_is_a_display(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    (tmp_path / "xdg-open").write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part; mv {opened}.part {opened}\n')
    (tmp_path / "xdg-open").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("STREAMLIT_SERVER_HEADLESS", "false")

    with console("-c", CLI, "console", "--port", "{port}", log=tmp_path / "log") as address:
        end = time.monotonic() + 60
        while not opened.exists() and time.monotonic() < end:
            time.sleep(0.05)

    assert opened.read_text() == address


HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.gates
def test_hostile_names_of_a_migration_are_markup_on_no_page(browser: Browser, tmp_path: Path) -> None:
    file = migration(tmp_path)
    text = file.read_text(encoding="utf-8")
    for name in ("mine", "prod-a", "prod-b", "orders-etl"):
        assert name in text
        text = text.replace(name, f"'{name} {HOSTILE}'")
    file.write_text(text, encoding="utf-8")
    command = ("-c", CLI, "console", "--migration", str(file), "--port", "{port}")
    with console(*command, log=tmp_path / "log") as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        dialogs: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", dismiss)
        chosen = urlencode({"migration": f"mine {HOSTILE}", "of": f"group orders-etl {HOSTILE}"})
        shown = ""
        for path in pages():
            page.goto(f"{address}/{path}?{chosen}")
            settle(page)
            assert page.locator("img[src=x]").count() == 0
            expect(page.get_by_test_id("stException")).to_have_count(0)
            shown += page.get_by_test_id("stApp").inner_text()
        assert shown.count(HOSTILE) >= len(pages()), "the names are shown, as text"
        assert dialogs == []
        page.close()
