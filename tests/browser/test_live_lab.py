"""The live lab in a real browser: two brokers, MirrorMaker, Spark checkpoints, and the console over them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from offsetwise.streams.access import StepName
from tests.browser.conftest import CLI, SCREENSHOTS, choose, console, settle, whole

MIGRATION = "orders-to-new"
PATIENCE_MS = 300_000
"""Spark starts, and reads every record of a topic: how long that takes says how busy the machine is."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def page(browser: Browser, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One window on one console over the live migration: each page is opened once, as a person goes through them."""
    folder = tmp_path_factory.mktemp("live")
    store = ("--store", f"sqlite:///{folder / 'samples.db'}")
    command = ("-c", CLI, "console", "--migration", str(sample), "--port", "{port}", *store)
    with console(*command, log=folder / "log") as address:
        opened = browser.new_page(viewport={"width": 1400, "height": 1000}, base_url=address)
        yield opened
        opened.close()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def row(page: Page, alt: str, number: int = 1) -> Locator:
    """A row of the table with this text for screen readers; row 0 is its head."""
    table = page.get_by_test_id("stDataFrame").filter(has=page.locator(f"[aria-label*='{alt}']")).first
    return table.locator("tr[role=row]").nth(number)


def kept(page: Page, name: str) -> None:
    settle(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    whole(page)
    page.screenshot(path=SCREENSHOTS / f"live-{name}.png")
    page.set_viewport_size({"width": 1400, "height": 1000})


def test_a_person_compares_the_live_lab_and_sees_1050_beside_950(page: Page) -> None:
    page.goto("/")
    settle(page)
    expect(page.get_by_text("3 jobs · 3 not compared")).to_be_visible()
    first = page.get_by_test_id("stDataFrame").filter(has=page.locator("[aria-label*='with wave, engine']")).first
    box = first.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 35 + 17)
    expect(page).to_have_url(re.compile(f"/compare.*migration={MIGRATION}"))
    press(page, "Compare now")
    expect(page.get_by_text("Reading checkpoint orders and both clusters")).to_be_visible()
    expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible(timeout=PATIENCE_MS)
    settle(page)
    for text in ("orders", "1050", "950", "! skips 100"):
        expect(row(page, "what the old number would do")).to_contain_text(text)
    expect(page.get_by_text("Why 950")).to_be_visible()
    expect(page.get_by_text("would go wrong")).to_be_visible()
    page.reload()
    settle(page)
    expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()


@pytest.mark.gates
def test_every_record_of_a_topic_is_counted_from_there_with_its_steps_shown(page: Page) -> None:
    page.get_by_role("tab", name="Every record of a topic").click()
    choose(page, "Topic to count", "payments")
    expect(page).to_have_url(re.compile("count=payments"))
    settle(page)
    press(page, "Count every record")
    counted = page.get_by_text("Counted as read_uncommitted at")
    # With Spark warm it may be over before the browser draws a step.
    expect(page.get_by_text("Reading every record of payments").or_(counted).first).to_be_visible(timeout=PATIENCE_MS)
    expect(counted).to_be_visible(timeout=PATIENCE_MS)
    expect(row(page, "Records of payments on both clusters")).to_be_attached()
    kept(page, "compare")


@pytest.mark.gates
def test_both_live_clusters_are_read_and_reached_step_by_step(page: Page) -> None:
    page.goto(f"/clusters?migration={MIGRATION}")
    settle(page)
    press(page, "Read both clusters")
    expect(page.get_by_role("button", name="Read again", exact=True)).to_have_count(2, timeout=PATIENCE_MS)
    page.get_by_role("tab", name="Access").click()
    expect(page.get_by_role("heading", name="Minimum ACLs")).to_be_visible()
    for done in (1, 2):
        # Of the first that is left. What is pressed while the page is drawn again may be lost.
        settle(page)
        page.get_by_role("button", name="Test the connection").first.click()
        expect(page.get_by_text("Every step succeeded")).to_have_count(done, timeout=PATIENCE_MS)
    for step in (StepName.RESOLVE, StepName.CONNECT, StepName.METADATA, StepName.OFFSETS, StepName.GROUPS):
        expect(page.get_by_text(re.compile(rf"✓ ok {step}|ok, with a remark {step}"))).to_have_count(2)
    for side in ("old", "new"):
        page.get_by_text(re.compile(rf"{side}: commands to copy")).click()
    expect(page.locator("code", has_text="kafka-acls").first).to_be_visible()
    expect(
        page.locator("code", has_text=re.compile("--operation (Write|Create|Alter|Delete|All)", re.I))
    ).to_have_count(0)
    kept(page, "clusters")


def test_the_jobs_are_watched_in_a_process_beside_until_everything_is_copied(page: Page) -> None:
    page.goto(f"/cutover?migration={MIGRATION}")
    settle(page)
    expect(page.get_by_text("Nothing is watched.")).to_be_visible()
    choose(page, "The old logs stand still for", "30 s")
    settle(page)
    press(page, "Watch")
    expect(page.get_by_role("list", name="Jobs", exact=True).get_by_role("listitem")).to_have_count(
        3, timeout=PATIENCE_MS
    )
    expect(page.get_by_text(re.compile("Every record of .* of the old cluster is on the new one"))).to_be_visible(
        timeout=PATIENCE_MS
    )
    kept(page, "cutover")
    press(page, "Stop watching")
    expect(page.get_by_text("Nobody watches any more.")).to_be_visible()


@pytest.mark.gates
def test_the_live_checkpoint_is_stepped_through(page: Page) -> None:
    page.goto(f"/checkpoint?migration={MIGRATION}&of=checkpoint+orders")
    settle(page)
    expect(page.get_by_text("The restart.")).to_be_visible()
    expect(page.get_by_text("This is where it is now.")).to_be_visible()
    press(page, "Previous")
    expect(page.get_by_text("This is where it is now.")).to_have_count(0)
    expect(page).to_have_url(re.compile("step="))
    press(page, "Next")
    expect(page.get_by_text("This is where it is now.")).to_be_visible()
    kept(page, "checkpoint")


@pytest.mark.gates
def test_the_sampler_starts_from_the_page_and_its_first_sample_appears(page: Page) -> None:
    page.goto(f"/lag?migration={MIGRATION}&of=checkpoint+orders&refresh=10+s")
    settle(page)
    expect(page.get_by_text("No sample was taken yet.")).to_be_visible()
    press(page, "Start sampling")
    expect(page.get_by_role("button", name="Stop sampling")).to_be_visible()
    expect(page.get_by_text("Newest sample 2")).to_be_visible(timeout=PATIENCE_MS)
    expect(row(page, "8 partitions with position and lag on both clusters")).to_be_attached()
    press(page, "Stop sampling")
    expect(page.get_by_text("This console takes no more samples")).to_be_visible()
    kept(page, "lag")


def test_all_live_checkpoints_are_read_from_the_fleet_page(page: Page) -> None:
    page.goto(f"/fleet?migration={MIGRATION}")
    settle(page)
    press(page, "Read all checkpoints")
    expect(page.get_by_role("heading", name="Every checkpoint")).to_be_visible(timeout=PATIENCE_MS)
    for name in ("orders", "payments"):
        expect(page.get_by_test_id("stDataFrame").locator("tr[role=row]", has_text=name).first).to_be_attached()
    kept(page, "fleet")
