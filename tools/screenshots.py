"""Takes pictures of every page of the console: page x theme x width x what there is to show.

tools/screenshots.py --out FOLDER [--scenario two --scenario down] [--page compare?row=orders-0] [--theme dark]
tools/screenshots.py --out FOLDER --url http://127.0.0.1:8501        of a console that runs already
tools/screenshots.py --docs                          the pictures in docs/, anew from the bundled sample
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final, Literal, TypeAlias

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT: Final = Path(__file__).parent.parent
Theme: TypeAlias = Literal["light", "dark"]
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
WIDTHS: Final = (1400, 1000)
HEIGHT: Final = 1000
SOON_MS: Final = 1_500
START_SECONDS: Final = 120
LAST_CHARACTERS: Final = 4_000
SETTLE_MS: Final = 90_000
TALLEST_PX: Final = 8_000
DOCS: Final = {
    "checkpoint": "The whole checkpoint as it was read",
    "clusters": "Differences in configuration",
    "compare": "Select a row to see its proof",
    "lag": "Select a row to see it over time",
}
"""The pages pictured in docs/, each down to this text."""
SCENARIOS: Final = {
    "sample": "tests.browser.serve",
    "flink": "tests.browser.serve",
    "kinesis": "tests.browser.serve",
    "two": "tests.browser.serve",
    "topics": "tests.browser.serve",
    "hostile": "tests.browser.serve",
    "empty": "tests.browser.serve",
    "unread": "tests.browser.serve",
    "down": "tests.browser.serve",
    "denied": "tests.browser.serve",
    "stalled": "tests.browser.serve",
    "review": "tests.browser.reviews",
}
"""Scenarios by name, and what serves them: the bundled samples; topics of two partitions; 10,000 partitions; hostile
names; nothing; a live migration that was not read, whose new cluster is silent, refuses, or takes 20 s; and a plan
that waits for the reviewer of the demonstration."""
BUNDLED: Final = ("sample", "flink", "kinesis")
LINKS: Final = {
    "flink": "migration=order-counts-to-new%20(sample)&of=checkpoint%20order-counts",
    "kinesis": "migration=orders-to-frankfurt%20(sample)&of=checkpoint%20orders-query",
    "unread": "migration=orders-to-new",
    "down": "migration=orders-to-new",
    "denied": "migration=orders-to-new",
    "stalled": "migration=orders-to-new",
    "review": "play=reviewer",
}
"""The query that shows a scenario: without it, the bundled sample and nobody would be shown."""
ASKED: Final = {"clusters": "Read both clusters", "compare": "Compare now", "fleet": "Read all checkpoints"}
"""The button that reads a live migration, by page."""
STALLED: Final = ("clusters", "compare")
"""The pages that show a reading while it goes on."""
COLOURS: Final = 128
GAP_PX: Final = 12
RUNS: Final = """document.querySelector('[data-testid="stStatusWidget"], [data-testid="stSkeleton"]')
    || document.querySelector('[data-testid="stApp"]').dataset.testScriptState === 'running'"""
FRAMES: Final = 20
RESTS: Final = f"""frames => {{
    if (!window.drawn) {{
        window.drawn = {{since: 0}};
        new MutationObserver(() => {{ window.drawn.since = 0 }})
            .observe(document, {{subtree: true, childList: true, attributes: true, characterData: true}});
    }}
    window.drawn.since = ({RUNS}) ? 0 : window.drawn.since + 1;
    if (window.drawn.since <= frames) return false;
    window.drawn.since = 0;
    return true;
}}"""
"""Evaluated at every frame."""
CHROMIUM: Final = ("/usr/bin/chromium", ["--no-sandbox", "--disable-gpu", "--disable-background-networking"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shots:
    """Which pictures to take, and where to put them."""

    addresses: Sequence[str]
    themes: Sequence[Theme]
    widths: Sequence[int]
    out: Path


def pages() -> list[str]:
    """Return the addresses of all pages, read from the router."""
    router = (ROOT / "app.py").read_text(encoding="utf-8")
    return ["", *re.findall(r'url_path="([^"]+)"', router)]


def settle(page: Page) -> None:
    """Wait until Streamlit has run the page and the browser has drawn it."""
    page.get_by_role("heading", level=1).wait_for(timeout=SETTLE_MS)
    page.wait_for_function(f"() => !({RUNS})", timeout=SETTLE_MS)
    # The next step may press a button, which is lost if the page is about to be rerun.
    page.wait_for_timeout(600)


def rest(page: Page) -> None:
    """Wait until nothing runs, and nothing has changed on the page for a number of frames.

    A busy machine draws fewer of them a second, so it gets more time.
    """
    page.wait_for_function(RESTS, arg=FRAMES, timeout=SETTLE_MS)


def whole(page: Page) -> None:
    """Make the window as tall as the page, so that a picture shows all of it."""
    width = page.viewport_size["width"] if page.viewport_size else WIDTHS[0]
    for _ in range(2):
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": min(TALLEST_PX, int(height) + 4)})
        rest(page)


def ask(page: Page, path: str) -> None:
    """Read a live migration to its end, if the page has a button for that and nobody pressed it yet."""
    button = page.get_by_role("button", name=ASKED.get(path, "?"), exact=True)
    if button.count():
        button.click()
        button.wait_for(state="detached", timeout=SETTLE_MS)
    settle(page)


def begin(page: Page, path: str) -> None:
    """Begin to read a live migration, or watch another window's reading: no page rests meanwhile."""
    button = page.get_by_role("button", name=ASKED[path], exact=True)
    steps = page.get_by_test_id("stExpander").filter(has_text="Reading")
    button.or_(steps).first.wait_for(timeout=SETTLE_MS)
    if not steps.count():
        button.click()
        steps.first.wait_for(timeout=SETTLE_MS)
    page.wait_for_timeout(SOON_MS)


