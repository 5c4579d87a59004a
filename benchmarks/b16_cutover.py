"""B16: the Cutover page with 200 jobs, for one viewer and for ten.

A child process prints looks at 200 jobs and 1,000 partitions, as `status --watch --json --logs` does; after each look
every viewer's page is run once, whole, as when it is opened. Prints the processor time of the page's script (median and
95th percentile), and what the viewers together asked for: processes, and looks of theirs.

Run: python -m benchmarks.b16_cutover [runs]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import streamlit as st
from streamlit.testing.v1 import AppTest

from benchmarks.scripts import script_times
from offsetwise import files
from offsetwise.console import answers, board
from offsetwise.console.answers import Answers
from offsetwise.store.store import open_store
from offsetwise.watch.statuses import BackgroundStatuses, WatchedStatus
from tests import status_looks
from tests.console import builders
from tests.console.conftest import APP
from tests.console.readers import ValueReader
from tests.cutovers import DRAINING, GROWING, STILL, seen

JOBS = 200
PARTITIONS = 1_000
VIEWERS = (1, 10)
LOOKS = 400
EVERY_S = 0.25
TARGET_MS = 100
PAGE = "pages/operate/cutover.py"
MIGRATION = "orders-to-new"
PRINT = f"""
import sys, time
with open(sys.argv[1]) as lines:
    for line in lines:
        print(line, end="", flush=True)
        time.sleep({EVERY_S} if '"offsetwise/status"' in line else 0)
"""


class Watching(ValueReader):
    """A migration that one child process watches for everybody."""

    def __init__(self, looks: Path) -> None:
        super().__init__(live=builders.comparison())
        self.statuses = BackgroundStatuses()
        self.statuses.start(MIGRATION, (sys.executable, "-c", PRINT, str(looks)))

    def status_watch(self, migration: str) -> WatchedStatus | None:
        """Return what the child has shown."""
        return self.statuses.watched(migration)


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/demo.sqlite") as store:
        board.use(lambda: store.reviews, lambda: store.reviews)
        looks = Path(folder) / "looks.jsonl"
        looks.write_text("".join(_lines()), encoding="utf-8")
        for viewers in VIEWERS:
            reader = Watching(looks)
            answers.use(reader)
            answers._current[:] = [Answers(reader)]
            took = _run(reader, viewers, runs)
            p95 = statistics.quantiles(took, n=20)[-1]
            print(
                f"{viewers:2} viewers: median {statistics.median(took):6.1f} ms  p95 {p95:6.1f} ms  runs {len(took)}; "
                f"{reader.statuses.begun} process, {_look(reader)} looks in all"
            )
            reader.statuses.close()
    print(f"target: p95 <= {TARGET_MS} ms of script CPU; one process, whatever the number of viewers")


def _lines() -> Iterator[str]:
    logs = seen([GROWING, DRAINING, *[STILL] * (PARTITIONS - 2)], copied=[False, False])
    for number in range(LOOKS):
        yield files.dump(logs, indent=None)
        yield files.dump(status_looks.look(JOBS, number), indent=None)


def _look(reader: Watching) -> int:
    watched = reader.statuses.watched(MIGRATION)
    return 0 if watched is None else watched.look_count


def _run(reader: Watching, viewers: int, runs: int) -> list[float]:
    """Run the page so many times, each viewer's once after each look; return the milliseconds of each run."""
    st.cache_resource.clear()
    _wait_for_look(reader, 0)
    pages = [_opened() for _ in range(viewers)]
    with script_times() as took:
        while len(took) < runs:
            _wait_for_look(reader, _look(reader))
            for page in pages:
                assert not page.run().exception
    return took


def _wait_for_look(reader: Watching, before: int) -> None:
    while _look(reader) <= before:
        time.sleep(0.01)


def _opened() -> AppTest:
    page = AppTest.from_file(str(APP), default_timeout=120).switch_page(PAGE)
    page.query_params["migration"] = MIGRATION
    return page.run()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
