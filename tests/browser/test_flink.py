"""The bundled Flink sample in a real browser: from the flagged row to an approved plan and its export."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import WALKED_THEMES, choose, console, keep, settle
from tests.browser.test_confirmations import fill_in
from tests.browser.test_review import APPROVE
from tests.browser.test_settling import shown
from tools.screenshots import Theme

pytestmark = pytest.mark.timeout(600)

OF = f"migration={quote('order-counts-to-new (sample)')}&of={quote('checkpoint order-counts')}"
KILLED = f"{OF.removesuffix('counts')}audit"


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size({"width": 1400, "height": 1000})
    return page


@pytest.mark.gates
def test_1050_and_950_stand_on_one_row_flagged_and_its_evidence_opens(page: Page, bundled: str) -> None:
    page.goto(bundled)
    settle(page)
    page.get_by_role("button", name="Open the Flink sample").click()
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()
    expect(page.get_by_text("Why 950")).to_be_visible()
    named = page.locator("[aria-label*='what the old number would do']")
    grid = page.get_by_test_id("stDataFrame").filter(has=named).first
    row = grid.locator("tr[role=row]").filter(has_text="1050").first
    expect(row).to_contain_text("950")
    expect(row).to_contain_text("! skips 100")
    keep(page, "flink-compare")
    page.get_by_role("link", name="Draft a plan from this").click()
    expect(page.get_by_role("heading", name="Draft", level=1)).to_be_visible()
    expect(page.get_by_text("nothing is read again")).to_contain_text("checkpoint order-counts ")
    page.get_by_role("link", name="Lag", exact=True).click()
    expect(page.get_by_role("heading", name="Lag", level=1)).to_be_visible()
    expect(page.get_by_role("combobox", name="Migration")).to_have_value("order-counts-to-new (sample)")
    page.reload()
    expect(page.get_by_role("combobox", name="Migration")).to_have_value("order-counts-to-new (sample)")


def test_a_savepoint_is_inspected_and_an_earlier_checkpoint_of_its_job_chosen(page: Page, bundled: str) -> None:
    page.goto(f"{bundled}/checkpoint?{OF}")
    settle(page)
    expect(page.get_by_text("the job continues with")).to_contain_text("orders-0 at 1,050")
    page.get_by_role("tab", name="Operators").click()
    expect(page.get_by_role("heading", name="Operators")).to_be_visible()
    keep(page, "flink-checkpoint")
    page.goto(f"{bundled}/checkpoint?{OF}-retained")
    settle(page)
    page.get_by_role("tab", name="Other checkpoints").click()
    settle(page)
    choose(page, "Retained checkpoint", "chk-4")
    expect(page.get_by_text("Starting here instead reads")).to_be_visible()
    expect(page.get_by_text("the job continues with")).to_contain_text("orders-0 at 800")
    settle(page)
    keep(page, "flink-retained")


@pytest.mark.gates
def test_a_plan_is_drafted_approved_and_exported_by_the_people_of_the_demonstration(page: Page, tmp_path: Path) -> None:
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as address:
        page.goto(f"{address}/draft?{OF}")
        settle(page)
        page.get_by_role("button", name="Play Ada, who drafts").click()
        expect(page.get_by_text("You play Ada, who drafts")).to_be_visible()
        choose(page, "Way", "edit the savepoint, in a copy")
        settle(page)
        keep(page, "flink-draft")
        page.get_by_role("button", name="Submit for review").click()
        expect(page.get_by_text("Plan 1 waits for a decision about exactly")).to_be_visible()

        page.get_by_role("button", name="Continue as Rita").click()
        expect(page.get_by_text("You play Rita, who reviews")).to_be_visible()
        page.get_by_role("link", name="Review (1)", exact=True).click()
        expect(page.get_by_role("heading", name="Before you approve")).to_be_visible()
        settle(page)
        keep(page, "flink-review")
        fill_in(page)
        page.get_by_role("button", name=APPROVE).click()
        expect(page.get_by_text("Approved: version")).to_be_visible()

        page.get_by_role("button", name=re.compile("Export$")).click()
        expect(page.get_by_text(re.compile("Approved: version 1, 1 approval of 1"))).to_be_visible()
        expect(page.get_by_text("startingOffsets")).to_have_count(0)
        settle(page)
        keep(page, "flink-export")
        with page.expect_download() as download:
            page.get_by_role("button", name=re.compile("Download plan-")).click()
        with zipfile.ZipFile(download.value.path()) as kit:
            assert any(b'"flink-savepoint"' in kit.read(name) for name in kit.namelist())


@pytest.mark.parametrize("theme", WALKED_THEMES)
def test_transactions_of_a_killed_job_are_seen_decided_planned_and_approved_by_the_people_of_the_demonstration(
    browser: Browser, tmp_path: Path, theme: Theme
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme=theme)
    page = context.new_page()
    with console("-m", "tests.browser.serve", "{port}", log=tmp_path / "log") as address:
        page.goto(f"{address}/draft?{KILLED}")
        settle(page)
        page.get_by_role("button", name="Play Ada, who drafts").click()
        expect(page.get_by_text("You play Ada, who drafts")).to_be_visible()
        settle(page)
        page.get_by_role("link", name="Clusters", exact=True).click()
        expect(page.get_by_role("heading", name="Clusters", level=1)).to_be_visible()
        settle(page)
        page.get_by_role("tab", name="Transactions of the sink").click()
        settle(page)
        choose(page, "Sink of", "order-audit")
        expect(page.get_by_text("4 transactions to be ended or looked into")).to_be_visible()
        expect(page.get_by_text("were left when the sample was recorded")).to_be_visible()
        shown(page, f"flink-clusters-transactions-{theme}")
        page.get_by_role("link", name="Each transaction, and why").click()
        expect(page.get_by_role("heading", name="Checkpoint", level=1)).to_be_visible()
        expect(page.get_by_text("order-audit-0-1: The checkpoint holds it")).to_be_visible()
        shown(page, f"flink-checkpoint-transactions-{theme}")
        page.get_by_role("link", name="Draft a plan that ends them").click()
        expect(page.get_by_role("heading", name="Draft", level=1)).to_be_visible()
        expect(page.get_by_text("4 transactions to be ended or looked into")).to_be_visible()
        page.get_by_role("button", name="Draft the plan").click()
        expect(page.get_by_text("2 transactions are committed and 2 transactions are aborted").first).to_be_visible()
        shown(page, f"flink-draft-transactions-{theme}")
        page.get_by_role("button", name="Submit for review").click()
        expect(page.get_by_text("Plan 1 waits for a decision about exactly")).to_be_visible()

        page.get_by_role("button", name="Continue as Rita").click()
        expect(page.get_by_text("You play Rita, who reviews")).to_be_visible()
        page.get_by_role("link", name="Review (1)", exact=True).click()
        expect(page.get_by_role("heading", name="Before you approve")).to_be_visible()
        expect(page.get_by_text("were left when the sample was recorded")).to_be_visible()
        shown(page, f"flink-review-transactions-{theme}")
        page.get_by_role("textbox", name="to approve").fill("cannot be taken back")
        page.get_by_role("textbox", name="to approve").press("Enter")
        page.get_by_role("button", name=APPROVE).click()
        expect(page.get_by_text("Approved: version")).to_be_visible()
    context.close()
