"""What happens elsewhere while somebody reads is a sentence on the screen, where the eye is, and takes nothing away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from offsetwise.store.review_rows import State
from tests.browser.conftest import Serve, settle
from tests.browser.signing import sign_in
from tests.browser.test_confirmations import BAR, in_viewport
from tests.browser.test_reviewers import Court, court
from tests.console.boards import ADA

__all__ = ["court"]

DESK, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
LIVE_MS = 20_000
"""An open page looks every five seconds; a busy machine takes its time."""
REMARK = "payments-0 needs another look"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=DESK)
    yield context.new_page()
    context.close()


def read(page: Page, told: Locator, sizes: Sequence[ViewportSize] = (PHONE, DESK)) -> None:
    """Hold that a sentence is on the screen, whole, without scrolling, on a phone's too."""
    expect(told).to_be_visible(timeout=LIVE_MS)
    for size in sizes:
        page.set_viewport_size(size)
        assert in_viewport(page, told), told.inner_text()


def arrive(page: Page, court: Court, plan: int, who: str = "rita") -> None:
    """Follow a link to a plan, and sign in."""
    page.goto(f"{court.address}/review?plan={plan}")
    settle(page)
    sign_in(page, who)
    expect(page.get_by_role("heading", name=f"Plan {plan} ·")).to_be_visible()
    settle(page)


@pytest.mark.gates
def test_a_sign_in_that_ends_while_a_remark_is_typed_loses_nothing_of_it(page: Page, court: Court) -> None:
    plan = court.scene.submitted(ADA).plan
    arrive(page, court, plan)
    field = page.get_by_role("textbox", name="Remark")
    field.fill(REMARK)
    other = page.context.new_page()
    other.goto(court.address)
    settle(other)
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_text("This console is for people who sign in.")).to_be_visible()
    other.close()

    read(page, page.locator(BAR).get_by_text("Your sign-in has ended"))
    expect(field).to_have_value(REMARK)
    page.get_by_role("button", name="Remark", exact=True).click()
    read(page, page.get_by_text("What you wrote is kept"))
    sign_in(page, "rita")
    expect(page.get_by_role("heading", name=f"Plan {plan} ·")).to_be_visible()
    expect(page.get_by_role("textbox", name="Remark")).to_have_value(REMARK)
    settle(page)
    page.get_by_role("button", name="Remark", exact=True).click()
    read(page, page.locator(BAR).get_by_text("Your remark is kept."))
    sheet = court.scene.board.sheet(ADA, plan)
    assert sheet is not None
    assert [each.body for each in sheet.comments] == [REMARK]


@pytest.mark.gates
def test_what_is_typed_when_a_page_is_left_is_there_when_the_plan_is_opened_again(page: Page, court: Court) -> None:
    plan = court.scene.submitted(ADA).plan
    arrive(page, court, plan)
    page.get_by_role("textbox", name="Remark").fill(REMARK)
    page.get_by_role("textbox", name="Remark").blur()
    settle(page)
    page.reload()
    settle(page)
    expect(page.get_by_role("textbox", name="Remark")).to_have_value(REMARK)


def test_a_stale_window_approves_nothing_and_says_what_took_the_place(page: Page, court: Court) -> None:
    saved = court.scene.submitted(ADA)
    arrive(page, court, saved.plan)
    newer = court.scene.edited(ADA, saved, keeps=("the state",))
    court.scene.board.submit(ADA, saved.plan, newer.digest)
    # The page may have looked by itself before the click: then the button is off, and says why.
    page.locator(BAR).get_by_role("button", name=re.compile("Approve$")).dispatch_event("click")
    stale = re.compile("what you were shown is not the newest version|a newer version came while you looked")
    read(page, page.locator(BAR).get_by_text(stale))
    assert court.sheet(saved).row.state is State.SUBMITTED
    assert not court.sheet(saved).decisions

    page.get_by_role("button", name="Go on with version 2").click()
    settle(page)
    page.locator(BAR).get_by_role("button", name=re.compile("Approve$")).click()
    read(page, page.locator(BAR).get_by_text("Approved: version"))
    assert court.sheet(saved).row.state is State.APPROVED


@pytest.mark.gates
def test_a_plan_that_is_withdrawn_while_it_is_read_says_so_beside_the_buttons(page: Page, court: Court) -> None:
    saved = court.scene.submitted(ADA)
    arrive(page, court, saved.plan)
    page.get_by_role("textbox", name="Remark").fill(REMARK)
    court.scene.board.withdraw(ADA, saved.plan)
    read(page, page.locator(BAR).get_by_text("The plan was withdrawn while you read it."))
    expect(page.get_by_role("textbox", name="Remark")).to_have_value(REMARK)
    expect(page.locator(BAR).get_by_role("button", name=re.compile("Approve$"))).to_have_count(0)


@pytest.mark.gates
def test_a_link_to_what_is_gone_says_so_and_what_is_shown_instead(page: Page, bundled: str, court: Court) -> None:
    page.goto(f"{bundled}/compare?of=checkpoint+theirs")
    settle(page)
    read(page, page.get_by_text("The link names a job of orders-to-new (sample) that this console does not have"))
    expect(page.get_by_text("What you see is checkpoint orders")).to_be_visible()
    page.goto(f"{bundled}/compare?migration=theirs&of=checkpoint+theirs")
    settle(page)
    read(page, page.get_by_text("The link names a migration that this console does not have: theirs"))

    plan = court.scene.submitted(ADA).plan
    arrive(page, court, plan)
    page.goto(f"{court.address}/review?plan=4711")
    settle(page)
    read(page, page.get_by_text("The link names a plan that is not here: 4711"))


def test_a_cluster_that_is_lost_in_the_middle_of_a_look_takes_nothing_away(page: Page, serve: Serve) -> None:
    address = serve("lost")
    page.goto(f"{address}/compare?migration=orders-to-new")
    settle(page)
    page.get_by_role("button", name="Compare now").click()
    answer = page.get_by_text("5 of 8 partitions would go wrong")
    expect(answer).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Compare again").click()
    read(page, page.get_by_text("The cluster does not answer"))
    expect(page.get_by_text("is still shown.")).to_be_visible()
    expect(answer).to_be_visible()

    page.goto(f"{address}/review?play=reviewer")
    settle(page)
    page.get_by_role("button", name="Look whether anything changed").click()
    read(page, page.get_by_text("The cluster does not answer"), [DESK])
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    expect(page.locator(BAR).get_by_role("button", name=re.compile("Approve$"))).to_be_enabled()
