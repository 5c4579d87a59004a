"""The bundled sample of streams in a real browser: where two jobs are in each shard, and how far they are behind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WALKED_THEMES, keep, settle
from tools.screenshots import Theme

pytestmark = pytest.mark.timeout(600)

HALVED = """chart => {
    const inside = (one, frame) => one.left >= frame.left && one.right <= frame.right
        && one.top >= frame.top && one.bottom <= frame.bottom
    const frames = mark => {
        const found = [mark.closest('svg.main-svg')]
        for (let above = mark.closest('[clip-path]'); above; above = above.parentElement.closest('[clip-path]')) {
            const id = /url\\(['"]?#([^'")]+)/.exec(above.getAttribute('clip-path'))[1]
            found.push(document.getElementById(id).querySelector('rect'))
        }
        return found.map(frame => frame.getBoundingClientRect())
    }
    return [...chart.querySelectorAll('.scatterlayer .points path')].map((mark, index) => [index, mark])
        .filter(([, mark]) => !frames(mark).every(frame => inside(mark.getBoundingClientRect(), frame)))
        .map(([index]) => index)
}"""
"""The points of a chart of which a frame, or the picture's edge, hides a part, by their number."""
OF = f"migration={quote('orders-to-frankfurt (sample)')}&of={quote('checkpoint orders-query')}"


@pytest.mark.parametrize("theme", WALKED_THEMES)
def test_positions_stand_on_the_tree_of_shards_and_the_lag_is_a_time(
    windows: Mapping[Theme, Page], bundled: str, theme: Theme
) -> None:
    page = windows[theme]
    page.goto(bundled)
    settle(page)
    page.get_by_role("button", name="Open the KCL sample").click()
    page.get_by_role("tab", name="Where each shard resumes").click()
    expect(page.get_by_role("heading", name="Where the job is in each shard")).to_be_visible()

    page.goto(f"{bundled}/compare?{OF}")
    settle(page)
    named = page.locator("[aria-label*='old and new sequence number']")
    grid = page.get_by_test_id("stDataFrame").filter(has=named).first
    expect(grid.locator("tr[role=row]").filter(has_text="3 shards, 0 at seq:").first).to_contain_text("position exact")
    expect(page.get_by_text("shard 2: TRIM_HORIZON, ")).to_be_visible()
    page.get_by_role("tab", name=re.compile("The whole migration")).click()
    expect(page.get_by_text("Application 'orders-app' is elsewhere")).to_be_visible()
    expect(page.get_by_role("tab", name="Every record of a topic")).to_have_count(0)
    page.get_by_role("tab", name="Where each shard resumes").click()
    tree = page.locator(".js-plotly-plot").first
    for shown in ("0 ●seq:", "0 s behind, 7 records", "2 ●TRIM_HORIZON", "0 ◆seq:"):
        expect(tree).to_contain_text(shown)
    expect(page.get_by_text("that all its readers share")).to_be_visible()
    box = tree.bounding_box()
    assert box is not None
    assert box["width"] > 600, "a chart that was drawn in a hidden tab fills its page"
    keep(page, f"kinesis-compare-{theme}")

    page.goto(f"{bundled}/lag?{OF}")
    settle(page)
    page.get_by_role("tab", name="What is left to read").click()
    expect(page.get_by_text("Of the shard that is furthest behind")).to_be_visible()
    expect(page.get_by_text("seconds behind").locator("visible=true").first).to_be_visible()
    chart = page.locator(".js-plotly-plot").locator("visible=true").first
    expect(chart.locator(".scatterlayer .points path").first).to_be_visible()
    assert chart.evaluate(HALVED) == []
    keep(page, f"kinesis-lag-{theme}")
