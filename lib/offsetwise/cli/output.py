"""Where commands write: results to stdout, progress and messages to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def stdout() -> Console:
    """Return the terminal, or the file, that results go to."""
    from rich.console import Console

    return Console(highlight=False)


def stderr() -> Console:
    """Return the terminal, or the file, that messages go to."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def safe(text: str) -> str:
    """Return text that was read somewhere as rich takes it: with nothing that hides or drives a terminal, no markup."""
    from rich.markup import escape

    if text.isascii() and text.isprintable():
        return escape(text)  # as `marked` does, without Unicode's tables, which take a moment to import
    from offsetwise.lookalikes import marked

    return escape(marked(text))


def say(text: str) -> None:
    """Write a message to stderr."""
    stderr().print(safe(text), soft_wrap=True)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show steps on stderr, where that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    talk = stderr()
    # Lines that come meanwhile go above the bars, unless stdout is no terminal: then they belong there.
    redirect, disable = sys.stdout.isatty(), not talk.is_terminal
    with Progress(*columns, console=talk, transient=True, disable=disable, redirect_stdout=redirect) as bars:
        tasks: dict[str, int] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(bars.task_ids[tasks[step]], completed=done, total=total)

        yield report
