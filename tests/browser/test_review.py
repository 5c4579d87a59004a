"""A plan of the bundled sample is reviewed and approved in a real browser, by the people of the demonstration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import console, keep, settle
from tests.browser.test_confirmations import fill_in

APPROVE = re.compile("Approve$")
"""Not the help beside what is typed to approve."""
SERVE = ("-m", "tests.browser.reviews", "{port}")


def playing(browser: Browser, address: str, who: str) -> Page:
    """Open the page in a session of its own, and play a part of the demonstration."""
    page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
    page.goto(f"{address}/review")
    settle(page)
    page.get_by_role("button", name=f"Play {who}").click()
    expect(page.get_by_role("heading", name="Before you approve")).to_be_visible()
    settle(page)
    return page


@pytest.mark.gates
def test_the_author_cannot_approve_and_the_reviewer_does(browser: Browser, tmp_path: Path) -> None:
    with console(*SERVE, log=tmp_path / "log") as address:
        author = playing(browser, address, "Ada")
        expect(author.get_by_role("button", name=APPROVE)).to_be_disabled()
        expect(author.get_by_text("Approve and Reject are off: To approve, you need the role reviewer")).to_be_visible()
        author.context.close()

        page = playing(browser, address, "Rita")
        expect(page.get_by_text("1 waits for you")).to_be_visible()
        expect(page.get_by_text("2 change; 1 of 2 partitions needs a look, shown first")).to_be_visible()
        expect(page.get_by_role("listitem").filter(has_text="to be safe <b>&</b> sound")).to_be_visible()
        page.get_by_role("button", name="Look whether anything changed").click()
        expect(page.get_by_text("Nothing that it requires had changed")).to_be_visible()
        page.get_by_text("Show the comparison that it was drafted from").click()
        expect(page.get_by_role("heading", name="Evidence · payments")).to_be_visible()
        keep(page, "review")

        page.get_by_role("button", name=APPROVE).click()
        expect(page.get_by_text("expected 'payments' to be typed, found ''")).to_be_visible()
        page.get_by_role("textbox", name="to approve").fill("payments")
        page.get_by_role("button", name=APPROVE).click()
        expect(page.get_by_text("The check 'job stopped' is not met, and no reason was written")).to_be_visible()
        fill_in(page)
        page.get_by_role("button", name=APPROVE).click()
        expect(page.get_by_text("Approved: version")).to_be_visible()
        expect(page.get_by_text("Nothing was written: the plan is exported")).to_be_visible()
        expect(page.get_by_role("button", name=APPROVE)).to_have_count(0)
        keep(page, "review-approved")
        page.get_by_role("button", name=re.compile("Export$")).click()
        expect(page.get_by_role("heading", name="Export", level=1)).to_be_visible()
        page.context.close()


def test_of_two_windows_that_approve_at_once_one_is_told_that_it_is_decided(browser: Browser, tmp_path: Path) -> None:
    with console(*SERVE, log=tmp_path / "log") as address:
        pages = [playing(browser, address, "Rita") for _ in range(2)]
        for page in pages:
            fill_in(page)
            page.get_by_role("textbox", name="to approve").press("Enter")
            settle(page)
        for page in pages:
            # Clicked in both windows before either has an answer.
            page.get_by_role("button", name=APPROVE).dispatch_event("click", timeout=30_000)
        for page in pages:
            expect(page.get_by_text("Approved: version").or_(page.get_by_text("Already decided."))).to_be_visible()
        approved = [page.get_by_text("Approved: version").count() for page in pages]
        assert sorted(approved) == [0, 1]
        for page in pages:
            page.context.close()
