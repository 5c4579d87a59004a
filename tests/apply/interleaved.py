"""Lets somebody else act in the middle of an action: at the n-th line of the product that it runs, for any n."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import offsetwise
from offsetwise.errors import OffsetwiseError

_PRODUCT = str(Path(offsetwise.__file__).parent)


class _Between:
    """Counts the lines of the product that run, and does something else before one of them."""

    def __init__(self, at: int, action: Callable[[], object]) -> None:
        self.lines = 0
        self._at = at
        self._action = action

    def called(self, frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        """Follow the functions of the product."""
        return self._line if frame.f_code.co_filename.startswith(_PRODUCT) else None

    def _line(self, _frame: FrameType, event: str, _arg: Any) -> Callable[..., Any] | None:
        if event != "line":
            return self._line
        self.lines += 1
        if self.lines == self._at:
            sys.settrace(None)
            self._action()
            return None
        return self._line


def tried(action: Callable[[], object]) -> OffsetwiseError | None:
    """Do something; return why it was refused, None where it was done."""
    try:
        action()
    except OffsetwiseError as error:
        return error
    return None


def lines_of(action: Callable[[], object]) -> int:
    """Return how many lines of the product an action runs."""
    return _between(action, 0, lambda: None)[0]


def interrupted(action: Callable[[], object], at: int, other: Callable[[], object]) -> OffsetwiseError | None:
    """Do something, and all of something else before one of its lines; return why the first was refused."""
    return _between(action, at, other)[1]


def _between(action: Callable[[], object], at: int, other: Callable[[], object]) -> tuple[int, OffsetwiseError | None]:
    between, before = _Between(at, other), sys.gettrace()
    sys.settrace(between.called)
    try:
        refused = tried(action)
    finally:
        sys.settrace(before)
    return between.lines, refused


def moments(action: Callable[[], object], most: int, seed: int) -> Sequence[int]:
    """Return lines of an action to act before: all of them, or so many that the seed chooses."""
    lines = range(1, lines_of(action) + 1)
    return lines if len(lines) <= most else sorted(random.Random(seed).sample(lines, most))


def batch(folder: Path) -> Path | None:
    """Run one batch as a query does on a checkpoint that it can start on; return its file, None where it cannot."""
    names = [path for path in folder.glob("offsets/*") if path.name.isdigit()]
    newest = max(names, key=lambda path: int(path.name), default=None)
    if newest is None or not newest.read_bytes().startswith(b"v1\n"):
        return None
    following = newest.with_name(str(int(newest.name) + 1))
    following.write_bytes(newest.read_bytes())
    for number in (newest.name, following.name):
        (folder / "commits" / number).write_bytes(b'v1\n{"nextBatchWatermarkMs":0}')
    return following
