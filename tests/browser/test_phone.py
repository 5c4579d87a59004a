"""The pages on a phone: nothing leaves the window, and axe finds nothing, in the order of headings neither."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect

from offsetwise.console.plan.positions import POSITIONS, rows_of
from offsetwise.console.widgets import table
from offsetwise.console.widgets.palette import LIGHT
from offsetwise.wording import number
from tests.browser.conftest import WALKED_THEMES, console, settle
from tests.browser.reviews import of_sample
from tests.browser.test_compare_columns import BOX_PX
from tests.browser.test_confirmations import BAR, fill_in, in_viewport
from tests.browser.test_heights import OF_ONE_JOB
from tests.browser.test_journey import address
from tests.browser.test_review import SERVE
from tests.browser.test_screens import NOT_OURS, fits
from tools.screenshots import BUNDLED, LINKS, THEMES, pages

__all__ = ["address"]

PAGES = {
    BUNDLED[0]: pages(),
    **{sample: [f"{path}?{LINKS[sample]}" for path in OF_ONE_JOB] for sample in BUNDLED[1:]},
}
BROKEN = """() => [...document.querySelectorAll('[data-testid="stMain"] code')].flatMap(code => {
    const lines = [''], pieces = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), range = document.createRange()
    let bottom = null
    for (let piece = pieces.nextNode(); piece; piece = pieces.nextNode()) {
        for (let at = 0; at < piece.length; at++) {
            range.setStart(piece, at)
            range.setEnd(piece, at + 1)
            const box = range.getClientRects()[0]
            if (!box || box.width === 0) continue
            if (bottom !== null && box.top >= bottom - 1) lines.push('')
            bottom = box.bottom
            lines[lines.length - 1] += piece.data[at]
        }
    }
    return lines.slice(0, -1).filter((line, at) => /(^|\\s)-{1,2}$/.test(line) && /^[-a-z]/.test(lines[at + 1]))
})"""
"""Lines of code that end with the hyphens of an option."""
PAPER = """getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor"""
WIDTH, HEIGHT = 390, 844
OVERLAPPING = """() => {
    const end = one => one.getBoundingClientRect().bottom
    const cards = [...document.querySelectorAll('[data-testid="stMetric"]')]
    return cards.filter(card => end(card) > end(card.closest('[data-testid="stHorizontalBlock"]')) + 1)
        .map(card => card.textContent)
}"""
"""Cards that lie on what follows them."""
SQUEEZED = """() => [...document.querySelectorAll('[data-testid="stMain"] p')].filter(one => {
    const lines = one.clientHeight / parseFloat(getComputedStyle(one).lineHeight)
    return lines > 4.5 && one.clientWidth < 0.65 * innerWidth
}).map(one => one.textContent)"""
"""Sentences of many lines in a part of the width."""
SCATTERED = """() => [...document.querySelectorAll('[data-testid="stHorizontalBlock"]')].map(
    row => [...row.children].filter(one => one.matches('[data-testid="stElementContainer"]')
        && one.querySelector('[data-testid="stPageLink"]'))
).filter(links => new Set(links.map(one => Math.round(one.getBoundingClientRect().top))).size > 1)
    .map(links => links.map(one => one.textContent))"""
"""Links of one job that stand in more than one row."""
CUT = """body => [...body.querySelectorAll('pre')].filter(one => one.scrollWidth > one.clientWidth)
    .map(one => one.textContent)"""
DESKTOP = ViewportSize(width=1440, height=900)


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    return page


def look(page: Page, path: str) -> None:
    """Hold the page as it stands against axe's rules, and against the window's right edge."""
    settle(page)
    fits(page)
    assert page.evaluate(OVERLAPPING) == []
    found = Axe().run(page, context=NOT_OURS).response["violations"]
    assert [(path, each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []


@pytest.mark.gates
@pytest.mark.parametrize("sample", BUNDLED)
def test_axe_finds_nothing_on_a_phone_and_every_page_fits(page: Page, bundled: str, sample: str) -> None:
    for path in PAGES[sample]:
        page.emulate_media(color_scheme=THEMES[0])
        page.goto(f"{bundled}/{path}")
        look(page, path)
        assert page.evaluate(SQUEEZED) == [], path
        assert page.evaluate(BROKEN) == [], path
        if path.partition("?")[0] == "":
            assert page.evaluate(SCATTERED) == []
        papers = [page.evaluate(PAPER)]
        for theme in THEMES[1:]:
            page.emulate_media(color_scheme=theme)
            look(page, path)
            papers.append(page.evaluate(PAPER))
        assert len({*papers}) == len(THEMES)


def opened_whole(page: Page) -> None:
    """Open what opens over the page: all of it is in the window, and no digest is cut."""
    page.keyboard.press("Control+k")
    search = page.get_by_role("dialog", name="Search")
    expect(search).to_be_visible()
    assert in_viewport(page, search)
    page.keyboard.press("Escape")
    expect(search).to_be_hidden()
    for button in page.get_by_test_id("stPopoverButton").filter(visible=True).all():
        button.click()
        body = page.get_by_test_id("stPopoverBody")
        expect(body).to_be_visible()
        assert in_viewport(page, body)
        box = body.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= WIDTH
        assert body.evaluate(CUT) == []
        page.keyboard.press("Escape")
        expect(body).to_have_count(0)


@pytest.mark.parametrize("theme", WALKED_THEMES)
def test_a_plan_is_drafted_approved_and_exported_on_a_phone(
    browser: Browser, address: str, theme: Literal["light", "dark"]
) -> None:
    page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme).new_page()
    page.goto(f"{address}/draft?play=author")
    bar = page.locator(BAR)

    def press(name: str) -> None:
        button = bar.get_by_role("button", name=re.compile(f"{name}$"))
        expect(button).to_be_enabled()
        assert in_viewport(page, button), name
        button.click()

    def looked_at(title: str) -> None:
        expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
        look(page, title)
        if theme == THEMES[0]:
            opened_whole(page)
        page.set_viewport_size(DESKTOP)
        look(page, f"{title}, on a desk")
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        settle(page)

    looked_at("Draft")
    press("Submit for review")
    press("Open on Review as Rita")
    looked_at("Review")
    fill_in(page)
    press("Approve")
    expect(bar).to_contain_text("Approved")
    looked_at("Review")
    press("Export")
    looked_at("Export")
    page.context.close()


def test_the_offsets_to_approve_stand_on_a_phone_without_scrolling_to_the_side(
    browser: Browser, tmp_path: Path
) -> None:
    plan, _ = of_sample("Ada", overridden=True)
    rows = rows_of(plan, None)
    columns = table.prepared(POSITIONS, rows, LIGHT).columns
    named = [*columns][: [*columns].index("to") + 1]
    with console(*SERVE, log=tmp_path / "log") as address:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{address}/review?play=reviewer")
        settle(page)
        bottom = 0.0
        for row in rows:
            said = page.get_by_text(f"{row.name} {number(row.position.old_offset)} → {number(row.position.new_offset)}")
            expect(said).to_be_visible()
            assert in_viewport(page, said)
            box = said.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= WIDTH
            bottom = max(bottom, box["y"] + box["height"])
        grid = page.locator(".dvn-scroller").first
        there, top = grid.evaluate("one => [one.clientWidth, one.getBoundingClientRect().top]")
        assert 0 < bottom <= top
        assert BOX_PX + sum(columns[name]["width"] for name in named) <= there
        page.close()


def test_both_ends_of_the_logs_are_named_on_a_phone(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/clusters")
    settle(page)
    chart = page.locator(".js-plotly-plot").locator("visible=true").first
    for name in ("lowest", "highest"):
        label = chart.get_by_text(name, exact=True)
        expect(label).to_be_visible()
        box = label.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= WIDTH


CUT_LABELS = """chart => {
    const frame = chart.getBoundingClientRect()
    const whole = box => box.left >= frame.left && box.right <= frame.right
    return [...chart.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()])
        .filter(([, box]) => box.width > 0 && !whole(box)).map(([text]) => text)
}"""
"""Words of a chart of which its edge hides a part."""


@pytest.mark.parametrize("path", ["checkpoint", "clusters", "compare"])
def test_no_word_of_a_chart_is_cut_on_a_phone(page: Page, bundled: str, path: str) -> None:
    page.goto(f"{bundled}/{path}")
    settle(page)
    chart = page.locator(".js-plotly-plot").locator("visible=true").first
    expect(chart.locator("text").first).to_be_visible()
    assert chart.evaluate(CUT_LABELS) == []
