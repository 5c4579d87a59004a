"""A real console server, and windows of a real browser."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, ViewportSize
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

import offsetwise
from offsetwise.lab.brokers import free_ports, is_free
from tests.browser.forked import Forked
from tests.gates import FULL, of_all
from tools.screenshots import THEMES, WIDTHS, Theme, settle, whole

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "artifacts" / "screens"
CLI = "from offsetwise.cli import main; main()"
"""What `.venv/bin/offsetwise` does."""
TESTED = os.pathsep.join((str(Path(offsetwise.__file__).parents[1]), str(ROOT)))
"""A command imports what these tests do, also where another copy of the sources is installed."""

START_SECONDS = 120

WALKED_THEMES: Final = of_all(THEMES, THEMES[:1])
"""Of a walk through pages that `test_screens.py` looks at in each theme."""

Serve = Callable[..., str]
Started: TypeAlias = subprocess.Popen[bytes] | Forked

__all__ = ["CLI", "SCREENSHOTS", "WALKED_THEMES", "Serve", "choose", "console", "keep", "process", "settle", "whole"]


def choose(page: Page, name: str, option: str | None) -> None:
    """Choose in a list, None the first there, of several that may be chosen.

    A list closes whenever the page is drawn again, so it is opened until it stays.
    """
    entries = page.get_by_role("option")
    entry = entries.first if option is None else page.get_by_role("option", name=option, exact=True)
    for _ in range(10):
        page.get_by_role("combobox", name=name).focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.type(option or "")
        try:
            entry.click(timeout=3_000)
        except PlaywrightTimeoutError:
            page.keyboard.press("Escape")
            continue
        if option is not None:
            entries.first.wait_for(state="hidden")
        return
    raise AssertionError(f"{name} never offered {option}")


def keep(page: Page, name: str) -> None:
    """Keep a picture of the whole page at the usual width, in `make gates`: it costs as much as a page.

    `tools/screenshots.py` takes those of every width.
    """
    if not FULL:
        return
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.set_viewport_size({"width": WIDTHS[0], "height": 1000})
    whole(page)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


@contextmanager
def process(
    *command: str, log: Path, cwd: Path = ROOT, variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[str, int]]:
    """Run a command that serves the console at the port put for `{port}`; give its address and its process id.

    Variables are added to the environment of that process alone: urllib keeps a proxy of this one's for good.
    """
    port = next((port for port in _left if is_free(port)), None) or free_ports(1)[0]
    _left.discard(port)
    arguments = [part.replace("{port}", str(port)) for part in command]
    env = {"STREAMLIT_SERVER_HEADLESS": "true", **os.environ, "PYTHONPATH": TESTED, **variables}
    running = _started(arguments, log, env, cwd)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address, running, log)
        yield address, running.pid
    finally:
        running.terminate()
        try:
            running.wait(timeout=30)
        except subprocess.TimeoutExpired:
            # At the first signal the server waits for requests that are under way, at Ctrl-C it does no more.
            running.send_signal(signal.SIGINT)
            running.wait(timeout=60)
        _left.add(port)


_left: Final[set[int]] = set()
"""Ports of servers that have ended: a window keeps what it got from one, and has compiled Streamlit's frontend."""


def _started(arguments: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path) -> Started:
    """Start a command; a module of the tests is forked, which spares its imports."""
    if arguments[0] == "-m":
        return Forked(arguments[1], arguments[2:], log=log, env=env, cwd=cwd)
    with log.open("w") as out:
        return subprocess.Popen([sys.executable, *arguments], cwd=cwd, env=env, stdout=out, stderr=subprocess.STDOUT)


@contextmanager
def console(
    *command: str, log: Path, cwd: Path = ROOT, variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Run such a command; give its address."""
    with process(*command, log=log, cwd=cwd, variables=variables) as (address, _):
        yield address


_SIZE: Final[ViewportSize] = {"width": 1280, "height": 720}


@pytest.fixture(scope="session")
def kept_windows(browser: Browser) -> Iterator[Mapping[Theme, Page]]:
    """One window per theme: a new one loads Streamlit's frontend again, for seconds."""
    opened = {theme: browser.new_page(color_scheme=theme) for theme in THEMES}
    yield opened
    for page in opened.values():
        page.close()


@pytest.fixture
def windows(kept_windows: Mapping[Theme, Page]) -> Iterator[Mapping[Theme, Page]]:
    """One window per theme, as new for each test; empty afterwards, since a page looks for its server for ever.

    Each has Playwright's usual size, whatever an earlier test made of it: a narrow table draws fewer columns.
    """
    for theme, page in kept_windows.items():
        page.set_viewport_size(_SIZE)
        page.emulate_media(color_scheme=theme)
    yield kept_windows
    for page in kept_windows.values():
        if page.url != "about:blank":
            page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.context.clear_cookies()
        page.goto("about:blank")


@pytest.fixture
def page(windows: Mapping[Theme, Page]) -> Page:
    """The light one of these."""
    return windows["light"]


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The console as `offsetwise console` starts it: over the bundled sample."""
    log = tmp_path_factory.mktemp("console") / "log"
    with console("-m", "tests.browser.serve", "{port}", log=log) as address:
        yield address


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Yield a function that serves a scenario of values and gives its address."""
    running = []

    def start(scenario: str) -> str:
        made = console("-m", "tests.browser.serve", "{port}", scenario, log=tmp_path / f"{scenario}.log")
        running.append(made)
        return made.__enter__()

    yield start
    for made in running:
        made.__exit__(None, None, None)


def _wait(address: str, process: Started, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the console did not start:\n{log.read_text()}")
