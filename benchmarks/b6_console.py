"""B6: the Compare page with 10,000 partitions, beside a page that reads again at every click.

Prints the time of the script for a click (median and 95th percentile), the bytes that one click sends to the
browser, the calls to the reader, and the memory of the process. The peer is the same page over a reader that is
asked again at every rerun and answers by reading its recorded file.

Run: python -m benchmarks.b6_console [clicks]
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.console import desk
from offsetwise.console.desk import Answer, Held, Progress, Question, Subject
from offsetwise.model import Comparison
from tests.console import builders
from tests.console.conftest import APP, COMPARE
from tests.console.readers import ValueReader

PARTITIONS = 10_000
TARGET_MS = 100


class Requerying(desk.Desk):
    """What a page does that keeps nothing between clicks: it reads its comparison again."""

    def held(self, question: Question[Answer]) -> Held[Answer] | None:
        """Forget, then read."""
        self._held.clear()
        return super().held(question)


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
        for name, kind, count in (("offsetwise", desk.Desk, clicks), ("re-querying", Requerying, max(5, clicks // 10))):
            reader = FileReader(path)
            desk.use(reader)
            desk._current[:] = [kind(reader)]
            took = _clicked(count)
            p95 = statistics.quantiles(took, n=20)[-1]
            print(
                f"{name:12} median {statistics.median(took):7.1f} ms  p95 {p95:7.1f} ms  "
                f"reads {reader.calls['recorded']:4}  clicks {count}"
            )
    print(f"target: p95 <= {TARGET_MS} ms of script CPU; peak memory {_memory_mb():.0f} MB")


def _clicked(clicks: int) -> list[float]:
    st.cache_resource.clear()
    page = AppTest.from_file(str(APP), default_timeout=120).switch_page(COMPARE).run()
    took: list[float] = []
    run: Callable[..., Any] = script_runner.ScriptRunner._run_script_thread

    def timed(self: script_runner.ScriptRunner) -> None:
        before = time.thread_time()
        run(self)
        took.append(1_000 * (time.thread_time() - before))

    script_runner.ScriptRunner._run_script_thread = timed  # type: ignore[method-assign]
    try:
        for click in range(clicks):
            page.selectbox(key="row").select_index(click % 400 + 1).run()
            assert not page.exception
    finally:
        script_runner.ScriptRunner._run_script_thread = run  # type: ignore[method-assign]
    return took


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
