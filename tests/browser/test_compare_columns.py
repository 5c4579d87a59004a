"""Compare's table beside the open proof: what matters stands in the window, and a bar shows that there is more."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from offsetwise import workflow
from offsetwise.bundled import Bundled
from offsetwise.console.explore.compare_table import PARTITIONS
from offsetwise.console.widgets import table
from offsetwise.console.widgets.palette import LIGHT
from tests.browser.conftest import settle
from tests.gates import of_all

BOX_PX = 32
"""Of the column with the box of each row."""
KINESIS = "migration=orders-to-frankfurt+(sample)&of=checkpoint+orders-query"


SEEN = (
    pytest.param((1440, 900), "row=orders-0", "if unedited", id="Kafka, 1440"),
    pytest.param((1440, 900), KINESIS, "exactness", id="Kinesis, 1440"),
    pytest.param((1920, 1080), "row=orders-0", "findings", id="Kafka, 1920"),
    pytest.param((1920, 1080), KINESIS, "findings", id="Kinesis, 1920"),
)


@pytest.mark.parametrize(("size", "query", "last"), of_all(SEEN, SEEN[:2]))
def test_the_columns_that_matter_are_whole_beside_the_proof(
    page: Page, bundled: str, size: tuple[int, int], query: str, last: str
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{bundled}/compare?{query}")
    settle(page)
    scrolls = page.locator(".dvn-scroller").first
    scrolls.wait_for()
    there, whole, bar = scrolls.evaluate(
        "one => [one.clientWidth, one.scrollWidth, getComputedStyle(one).scrollbarColor]"
    )

    kinesis = query == KINESIS
    rows = workflow.sample_comparison(
        "orders-query" if kinesis else "orders", Bundled.KINESIS if kinesis else Bundled.SPARK
    ).partitions
    columns = table.prepared(PARTITIONS, rows, LIGHT).columns
    matter = [*columns][: [*columns].index(last) + 1]
    assert BOX_PX + sum(columns[name]["width"] for name in matter) <= there
    assert whole > there, "what is left is reached by the bar"
    assert not bar.startswith("rgba(0, 0, 0, 0)"), "the bar is seen"
