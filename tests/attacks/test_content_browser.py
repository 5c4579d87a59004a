"""Names that are programs, pictures, links or look like others, on every page, in Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from tests.attacks.named import ADDRESSES
from tests.attacks.rows import Verdict, attack
from tests.browser.conftest import console, settle
from tools.screenshots import pages, rest

pytestmark = pytest.mark.timeout(600)
FIND = """programs => {
    const found = (selector, take) => [...document.querySelectorAll(selector)].map(take);
    getSelection().selectAllChildren(document.querySelector('[data-testid=stMain]'));
    const text = getSelection().toString();
    getSelection().removeAllRanges();
    return {
        text,
        links: found('a[href]', link => link.href),
        pictures: found('img', image => image.src),
        elements: found('[data-testid=stMarkdownContainer]', each => each)
            .flatMap(each => [...each.querySelectorAll(programs)])
            .map(each => each.outerHTML.slice(0, 200)),
    };
}"""
"""What is on a page; its text as a copy of all of it has it."""
PROGRAMS = "script, iframe, object, embed, style, .katex, img, svg image, svg[onload]"
BIDI = re.compile("[\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")
OPEN = (
    "document.querySelectorAll('[data-testid=stExpander] details:not([open]) > summary').forEach(each => each.click())"
)


@dataclass
class Seen:
    """What was found on one page, with everything on it opened."""

    text: str = ""
    links: set[str] = field(default_factory=set)
    pictures: set[str] = field(default_factory=set)
    elements: set[str] = field(default_factory=set)

    def add(self, page: Page) -> None:
        found = page.evaluate(FIND, PROGRAMS)
        self.text += found["text"] + page.locator("body").inner_text()
        self.links |= set(found["links"])
        self.pictures |= set(found["pictures"])
        self.elements |= set(found["elements"])


@dataclass
class Walk:
    """What was found on all pages, by address."""

    address: str
    pages: Mapping[str, Seen]
    requests: list[str]
    dialogs: list[str]


def walked(browser: Browser, address: str) -> Walk:
    """Open every page as a reviewer of the demonstration, Draft as an author, and everything on it."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    seen: dict[str, Seen] = {}
    walk = Walk(address=address, pages=seen, requests=[], dialogs=[])

    def dismiss(dialog: Dialog) -> None:
        walk.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("request", lambda request: walk.requests.append(request.url))
    page.on("dialog", dismiss)
    for path in pages():
        page.goto(f"{address}/{path}?play={'author' if path == 'draft' else 'reviewer'}")
        settle(page)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        expect(page.get_by_text("An unexpected error occurred.")).to_have_count(0)
        seen[path] = Seen()
        page.evaluate(OPEN)
        rest(page)
        seen[path].add(page)
        for button in page.locator("[data-testid=stPopoverButton]:visible").all():
            button.click()
            expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
            seen[path].add(page)
            page.keyboard.press("Escape")
            expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    page.close()
    return walk


@pytest.fixture(scope="module")
def walk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    log = tmp_path_factory.mktemp("named") / "log"
    with console("-m", "tests.attacks.named", "{port}", "payloads", log=log) as address:
        yield walked(browser, address)


@pytest.mark.gates
@attack(
    "C1",
    "16 payloads and 15 addresses as the names of everything, on 11 pages in Chromium with all that opens on them",
    before=Verdict.HELD,
    without="`_MARKDOWN` in `escaping.markdown`",
)
def test_no_name_runs_draws_or_fetches_anything(walk: Walk) -> None:
    assert walk.dialogs == []
    assert [url for url in walk.requests if "evil.example" in url] == []
    for path, seen in walk.pages.items():
        assert not seen.elements, path
        assert not [source for source in seen.pictures if "evil.example" in source], path
        assert not BIDI.search(seen.text), path


@attack(
    "C2",
    "an address in a name (`http://…`, `www.…`, `a@b`), on 11 pages in Chromium with all that opens on them",
    before=Verdict.WEAK,
    without="`BREAK` in `escaping.markdown`",
)
def test_no_address_in_a_name_is_a_link_on_any_page_and_a_copy_has_it_as_it_is(walk: Walk) -> None:
    outside = {
        path: {link for link in seen.links if not link.startswith(f"{walk.address}/")}
        for path, seen in walk.pages.items()
    }
    assert outside == {path: set() for path in walk.pages}
    named = [path for path, seen in walk.pages.items() if all(address in seen.text for address in ADDRESSES)]
    assert {"", "compare", "review"} <= set(named)
