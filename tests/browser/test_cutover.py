"""The cutover on the Clusters page in a real browser: watched once asked for, drawn again by itself, and whole."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, Serve, choose, keep, settle, whole
from tests.browser.test_phone import HEIGHT, WIDTH, look
from tests.browser.test_screens import accessible, fits, opened
from tools.screenshots import THEMES, rest

Windows = Mapping[str, Page]
CARD = "clusters?migration=orders-to-new&part=Cutover"
PATIENCE_MS = 60_000


def watch(page: Page, still_for: str) -> None:
    choose(page, "The logs stand still for", still_for)
    settle(page)
    page.get_by_role("button", name="Watch the old logs").click()


def test_the_card_follows_the_cutover_without_a_click_and_ends_when_all_is_copied(
    windows: Windows, serve: Serve
) -> None:
    page = opened(windows["light"], f"{serve('cutover')}/{CARD}")
    expect(page.get_by_text("Nothing is watched.")).to_be_visible()
    watch(page, "30 s")

    expect(page.get_by_text("The old cluster is still written to")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Stop watching")).to_be_visible()
    expect(page.get_by_text("Every record of 8 partitions of the old cluster is on the new one.")).to_be_visible(
        timeout=PATIENCE_MS
    )
    expect(page.get_by_text("Nobody watches any more.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop watching")).to_have_count(0)
    keep(page, "cutover-copied")


@pytest.mark.parametrize("theme", THEMES)
def test_the_card_is_whole_and_accessible_on_a_desk_and_on_a_phone(windows: Windows, serve: Serve, theme: str) -> None:
    page = opened(windows[theme], f"{serve('cutover')}/{CARD}")
    accessible(page)
    watch(page, "15 min")
    expect(page.get_by_text("The old cluster is still written to")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("OLD_LOG_GROWS").first).to_be_visible()
    accessible(page)
    fits(page)
    keep(page, f"cutover-open-{theme}")

    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    rest(page)
    look(page, CARD)
    keep_phone(page, f"cutover-open-{theme}-{WIDTH}")
    page.get_by_role("button", name="Stop watching").click()
    expect(page.get_by_text("Nobody watches any more.")).to_be_visible()


def keep_phone(page: Page, name: str) -> None:
    """Keep a picture of the whole page as wide as a phone."""
    whole(page)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
