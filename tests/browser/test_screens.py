"""Every screen as people see it: whole, accessible, and in `make gates` kept as a picture under `artifacts/screens`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, ViewportSize, expect

from offsetwise.console.widgets.palette import DARK, LIGHT
from tests.browser.conftest import SCREENSHOTS, WALKED_THEMES, Serve, choose, keep, process, settle
from tests.browser.keyboard import not_reached, unseen_focus
from tests.gates import of_all
from tools.screenshots import LINKS, WIDTHS, Theme, ask, linked, pages, rest

BYTES_PER_CLICK = 200_000
SERVER_MIB = 600
_FRAME = tuple(f'[data-testid="{each}"]' for each in ("stSidebar", "stHeader", "stToast"))
NOT_OURS = {"exclude": [[each] for each in (*_FRAME, ".js-plotly-plot")]}
"""Streamlit's own sidebar, toolbar and toast, whose dialog has no name and whose words stand on the page too; and
Plotly's drawing, which has a text of its own beside it."""


def opened(page: Page, address: str) -> None:
    """Open a page at the usual width."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 1000})
    page.goto(address)
    settle(page)


def accessible(page: Page) -> None:
    """No finding of axe's, at the width there is now."""
    found = Axe().run(page, context=NOT_OURS).response["violations"]
    assert not [(violation["id"], [node["html"][:160] for node in violation["nodes"]]) for violation in found]


def fits(page: Page) -> None:
    """Nothing leaves the window to the right, once charts have taken the width there is now."""
    page.wait_for_function(
        "(main => main.scrollWidth <= main.clientWidth)(document.querySelector('[data-testid=stMain]'))",
        timeout=20_000,
    )


PHONE = ViewportSize(width=390, height=844)
CROWDED = """() => [...document.querySelectorAll('.js-plotly-plot .textpoint')].filter((one, at, all) =>
    at && one.getBoundingClientRect().top < all[at - 1].getBoundingClientRect().bottom - 1
).map(one => one.textContent)"""
"""Words beside a bar that lie on those of the bar above."""
LOOKED_AT = of_all([*pages(), "help?code=LOSS_INSIDE_LOG", "help?about=Clusters+and+ACLs"], pages())


def in_each_theme(page: Page) -> Iterator[Theme]:
    """Yield each theme that is walked, with the page drawn in it: it follows the browser while it is open."""
    size = page.viewport_size
    assert size is not None
    for theme in WALKED_THEMES:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=theme)
        rest(page)
        yield theme


@pytest.mark.parametrize("path", LOOKED_AT, ids=lambda path: path or "overview")
def test_a_page_of_the_sample_is_accessible_by_eye_ear_and_keyboard_and_fits_the_window(
    page: Page, bundled: str, path: str
) -> None:
    opened(page, f"{bundled}/{path}")
    name = path.partition("?")[0].capitalize()
    expect(page).to_have_title(re.compile(rf"^{name}( · .+)? · Offsetwise$" if name else "^Offsetwise$"))
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert not_reached(page) == []
    assert unseen_focus(page) == []
    for width in reversed(WIDTHS):  # the usual one is the last
        page.set_viewport_size({"width": width, "height": 1000})
        rest(page)
        fits(page)
    for theme in in_each_theme(page):
        accessible(page)
        keep(page, f"sample-{path.replace('?', '-') or 'overview'}-{theme}")


def test_charts_follow_a_theme_that_changes_while_the_page_is_open(browser: Browser, bundled: str) -> None:
    page = browser.new_page(color_scheme="light")
    page.goto(f"{bundled}/compare")
    settle(page)
    words = page.locator(".js-plotly-plot text").first
    expect(words).to_have_css("fill", rgb(LIGHT.text))
    page.emulate_media(color_scheme="dark")
    expect(words).to_have_css("fill", rgb(DARK.text))
    accessible(page)
    page.get_by_test_id("stMainMenu").click()
    page.get_by_role("menuitemradio", name="Light").click()
    expect(words).to_have_css("fill", rgb(LIGHT.text))
    page.close()


def rgb(colour: str) -> str:
    """Return a colour of the palette as browsers write it."""
    return f"rgb({', '.join(str(each) for each in bytes.fromhex(colour[1:]))})"


