"""A file that is made when it is asked for: one click in a real browser gives it, or the reason why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import console, settle

pytestmark = pytest.mark.timeout(600)

STREAMLIT: Final = ("-c", "from streamlit.web.cli import main; main()", "run")
PAGE: Final = """
from pathlib import Path

import streamlit as st

from offsetwise.console.widgets import downloads
from offsetwise.errors import StoreUnreachableError


def make() -> bytes:
    with Path("asked").open("a") as asked:
        asked.write("x")
    if not Path("there").exists():
        raise StoreUnreachableError("Store: the database did not answer.", fix="Start it.")
    return Path("there").read_bytes()


st.title("Files")
request = downloads.on_request("Rows", "rows.csv", make, key="rows", about="all", says="Every row.")
downloads.reason(request, key="rows-failed")
"""


def test_one_click_gives_the_file_and_where_it_cannot_be_made_the_reason(browser: Browser, tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(PAGE, encoding="utf-8")
    served = (*STREAMLIT, str(app), "--server.port", "{port}", "--server.address", "127.0.0.1")
    with (
        console(*served, log=tmp_path / "log", cwd=tmp_path) as address,
        browser.new_context() as context,
    ):
        page = context.new_page()
        page.goto(address)
        settle(page)
        button = page.get_by_role("button", name="Rows")
        # Streamlit's own words about the button stand above the page for a moment.
        reason = page.get_by_role("paragraph").filter(has_text="the database did not answer")
        button.click()
        expect(reason).to_be_visible()
        settle(page)
        (tmp_path / "there").write_bytes(b"1\n")
        for _ in range(2):
            with page.expect_download() as download:
                button.click()
            assert download.value.suggested_filename == "rows.csv"
            assert Path(download.value.path()).read_bytes() == b"1\n"
            expect(reason).to_have_count(0)
            settle(page)
    assert (tmp_path / "asked").read_text() == "xxx", "it is made once for each click"
