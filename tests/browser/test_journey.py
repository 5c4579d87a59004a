"""From the first page to the exported archive: counted in clicks, without a turn of the wheel, for every sample."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import console, settle
from tests.browser.test_confirmations import BAR, fill_in, in_viewport
from tests.gates import of_all

MOST_CLICKS = 9
SAMPLES = (
    ("orders-to-new (sample)", "orders", "spark-checkpoint"),
    ("order-counts-to-new (sample)", "order-counts", "flink-savepoint"),
    ("orders-to-frankfurt (sample)", "orders-app", "kcl-leases"),
)
SCROLLED = """() => document.querySelector('[data-testid=stMain]').scrollTop"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A console with no plans yet."""
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as made:
        yield made


class Walker:
    """Somebody with a mouse without a wheel, whose clicks are counted: what is not on the screen cannot be clicked."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, shown: Locator, *, settled: bool = True) -> None:
        """Click what is on the screen; an open list hides the rest of the page, and cannot be waited for to settle."""
        expect(shown).to_be_visible()
        assert not settled or in_viewport(self.page, shown), shown
        box = shown.bounding_box()
        assert box is not None
        assert 0 <= box["y"] <= 900 - box["height"]
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.clicks += 1

    def stands_on(self, title: str) -> None:
        expect(self.page.get_by_role("heading", name=title, level=1)).to_be_visible()
        settle(self.page)
        assert self.page.evaluate(SCROLLED) == 0, "nothing had to be scrolled"


@pytest.mark.parametrize(("migration", "job", "target"), of_all(SAMPLES, SAMPLES[:1]))
def test_a_plan_is_drafted_approved_and_exported_in_nine_clicks(
    browser: Browser, address: str, tmp_path: Path, migration: str, job: str, target: str
) -> None:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    walker = Walker(page)
    page.goto(address)
    settle(page)
    walker.click(page.get_by_role("link", name="Draft", exact=True))
    walker.stands_on("Draft")
    if migration != SAMPLES[0][0]:
        walker.click(page.get_by_role("combobox", name="Migration"))
        walker.click(page.get_by_role("option", name=migration, exact=True), settled=False)
        settle(page)
    walker.click(page.get_by_role("button", name="Play Ada"))
    walker.stands_on("Draft")
    bar = page.locator(BAR)
    expect(bar).to_contain_text(f"New plan · {job}")
    walker.click(bar.get_by_role("button", name="Submit for review"))
    walker.click(bar.get_by_role("button", name="Open on Review as Rita"))
    walker.stands_on("Review")
    for field in page.get_by_role("textbox", name="Approve in spite of").all():
        assert in_viewport(page, field)
    fill_in(page)
    assert page.evaluate(SCROLLED) == 0, "what has to be typed is on the screen"
    walker.click(bar.get_by_role("button", name=re.compile("Approve$")))
    walker.click(bar.get_by_role("button", name=re.compile("Export$")))
    walker.stands_on("Export")
    with page.expect_download() as download:
        walker.click(page.get_by_role("button", name=re.compile("Download plan-[0-9a-f]{8}.zip")))
    assert walker.clicks <= MOST_CLICKS
    download.value.save_as(tmp_path / "kit.zip")
    with zipfile.ZipFile(tmp_path / "kit.zip") as kit:
        (plan,) = [name for name in kit.namelist() if re.fullmatch(r"plan-[0-9a-f]{8}\.json", name)]
        assert target in kit.read(plan).decode()
        assert re.search(rf"# Plan [0-9a-f]{{8}} · {job}\n", kit.read("README.md").decode())
    page.context.close()


@pytest.mark.gates
def test_a_plan_is_approved_on_a_phone(browser: Browser, address: str) -> None:
    author = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    author.goto(f"{address}/draft?play=author")
    settle(author)
    author.locator(BAR).get_by_role("button", name="Submit for review").click()
    expect(author.locator(BAR)).to_contain_text("waits for Rita")
    author.context.close()

    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(f"{address}/review?play=reviewer&plan=1")
    settle(page)
    approve = page.locator(BAR).get_by_role("button", name=re.compile("Approve$"))
    assert in_viewport(page, approve)
    fill_in(page)
    assert in_viewport(page, approve)
    approve.click()
    said = page.locator(BAR).get_by_text("Approved: version")
    expect(said).to_be_visible()
    assert in_viewport(page, said)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, "nothing stands beside the screen"
    page.context.close()


@pytest.mark.gates
def test_what_is_submitted_in_one_browser_appears_in_another_without_a_reload(browser: Browser, address: str) -> None:
    reviewer = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    reviewer.goto(f"{address}/review?play=reviewer")
    settle(reviewer)
    expect(reviewer.get_by_text("There is no plan yet.")).to_be_visible()

    author = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    author.goto(f"{address}/draft?play=author")
    settle(author)
    author.locator(BAR).get_by_role("button", name="Submit for review").click()
    expect(author.locator(BAR)).to_contain_text("Plan 1 · orders")
    expect(reviewer.get_by_role("heading", name="Plan 1 · orders")).to_be_visible(timeout=10_000)
    expect(reviewer).to_have_title("(1) Review · Plan 1 · orders · Offsetwise")

    settle(reviewer)
    remark = reviewer.get_by_role("textbox", name="Remark")
    remark.fill("Is the job stopped?")
    author.goto(f"{address}/review?play=author&plan=1")
    settle(author)
    author.get_by_role("button", name="Withdraw …").click()
    author.get_by_role("button", name="Withdraw for good").click()
    gone = reviewer.locator(BAR).get_by_text("The plan was withdrawn while you read it.")
    expect(gone).to_be_visible(timeout=10_000)
    assert in_viewport(reviewer, gone)
    expect(remark).to_have_value("Is the job stopped?")
    for page in (reviewer, author):
        page.context.close()
