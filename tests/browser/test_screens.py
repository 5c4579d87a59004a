"""Every screen as people see it: whole, accessible, and kept as a picture under `artifacts/screens`."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, expect

from tests.browser.conftest import SCREENSHOTS, Serve, settle, whole

Theme = Literal["light", "dark"]
BYTES_PER_CLICK = 200_000
SERIOUS = ("serious", "critical")
NOT_OURS = {"exclude": [['[data-testid="stSidebar"]'], ['[data-testid="stHeader"]'], [".js-plotly-plot"]]}
"""Streamlit's own sidebar and toolbar, and Plotly's drawing, which has a text of its own beside it."""


def opened(browser: Browser, address: str, *, theme: Theme = "light", width: int = 1400) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=theme)
    page.goto(address)
    settle(page)
    return page


def keep(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    whole(page)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    page.close()


@pytest.mark.parametrize("width", [1400, 1000])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", "compare"], ids=["overview", "compare"])
def test_the_sample_is_accessible_and_nothing_leaves_the_window(
    browser: Browser, bundled: str, path: str, theme: Theme, width: int
) -> None:
    page = opened(browser, f"{bundled}/{path}", theme=theme, width=width)
    found = Axe().run(page, context=NOT_OURS).response["violations"]
    serious = [
        (violation["id"], [node["html"][:160] for node in violation["nodes"]])
        for violation in found
        if violation["impact"] in SERIOUS
    ]
    assert not serious
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    keep(page, f"sample-{path or 'overview'}-{theme}-{width}")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("scenario", ["two", "seven", "many", "topics", "hostile", "empty", "reference"])
def test_every_kind_of_comparison_is_drawn(browser: Browser, serve: Serve, scenario: str, theme: Theme) -> None:
    page = opened(browser, f"{serve(scenario)}/compare", theme=theme)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlert").first).to_be_visible()
    keep(page, f"{scenario}-compare-{theme}")


def test_a_hostile_name_runs_nothing(browser: Browser, serve: Serve) -> None:
    page = browser.new_page()
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    address = serve("hostile")
    for path in ("", "compare", "compare?topic=<img src=x onerror=alert(1)>"):
        page.goto(f"{address}/{path}")
        settle(page)
        assert page.locator("img[src=x]").count() == 0
    assert dialogs == []
    page.close()


@pytest.mark.parametrize(("scenario", "said"), [("down", "The cluster does not answer"), ("denied", "Not permitted")])
def test_a_cluster_that_gives_no_answer_is_told_and_the_rest_stays(
    browser: Browser, serve: Serve, scenario: str, said: str
) -> None:
    page = opened(browser, f"{serve(scenario)}/compare?migration=orders-to-new")
    page.get_by_role("button", name="Compare now").click()
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    expect(page.get_by_role("heading", name="What the checkpoint says on its own")).to_be_visible()
    settle(page)
    keep(page, f"{scenario}-compare")


def test_a_live_migration_shows_its_steps_and_then_its_answer(browser: Browser, serve: Serve) -> None:
    page = opened(browser, f"{serve('slow')}/compare?migration=orders-to-new")
    page.get_by_role("button", name="Compare now").click()
    expect(page.get_by_text("old cluster · 0 of 40")).to_be_visible()
    page.screenshot(path=SCREENSHOTS / "slow-compare.png")
    expect(page.get_by_text("5 of 8 partitions would go wrong")).to_be_visible(timeout=20_000)
    page.close()


def test_a_click_among_ten_thousand_partitions_sends_little(browser: Browser, serve: Serve) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(len(frame))))
    page.goto(f"{serve('many')}/compare")
    page.get_by_role("heading", name="Evidence").wait_for()
    settle(page)
    for name in ("Evidence of", "Order", "Topic in the charts below"):
        sent.clear()
        page.get_by_role("combobox", name=name).focus()
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(300)
        page.keyboard.press("Enter")
        page.wait_for_timeout(1_500)
        settle(page)
        assert 0 < sum(sent) <= BYTES_PER_CLICK, name
    page.close()


def test_offsets_beyond_2_53_are_shown_with_every_digit(browser: Browser, serve: Serve) -> None:
    page = opened(browser, f"{serve('huge')}/compare")
    expect(page.locator("tr[role=row]", has_text="9,007,199,254,740,993").first).to_be_attached()
    expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()
    keep(page, "huge-compare")
