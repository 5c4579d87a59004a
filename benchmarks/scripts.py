"""What the scripts of a console's pages take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from streamlit.runtime.scriptrunner import script_runner


@contextmanager
def script_times() -> Iterator[list[float]]:
    """Yield the list of the milliseconds of processor time that each run of a page's script inside the block takes."""
    took: list[float] = []
    run: Callable[..., Any] = script_runner.ScriptRunner._run_script_thread

    def timed(self: script_runner.ScriptRunner) -> None:
        before = time.thread_time()
        run(self)
        took.append(1_000 * (time.thread_time() - before))

    script_runner.ScriptRunner._run_script_thread = timed  # type: ignore[method-assign]
    try:
        yield took
    finally:
        script_runner.ScriptRunner._run_script_thread = run  # type: ignore[method-assign]