@pytest.mark.parametrize("scenario", of_all(["two", "topics", "empty", "down"], ["empty"]))
def test_every_page_stays_whole_whatever_there_is_to_show(page: Page, serve: Serve, scenario: str) -> None:
    address = serve(scenario)
    for path in [each for each in pages() if each != "help"]:
        opened(page, f"{address}/{linked(path, scenario)}")
        if scenario in LINKS:
            ask(page, path)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        expect(page.get_by_text("An unexpected error occurred.")).to_have_count(0)
        fits(page)
        if scenario in LINKS:
            accessible(page)
        keep(page, f"{scenario}-{path or 'overview'}")
        if path == "checkpoint":
            page.set_viewport_size(PHONE)
            rest(page)
            assert page.evaluate(CROWDED) == []


MANY_JOBS: Mapping[str, tuple[str, str]] = {
    "overview": ("", "20 jobs in 2 waves"),
    "set": ("review?play=reviewer&plan=set-1", "20 plans, in one set"),
    "fleet": ("fleet?migration=orders-to-new", "10,000"),
}
"""Where twenty jobs, their set of plans, and ten thousand checkpoints are seen, and what is said there."""


@pytest.mark.gates
def test_many_jobs_their_set_of_plans_and_ten_thousand_checkpoints_fit_a_window_and_a_phone(
    page: Page, serve: Serve
) -> None:
    address = serve("jobs")
    for name, (path, message) in MANY_JOBS.items():
        opened(page, f"{address}/{path}")
        if name == "fleet":
            ask(page, "fleet")
        expect(page.get_by_text(message).first).to_be_visible()
        for theme in in_each_theme(page):
            accessible(page)
            keep(page, f"jobs-{name}-{theme}")
        page.set_viewport_size(PHONE)
        rest(page)
        fits(page)


FLEETS = [("fleet-two", "2 checkpoints"), ("fleet", "200 checkpoints")]


@pytest.mark.parametrize(("scenario", "answer"), of_all(FLEETS, FLEETS[1:]))
def test_a_fleet_of_two_and_of_two_hundred_is_as_clear_as_one_of_ten_thousand(
    page: Page, serve: Serve, scenario: str, answer: str
) -> None:
    opened(page, f"{serve(scenario)}/fleet?migration=orders-to-new")
    ask(page, "fleet")
    expect(page.get_by_text(answer).first).to_be_visible()
    for theme in in_each_theme(page):
        accessible(page)
        keep(page, f"{scenario}-fleet-{theme}")
    page.set_viewport_size(PHONE)
    rest(page)
    fits(page)


def test_share_groups_and_applications_of_kafka_streams_stand_beside_consumer_groups(page: Page, serve: Serve) -> None:
    opened(page, f"{serve('two')}/clusters")
    page.get_by_role("tab", name="Groups").click()
    settle(page)
    row = page.locator("tr[role=row]", has_text="share group").first
    expect(row).to_contain_text("emails")
    choose(page, "Offsets of", "emails")
    settle(page)
    for theme in in_each_theme(page):
        accessible(page)
        keep(page, f"two-clusters-groups-{theme}")
    page.set_viewport_size(PHONE)
    rest(page)
    fits(page)


@pytest.mark.parametrize("scenario", of_all(["seven", "many", "hostile", "reference"], ["many"]))
def test_every_kind_of_comparison_is_drawn(page: Page, serve: Serve, scenario: str) -> None:
    opened(page, f"{serve(scenario)}/compare")
    for theme in in_each_theme(page):
        expect(page.get_by_test_id("stException")).to_have_count(0)
        expect(page.get_by_test_id("stAlert").first).to_be_visible()
        keep(page, f"{scenario}-compare-{theme}")


def test_a_hostile_name_runs_nothing(browser: Browser, serve: Serve) -> None:
    page = browser.new_page()
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    address = serve("hostile")
    for path in ("", "compare", "compare?topic=<img src=x onerror=alert(1)>"):
        page.goto(f"{address}/{path}")
        settle(page)
        assert page.locator("img[src=x]").count() == 0
    assert dialogs == []
    page.close()


