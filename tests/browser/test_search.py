"""The search by keyboard alone, and by mouse."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import WALKED_THEMES, Serve, settle
from tools.screenshots import Theme

FINGER_PX = 44
"""What a finger hits, by the guidelines for the web."""


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size({"width": 1440, "height": 900})
    return page


def test_a_partition_a_page_and_a_finding_are_reached_by_the_keyboard_alone(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/lag")
    settle(page)
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search pages")
    expect(box).to_be_focused()
    page.keyboard.type("orders-1")
    expect(page.get_by_role("option").first).to_contain_text("checkpoint orders · orders-to-new (sample)")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Evidence · orders-1")).to_be_visible()
    expect(box).to_be_hidden()

    settle(page)
    page.evaluate("window.loadedOnce = true")
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type("loss_inside")
    expect(page.get_by_role("option").first).to_contain_text("LOSS_INSIDE_LOG")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Help", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="LOSS_INSIDE_LOG")).to_be_visible()
    assert page.evaluate("window.loadedOnce") is True, "another page is opened without loading the console again"

    settle(page)
    page.keyboard.press("/")
    page.keyboard.type("payments-1 checkpoint payments\n")  # faster than the server answers
    expect(page.get_by_role("combobox", name="Job")).to_have_value("checkpoint payments")
    expect(page).to_have_url(re.compile("of=checkpoint"))
    expect(page.get_by_role("heading", name="Evidence · payments-1")).to_be_visible()


def test_letters_typed_press_no_key_of_streamlits_and_a_slash_in_a_field_is_a_slash(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/help?about=Findings")
    settle(page)
    field = page.get_by_role("textbox", name="Search", exact=True)
    field.fill("")
    field.press("/")
    expect(field).to_have_value("/")
    expect(page.get_by_role("combobox", name="Search pages")).to_be_hidden()
    page.get_by_role("button", name="Search Ctrl K").click()
    page.keyboard.type("crc")
    expect(page.get_by_text("Clear caches")).to_have_count(0)
    expect(page.get_by_role("combobox", name="Search pages")).to_have_value("crc")
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Search pages")).to_be_hidden()


@pytest.mark.parametrize("theme", WALKED_THEMES)
def test_the_open_search_is_accessible(windows: Mapping[Theme, Page], bundled: str, theme: Theme) -> None:
    page = windows[theme]
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{bundled}/compare")
    settle(page)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_be_visible()
    found = Axe().run(page, context={"include": [".st-key-search"]}).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []
    box = page.locator(".st-key-search dialog").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


@pytest.mark.gates
def test_a_letter_among_ten_thousand_partitions_sends_little(browser: Browser, serve: Serve) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(len(frame))))
    page.goto(f"{serve('many')}/compare")
    page.get_by_role("heading", name="Evidence").wait_for()
    settle(page)
    sent.clear()
    page.keyboard.press("Control+k")
    page.keyboard.type("topic-007-3")
    expect(page.get_by_role("option").first).to_contain_text("topic-007-3")
    assert 0 < sum(sent) <= 100_000
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("Evidence · topic-007-3"))).to_be_visible()
    page.close()


def test_the_open_search_is_closed_by_a_finger_and_by_the_tab_key_alone(browser: Browser, bundled: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{bundled}/lag")
    settle(page)
    box = page.get_by_role("dialog", name="Search")
    close = box.get_by_role("button", name="Close")
    opens = page.get_by_role("button", name="Search", exact=True)  # a phone has no keys to name
    opens.tap()
    expect(close).to_be_visible()
    size = close.bounding_box()
    assert size is not None
    assert min(size["width"], size["height"]) >= FINGER_PX
    close.tap()
    expect(box).to_be_hidden()

    page.keyboard.press("Control+k")
    page.keyboard.type("audit")
    expect(page.get_by_role("option").first).to_contain_text("Audit")
    page.keyboard.press("Tab")
    expect(close).to_be_focused()
    page.keyboard.press("Enter")
    expect(box).to_be_hidden()
    expect(page.get_by_role("heading", name="Lag", level=1)).to_be_visible()
    expect(opens).to_be_focused()
    context.close()
