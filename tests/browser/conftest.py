"""A real console server and a real browser."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "artifacts" / "screens"
CLI = "from offsetwise.cli import main; main()"
"""What `.venv/bin/offsetwise` does."""

START_SECONDS = 60

Serve = Callable[..., str]


@contextmanager
def console(*command: str, log: Path) -> Iterator[str]:
    """Run a command that serves the console at the port put for `{port}`; give its address."""
    port = _free_port()
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, *(part.replace("{port}", str(port)) for part in command)],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process, log)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The console as `offsetwise console` starts it: over the bundled sample."""
    log = tmp_path_factory.mktemp("console") / "log"
    with console("-m", "tests.browser.serve", "{port}", log=log) as address:
        yield address


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Give a function that serves a scenario of values and gives its address."""
    running = []

    def start(scenario: str) -> str:
        made = console("-m", "tests.browser.serve", "{port}", scenario, log=tmp_path / f"{scenario}.log")
        running.append(made)
        return made.__enter__()

    yield start
    for made in running:
        made.__exit__(None, None, None)


def settle(page: Page) -> None:
    """Wait until Streamlit has run the page and the browser has drawn it."""
    page.get_by_role("heading", level=1).wait_for()
    page.wait_for_function(
        """() => !document.querySelector('[data-testid="stStatusWidget"]')
              && !document.querySelector('[data-testid="stSkeleton"]')
              && document.querySelector('[data-testid="stApp"]').dataset.testScriptState !== 'running'"""
    )
    page.wait_for_timeout(600)


def whole(page: Page) -> None:
    """Make the window as tall as the page, so that a screenshot shows all of it."""
    width = page.viewport_size["width"] if page.viewport_size else 1400
    for _ in range(2):
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": min(8_000, int(height) + 4)})
        page.wait_for_timeout(500)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the console did not start:\n{log.read_text()}")