@pytest.mark.parametrize(("scenario", "said"), [("down", "The cluster does not answer"), ("denied", "Not permitted")])
def test_a_cluster_that_gives_no_answer_is_told_and_the_rest_stays(
    page: Page, serve: Serve, scenario: str, said: str
) -> None:
    opened(page, f"{serve(scenario)}/compare?migration=orders-to-new")
    page.get_by_role("button", name="Compare now").click()
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    expect(page.get_by_role("heading", name="What the checkpoint says on its own")).to_be_visible()
    settle(page)
    keep(page, f"{scenario}-compare")


def test_a_live_migration_shows_its_steps_and_then_its_answer(page: Page, serve: Serve) -> None:
    opened(page, f"{serve('slow')}/compare?migration=orders-to-new")
    page.get_by_role("button", name="Compare now").click()
    expect(page.get_by_text("old cluster · 0 of 40")).to_be_visible()
    expect(page.get_by_text("3 s so far", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(1)
    expect(page.get_by_role("button", name="Compare now")).to_be_hidden()
    page.screenshot(path=SCREENSHOTS / "slow-compare.png")
    expect(page.get_by_text("5 of 8 partitions would go wrong")).to_be_visible(timeout=20_000)


def test_a_comparison_is_stopped_by_a_click_while_the_page_waits_for_it(page: Page, serve: Serve) -> None:
    opened(page, f"{serve('slow')}/compare?migration=orders-to-new")
    page.get_by_role("button", name="Compare now").click()
    page.get_by_role("button", name="Stop comparing").click()
    expect(page.get_by_role("button", name="Compare now")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("Nothing was read yet.")).to_be_visible()


@pytest.mark.gates
def test_a_click_among_ten_thousand_partitions_sends_little(browser: Browser, serve: Serve) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(len(frame))))
    page.goto(f"{serve('many')}/compare")
    page.get_by_role("heading", name="Evidence").wait_for()
    settle(page)
    evidence = "topic-000-3"
    for name, wanted in (("Evidence of", evidence), ("Order", "By name"), ("Topic in the charts below", "topic-007")):
        if name.startswith("Topic"):
            page.get_by_role("tab", name="Where each partition resumes").click()
            settle(page)
        sent.clear()
        choose(page, name, wanted)
        page.wait_for_timeout(1_500)
        settle(page)
        assert 0 < sum(sent) <= BYTES_PER_CLICK, name
    page.close()


CLICKS: Mapping[str, Mapping[str, str | None]] = {
    "checkpoint": {"Previous": None},
    "clusters": {"Topic in the chart": "topic-001"},
    "compare": {"Evidence of": "topic-000-3"},
    "lag": {"Partition over time": "topic-000-1"},
    "review?play=reviewer": {"Details of": "topic-000-7", "Rows": "251–500"},
    "fleet": {"Facts of": "team-1/job-001"},
}
"""Buttons to press and choices to make, by page."""


@pytest.mark.gates
def test_a_click_on_every_page_of_ten_thousand_partitions_sends_little_and_the_server_stays_small(
    browser: Browser, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    command = ("-m", "tests.browser.serve", "{port}", "topics")
    with process(*command, log=tmp_path / "log") as (address, server):
        _click_everywhere(browser, address, figure)
        status = Path(f"/proc/{server}/status").read_text(encoding="ascii")
        most = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) // 1024
        figure(f"a server with 10,000 partitions took at most {most} MiB")
        assert most <= SERVER_MIB


def _click_everywhere(browser: Browser, address: str, figure: Callable[[str], None]) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(len(frame))))
    for path, clicks in CLICKS.items():
        page.goto(f"{address}/{path}")
        settle(page)
        for name, option in clicks.items():
            sent.clear()
            if option is None:
                page.get_by_role("button", name=name, exact=True).click()
            else:
                choose(page, name, option)
            page.wait_for_timeout(1_500)
            settle(page)
            figure(f"a click on {name!r} of {path} sends {sum(sent):,} bytes")
            assert 0 < sum(sent) <= BYTES_PER_CLICK, (path, name)
    page.close()


def test_offsets_beyond_2_53_are_shown_with_every_digit(page: Page, serve: Serve) -> None:
    opened(page, f"{serve('huge')}/compare")
    expect(page.locator("tr[role=row]", has_text="9,007,199,254,740,993").first).to_be_attached()
    expect(page.get_by_role("heading", name="Evidence · orders-0")).to_be_visible()
    keep(page, "huge-compare")
