"""The pages on a phone: nothing leaves the window, and axe finds nothing, in the order of headings neither."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.browser.conftest import settle
from tests.browser.test_screens import NOT_OURS, fits

PAGES = ("", "checkpoint", "clusters", "compare", "lag", "fleet", "help")
WIDTH, HEIGHT = 390, 844


def test_axe_finds_nothing_on_a_phone_and_every_page_fits(browser: Browser, bundled: str) -> None:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    for path in PAGES:
        page.goto(f"{bundled}/{path}")
        settle(page)
        fits(page)
        found = Axe().run(page, context=NOT_OURS).response["violations"]
        assert [(path, each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []
    page.close()
