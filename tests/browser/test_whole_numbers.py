"""On a phone the edge of a table cuts no number, and no line ends between the hyphens of an option."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.browser.conftest import settle
from tests.browser.test_heights import OF_ONE_JOB
from tools.screenshots import BUNDLED, LINKS, pages

SIZES = {"phone": ViewportSize(width=390, height=844), "desk": ViewportSize(width=1440, height=900)}
ADDRESSES = {
    BUNDLED[0]: pages(),
    **{sample: [f"{path}?{LINKS[sample]}" for path in OF_ONE_JOB] for sample in BUNDLED[1:]},
}
ROW_PX, EDGE_PX, FRAME_PX = 35, 9, 2
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


def inked(table: Locator, rows: int) -> list[int]:
    """Return the rows whose last pixels, the margin of a whole cell, hold something."""
    picture = Image.open(BytesIO(table.screenshot())).convert("RGB")
    found = []
    for row in range(1, rows + 1):
        middle = row * ROW_PX + ROW_PX // 2
        margin = picture.crop((picture.width - EDGE_PX, middle - 8, picture.width - FRAME_PX, middle + 8))
        if len(margin.getcolors() or ()) != 1:
            found.append(row)
    return found


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize(
    ("path", "rows"), [("lag", 8), ("compare", 8), ("draft", 8), (f"compare?{LINKS['kinesis']}", 3)]
)
def test_the_edge_of_a_table_cuts_no_number(
    browser: Browser, bundled: str, path: str, rows: int, size: ViewportSize
) -> None:
    page = browser.new_page(viewport=size)
    page.goto(f"{bundled}/{path}")
    settle(page)
    table = page.locator('[data-testid="stDataFrame"]').filter(visible=True).first
    table.scroll_into_view_if_needed()
    expect(table.locator(".dvn-scroller")).to_be_visible()
    page.mouse.move(0, 0)
    assert inked(table, rows) == []
    page.close()


@pytest.mark.parametrize("sample", BUNDLED)
def test_no_option_of_a_command_breaks_between_its_hyphens_on_a_phone(
    browser: Browser, bundled: str, sample: str
) -> None:
    page: Page = browser.new_page(viewport=SIZES["phone"])
    for path in ADDRESSES[sample]:
        page.goto(f"{bundled}/{path}")
        settle(page)
        assert page.evaluate(BROKEN) == [], path
    page.close()
