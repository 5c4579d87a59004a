"""On a phone the edge of a table cuts no number."""

from __future__ import annotations

import re
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from offsetwise import workflow
from offsetwise.bundled import Bundled
from offsetwise.wording import brief
from tests.browser.conftest import settle
from tests.browser.test_confirmations import BAR
from tests.browser.test_journey import address
from tests.gates import of_all
from tools.screenshots import LINKS

__all__ = ["address"]

SIZES = {"phone": ViewportSize(width=390, height=844), "desk": ViewportSize(width=1440, height=900)}
ROW_PX, EDGE_PX, FRAME_PX = 35, 9, 2
WORD_JOINER = "\N{WORD JOINER}"


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


TABLES = [("lag", 8), ("compare", 8), ("draft", 8), (f"compare?{LINKS['kinesis']}", 3)]


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize(("path", "rows"), of_all(TABLES, TABLES[:2]))
def test_the_edge_of_a_table_cuts_no_number(page: Page, bundled: str, path: str, rows: int, size: ViewportSize) -> None:
    page.set_viewport_size(size)
    page.goto(f"{bundled}/{path}")
    settle(page)
    table = page.locator('[data-testid="stDataFrame"]').filter(visible=True).first
    table.scroll_into_view_if_needed()
    expect(table.locator(".dvn-scroller")).to_be_visible()
    page.mouse.move(0, 0)
    assert inked(table, rows) == []


def test_both_positions_of_every_shard_stand_on_the_review_of_a_phone(browser: Browser, address: str) -> None:
    rows = workflow.sample_comparison("orders-query", Bundled.KINESIS).partitions
    page = browser.new_context(viewport=SIZES["phone"]).new_page()
    page.goto(f"{address}/draft?{LINKS['kinesis']}&play=author")
    bar = page.locator(BAR)
    for name in ("Submit for review", "Open on Review as Rita"):
        button = bar.get_by_role("button", name=re.compile(f"{name}$"))
        expect(button).to_be_enabled()
        button.click()
    expect(page.get_by_role("heading", name="Review", level=1)).to_be_visible()
    settle(page)
    for row in rows:
        said = page.get_by_text(re.compile(rf"{row.topic_partition} .* → ")).first
        expect(said).to_be_visible()
        text = said.inner_text().replace(WORD_JOINER, "")
        assert f"{row.topic_partition} {brief(row.old_offset)} → {brief(row.new_offset)}" in text
        box = said.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= SIZES["phone"]["width"]
    page.context.close()
