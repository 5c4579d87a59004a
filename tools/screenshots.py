"""Takes pictures of every page of the console, over the bundled sample or a console that runs already.

tools/screenshots.py --out FOLDER [--url http://127.0.0.1:8501] [--page compare?row=orders-0] [--theme dark]
tools/screenshots.py --docs                          the pictures in docs/, anew from the bundled sample
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT: Final = Path(__file__).parent.parent
THEMES: Final = ("light", "dark")
WIDTHS: Final = (1400, 1000)
START_SECONDS: Final = 120
SETTLE_MS: Final = 90_000
TALLEST_PX: Final = 8_000
DOCS: Final = {
    "checkpoint": "Batches over time",
    "clusters": "Differences in configuration",
    "compare": "Select a row to see its proof",
    "lag": "Every partition, newest sample",
}
"""The pages pictured in docs/, each down to this text."""
COLOURS: Final = 128
GAP_PX: Final = 12
CHROMIUM: Final = ("/usr/bin/chromium", ["--no-sandbox", "--disable-gpu", "--disable-background-networking"])


def pages() -> list[str]:
    """Give the addresses of all pages, read from the router."""
    router = (ROOT / "app.py").read_text(encoding="utf-8")
    return ["", *re.findall(r'url_path="([^"]+)"', router)]


def settle(page: Page) -> None:
    """Wait until Streamlit has run the page and the browser has drawn it."""
    page.get_by_role("heading", level=1).wait_for(timeout=SETTLE_MS)
    page.wait_for_function(
        """() => !document.querySelector('[data-testid="stStatusWidget"]')
              && !document.querySelector('[data-testid="stSkeleton"]')
              && document.querySelector('[data-testid="stApp"]').dataset.testScriptState !== 'running'""",
        timeout=SETTLE_MS,
    )
    page.wait_for_timeout(600)


def whole(page: Page) -> None:
    """Make the window as tall as the page, so that a picture shows all of it."""
    width = page.viewport_size["width"] if page.viewport_size else WIDTHS[0]
    for _ in range(2):
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": min(TALLEST_PX, int(height) + 4)})
        page.wait_for_timeout(500)


def take(browser: Browser, url: str, *, addresses: list[str], themes: list[str], widths: list[int], out: Path) -> None:
    """Write one picture per page, theme and width."""
    out.mkdir(parents=True, exist_ok=True)
    for theme in themes:
        for width in widths:
            page = browser.new_page(
                viewport={"width": width, "height": 1000}, color_scheme="dark" if theme == "dark" else "light"
            )
            for address in addresses:
                page.set_viewport_size({"width": width, "height": 1000})
                page.goto(f"{url}/{address}")
                settle(page)
                whole(page)
                name = re.sub(r"[^a-zA-Z0-9]+", "-", address).strip("-") or "overview"
                file = out / f"{name}-{theme}-{width}.png"
                page.screenshot(path=file)
                sys.stdout.write(f"{file}\n")
            page.close()


def take_for_docs(browser: Browser, url: str, out: Path) -> None:
    """Write the upper part of the pages pictured in the documents, in few colours: they are cloned with every copy."""
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": 1000}, color_scheme="light")
    for name, below in DOCS.items():
        page.set_viewport_size({"width": WIDTHS[0], "height": 1000})
        page.goto(f"{url}/{name}")
        settle(page)
        whole(page)
        end = page.get_by_text(below).first.bounding_box()
        assert end is not None  # noqa: S101 - it is on the page
        picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
        upper = picture.crop((0, 0, picture.width, int(end["y"]) - GAP_PX))
        file = out / f"{name}.png"
        upper.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
        sys.stdout.write(f"{file}\n")
    page.close()


@contextmanager
def console() -> Iterator[str]:
    """Serve the bundled sample; give the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", "from offsetwise.cli import main; main()", "console", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
                    break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def main() -> None:
    """Read the command line and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="the folder for one picture per page, theme and width")
    what.add_argument("--docs", action="store_true", help="take the pictures in docs/ anew")
    parser.add_argument("--url", help="a console that runs already; else one is started over the bundled sample")
    parser.add_argument("--page", action="append", help="address behind the URL; may be repeated; default every page")
    parser.add_argument("--theme", action="append", choices=THEMES)
    parser.add_argument("--width", action="append", type=int)
    asked = parser.parse_args()
    with sync_playwright() as playwright:
        path, arguments = CHROMIUM
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        with nullcontext(asked.url.rstrip("/")) if asked.url else console() as url:
            if asked.docs:
                take_for_docs(browser, url, ROOT / "docs")
            else:
                take(
                    browser,
                    url,
                    addresses=asked.page or pages(),
                    themes=asked.theme or [*THEMES],
                    widths=asked.width or [*WIDTHS],
                    out=asked.out,
                )
        browser.close()


if __name__ == "__main__":
    main()