def take(browser: Browser, url: str, scenario: str, shots: Shots) -> None:
    """Write one picture of a scenario per page, theme and width."""
    shots.out.mkdir(parents=True, exist_ok=True)
    windows = {
        (theme, width): browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=theme)
        for theme in shots.themes
        for width in shots.widths
    }
    for address in shots.addresses:
        for (theme, width), page in windows.items():
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.goto(f"{url}/{linked(address, scenario)}")
            page.get_by_role("heading", level=1).wait_for(timeout=SETTLE_MS)
            path = address.partition("?")[0]
            if scenario == "stalled" and path in STALLED:
                begin(page, path)
            else:
                settle(page)
                if scenario in LINKS and scenario != "unread":
                    ask(page, path)
            whole(page)
            name = re.sub(r"[^a-zA-Z0-9]+", "-", address).strip("-") or "overview"
            file = shots.out / f"{scenario}-{name}-{theme}-{width}.png"
            page.screenshot(path=file, timeout=SETTLE_MS)
            sys.stdout.write(f"{file}\n")
    for page in windows.values():
        page.close()


def linked(address: str, scenario: str) -> str:
    """Return the address at which a scenario is shown."""
    link = LINKS.get(scenario)
    return address if link is None else f"{address}{'&' if '?' in address else '?'}{link}"


def take_for_docs(browser: Browser, url: str, out: Path) -> None:
    """Write the upper part of the pages pictured in the documents, in few colours: they are cloned with every copy."""
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": HEIGHT}, color_scheme="light")
    for name, below in DOCS.items():
        page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
        page.goto(f"{url}/{name}")
        settle(page)
        whole(page)
        end = page.get_by_text(below).first.bounding_box()
        assert end is not None  # noqa: S101 - it is on the page
        picture = Image.open(BytesIO(page.screenshot(timeout=SETTLE_MS))).convert("RGB")
        upper = picture.crop((0, 0, picture.width, int(end["y"]) - GAP_PX))
        file = out / f"{name}.png"
        upper.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
        sys.stdout.write(f"{file}\n")
    page.close()


@contextmanager
def console(scenario: str = "sample") -> Iterator[str]:
    """Serve a scenario; yield the address.

    Raises:
        SystemExit: It ended, or did not answer in time; with the last of its output.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    served = [scenario] if SCENARIOS[scenario] == "tests.browser.serve" and scenario not in BUNDLED else []
    command = [sys.executable, "-m", SCENARIOS[scenario], str(port), *served]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            if not answers(process, f"http://127.0.0.1:{port}"):
                ended = process.poll()
                how = f"gave no answer for {START_SECONDS} s" if ended is None else f"ended with exit code {ended}"
                log.seek(0)
                raise SystemExit(f"The console of {scenario} {how}. It wrote:\n{log.read()[-LAST_CHARACTERS:]}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def answers(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait until a console answers; return False if it has ended, or the time is over."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):  # noqa: S310 - our own address
                return True
        except OSError:
            time.sleep(0.1)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="the folder for one picture per scenario, page, theme and width")
    what.add_argument("--docs", action="store_true", help="take the pictures in docs/ anew")
    parser.add_argument("--url", help="a console that runs already; else one is started for each scenario")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="may be repeated; default the sample")
    parser.add_argument("--page", action="append", help="address behind the URL; may be repeated; default every page")
    parser.add_argument("--theme", action="append", choices=THEMES)
    parser.add_argument("--width", action="append", type=int)
    asked = parser.parse_args()
    with sync_playwright() as playwright:
        path, arguments = CHROMIUM
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        for scenario in asked.scenario or ["sample"]:
            with nullcontext(asked.url.rstrip("/")) if asked.url else console(scenario) as url:
                if asked.docs:
                    take_for_docs(browser, url, ROOT / "docs")
                    continue
                shots = Shots(
                    addresses=asked.page or pages(),
                    themes=asked.theme or THEMES,
                    widths=asked.width or WIDTHS,
                    out=asked.out,
                )
                take(browser, url, scenario, shots)
        browser.close()


if __name__ == "__main__":
    main()
