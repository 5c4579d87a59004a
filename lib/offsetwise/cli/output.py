"""Output of commands: results to stdout, progress and messages to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def stdout() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def safe(text: str) -> str:
    """Return text from any source for rich: without control and invisible characters, and without markup."""
    from rich.markup import escape

    if text.isascii() and text.isprintable():
        return escape(text)  # as `marked` does, without Unicode's tables, which are slow to import
    from offsetwise.lookalikes import marked

    return escape(marked(text))


def say(text: str) -> None:
    stderr().print(safe(text), soft_wrap=True)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show steps on stderr, if it is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    talk = stderr()
    # Other lines appear above the bars, unless stdout is not a terminal: then they must stay in it.
    redirect, disable = sys.stdout.isatty(), not talk.is_terminal
    with Progress(*columns, console=talk, transient=True, disable=disable, redirect_stdout=redirect) as bars:
        tasks: dict[str, int] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(bars.task_ids[tasks[step]], completed=done, total=total)

        yield report
