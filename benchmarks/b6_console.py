"""B6: the console with 10,000 partitions: clicks on Compare, beside a page that reads again each time, and on Review.

Prints the time of the script for a click (median and 95th percentile) and the calls to the reader. The peer is the
same page over a reader that is asked again at every rerun and answers by reading its recorded file. Then opens every
page over 10,000 partitions in 500 topics in a real browser, and prints when its title stands there for the second
visitor of a server, who has nothing cached, and the memory of that server. Last, 20 visitors have pages open on one
server, and one more opens Compare and Lag: while all are idle, and while one of them clicks four times a second.

Run: python -m benchmarks.b6_console [clicks]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from playwright.sync_api import Browser, sync_playwright
from streamlit.testing.v1 import AppTest

from benchmarks.scripts import script_times
from offsetwise import files
from offsetwise.console import answers, board
from offsetwise.console.answers import Answer, CachedAnswer, Question
from offsetwise.model import Comparison
from offsetwise.model.subjects import Subject
from offsetwise.progress import Progress
from offsetwise.review.access import Role
from offsetwise.store.store import open_store
from tests.browser.conftest import process
from tests.browser.reviews import seeded
from tests.console import builders
from tests.console.conftest import APP, COMPARE
from tests.console.readers import ValueReader
from tools.screenshots import CHROMIUM, pages, settle

PARTITIONS = 10_000
ROWS = 200
"""Clicked on, one after the other, of those on the first page of the table."""
REVIEW = "pages/plan/review.py"
TARGET_MS = 100
TARGET_MB = 600
FIRST_SCREEN_S = 2
VISITORS = 20
VISITORS_MB = 400
CLICK_MS = 250
CLICKS = f"""() => setInterval(() => {{
  const named = (one) => /Previous|Next/.test(one.textContent);
  const all = [...document.querySelectorAll("button")].filter((one) => named(one) && !one.disabled);
  if (all.length) all[Math.floor(Math.random() * all.length)].click(), window.clicked = (window.clicked || 0) + 1;
}}, {CLICK_MS})"""
"""Pages through the batches of a checkpoint until the page is closed."""
SETTLED_S = 0.6
"""What `settle` waits after the page stands."""


class Requerying(answers.Answers):
    """What a page does that keeps nothing between clicks: it reads its comparison again."""

    def held(self, question: Question[Answer]) -> CachedAnswer[Answer] | None:
        """Forget, then read."""
        self._cached.clear()
        return super().cached(question)


class FileReader(ValueReader):
    """Answers from a recorded file, as the bundled sample does."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:  # noqa: ARG002 - the protocol's
        """Read the file."""
        self.calls["recorded"] += 1
        loaded: Comparison = files.load(self._path.read_bytes(), "comparison", subject=str(subject))
        return loaded


def main(clicks: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "comparison.json"
        path.write_text(files.dump(builders.comparison(builders.many_rows(PARTITIONS))))
        for name, kind, count in (
            ("offsetwise", answers.Answers, clicks),
            ("re-querying", Requerying, max(5, clicks // 10)),
        ):
            reader = FileReader(path)
            answers.use(reader)
            answers._current[:] = [kind(reader)]
            page = AppTest.from_file(str(APP), default_timeout=120).switch_page(COMPARE)
            _print(name, clicked(page, count), f"reads {reader.calls['recorded']:4}")
        _review(Path(folder), clicks)
    print(f"target: p95 <= {TARGET_MS} ms of script CPU")
    _every_page()
    _visitors()


def _review(folder: Path, clicks: int) -> None:
    """Click on Review as a reviewer, over a plan of as many partitions in two versions, kept on SQLite."""
    with open_store(f"sqlite:///{folder / 'demo.sqlite'}") as store:
        seeded(store.reviews, partitions=PARTITIONS)
        board.use(lambda: store.reviews, lambda: store.reviews)
        answers.use(FileReader(folder / "comparison.json"))
        page = AppTest.from_file(str(APP), default_timeout=120).switch_page(REVIEW)
        page.session_state[board.PART] = Role.REVIEWER.value
        _print("review", clicked(page, clicks), "")


def _print(name: str, took: list[float], more: str) -> None:
    p95 = statistics.quantiles(took, n=20)[-1]
    print(f"{name:12} median {statistics.median(took):7.1f} ms  p95 {p95:7.1f} ms  {more}  clicks {len(took)}")


@contextmanager
def _served() -> Iterator[tuple[str, int, Browser]]:
    """Serve 10,000 partitions; give the address, the server's process id, and a browser."""
    with (
        tempfile.TemporaryDirectory() as folder,
        process("-m", "tests.browser.serve", "{port}", "topics", log=Path(folder) / "log") as (address, server),
        sync_playwright() as playwright,
    ):
        path, arguments = CHROMIUM
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield address, server, browser
        browser.close()


def _every_page() -> None:
    with _served() as (address, server, browser):
        for name in pages():
            for visitor in ("first", "second"):
                page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
                began = time.perf_counter()
                page.goto(f"{address}/{name}")
                page.get_by_role("heading", level=1).wait_for(timeout=60_000)
                title = time.perf_counter() - began
                settle(page)
                whole = time.perf_counter() - began - SETTLED_S
                page.context.close()
                print(
                    f"{name or 'overview':12} {visitor:6} visitor: title {title:5.1f} s, whole {whole:5.1f} s; "
                    f"server {_memory_mb(server, 'VmRSS'):4.0f} MB"
                )
        print(
            f"target: first screen <= {FIRST_SCREEN_S} s once warm, server <= {TARGET_MB} MB; "
            f"at most it took {_memory_mb(server, 'VmHWM'):.0f} MB"
        )


def _visitors() -> None:
    """Open a page as one more visitor, while 20 others are idle and while one of them clicks all the time."""
    with _served() as (address, server, browser):
        names = [name for name in pages() if name != "checkpoint"]
        others = [browser.new_context().new_page() for _ in range(VISITORS)]
        for number, other in enumerate(others):
            other.goto(f"{address}/{names[number % len(names)] if number else 'checkpoint'}")
            settle(other)
        for state in ("idle", "one clicks"):
            if state == "one clicks":
                others[0].evaluate(CLICKS)
            for name in ("compare", "lag"):
                page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
                began = time.perf_counter()
                page.goto(f"{address}/{name}")
                settle(page)
                whole = time.perf_counter() - began - SETTLED_S
                page.context.close()
                print(f"{VISITORS} visitors, {state:10}: {name:8} whole {whole:5.1f} s")
        print(f"{others[0].evaluate('window.clicked')} clicks meanwhile")
        print(f"target: server <= {VISITORS_MB} MB; at most it took {_memory_mb(server, 'VmHWM'):.0f} MB")


def clicked(page: AppTest, clicks: int, key: str = "row") -> list[float]:
    """Choose in a list, one entry after the other; give the milliseconds of the script's processor time for each."""
    st.cache_resource.clear()
    page.run()
    others = min(ROWS, len(page.selectbox(key=key).options) - 1)
    with script_times() as took:
        for click in range(clicks):
            page.selectbox(key=key).select_index(click % others + 1).run()
            assert not page.exception
    return took


def _memory_mb(process_id: int, kind: str) -> float:
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith(kind))) / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
