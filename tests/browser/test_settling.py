"""Transactions of a sink on the Draft and Clusters pages, in a real browser, for somebody who signed in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import choose, console, keep, settle
from tests.browser.oidc import provider
from tests.browser.signing import sign_in, write_secrets
from tests.browser.test_screens import accessible, fits
from tests.console.test_draft_settling import SETTLE
from tools.screenshots import THEMES, Theme

OF = f"migration=orders-to-new&of={quote('checkpoint orders')}"


@pytest.fixture
def operated(tmp_path: Path) -> Iterator[str]:
    """A console that people sign in to, over a sink with open transactions."""
    with provider({"ada": {"name": "Ada"}}) as running:
        write_secrets(tmp_path, running.issuer)
        access = {"sign_in": "required", "roles": {"author": [{"issuer": running.issuer, "subject": "ada"}]}}
        (tmp_path / "access.yaml").write_text(yaml.safe_dump(access), encoding="utf-8")
        command = ("-m", "tests.browser.settling", "{port}")
        with console(*command, log=tmp_path / "log", cwd=tmp_path) as address:
            yield address


def shown(page: Page, name: str) -> None:
    """Whole, accessible, and kept as a picture."""
    settle(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.locator("img[src=x]")).to_have_count(0)
    accessible(page)
    fits(page)
    keep(page, name)


@pytest.mark.gates
@pytest.mark.parametrize("theme", THEMES)
def test_an_author_asks_decides_drafts_and_submits_and_the_clusters_page_shows_what_waits(
    browser: Browser, operated: str, theme: Theme
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme=theme)
    page = context.new_page()
    page.goto(f"{operated}/draft?{OF}&does={quote(SETTLE)}")
    settle(page)
    sign_in(page, "ada")
    page.get_by_role("button", name="Ask the sink's cluster").click()
    expect(page.get_by_text("4 transactions to be ended or looked into")).to_be_visible()
    expect(page.get_by_text("The first time-out is at")).to_be_visible()
    for _ in range(2):
        choose(page, "Transactions", None)
        page.keyboard.press("Escape")
        settle(page)
        page.get_by_test_id("stRadio").get_by_text("aborted", exact=True).click()
        page.get_by_label("Why it is right").fill("Its job was deleted.")
        page.get_by_role("button", name="Decide", exact=True).click()
        expect(page.get_by_role("button", name="Take back")).to_be_visible()
        settle(page)
    page.get_by_role("button", name="Draft the plan").click()
    expect(page.get_by_text("1 transaction is committed and 3 transactions are aborted").first).to_be_visible()
    shown(page, f"draft-settling-{theme}")
    page.get_by_role("button", name="Submit for review").click()
    expect(page.get_by_text("waits for a decision about exactly")).to_be_visible()

    page.goto(f"{operated}/clusters?{OF}")
    settle(page)
    page.get_by_role("button", name="Read both clusters").click()
    expect(page.get_by_role("button", name="Read again", exact=True)).to_have_count(2)
    expect(page.get_by_role("tab", name="Topics")).to_have_attribute("aria-selected", "true")
    settle(page)
    page.get_by_role("tab", name="Transactions of the sink").click()
    expect(page.get_by_role("heading", name="Transactions of the sink")).to_be_visible()
    expect(page.get_by_text("held back in 1 partition of the sink")).to_be_visible()
    shown(page, f"clusters-settling-{theme}")
    page.get_by_role("link", name="Each transaction, and why").click()
    expect(page.get_by_role("heading", name="Checkpoint", level=1)).to_be_visible()
    context.close()
