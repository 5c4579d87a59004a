"""Whether what is at a place is still what a step wrote there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final

from offsetwise.apply.digests import bytes_of, names_in, sha256
from offsetwise.apply.publish import absent
from offsetwise.apply.writing import Seen, Standing
from offsetwise.model import ReceiptStep
from offsetwise.regular_files import below

BATCH: Final = re.compile(r"0|[1-9][0-9]{0,18}")
"""The name of a file of `offsets` or `commits`."""
_PLAN: Final = re.compile(rf"offsets/(?:{BATCH.pattern})")
_LOGS: Final = ("offsets", "commits")
SAVEPOINT_GUARD: Final = ".offsetwise-guard"
"""Stands in a copy of a savepoint while it is made or undone."""


def later_batch(names: Mapping[str, Iterable[str]], step: ReceiptStep) -> str | None:
    """Give a file of a batch newer than any that a step left there; None where there is none.

    Args:
        names: The names in `offsets` and `commits`.
        step: What was written.
    """
    kept = [int(one.path[8:]) for one in step.files if one.sha256 is not None and _PLAN.fullmatch(one.path)]
    newest = max(kept, default=-1)
    for log, found in names.items():
        for name in found:
            if BATCH.fullmatch(name) and int(name) > newest:
                return f"{log}/{name}"
    return None


def batch_guard(step: ReceiptStep) -> str:
    """Give the file that guards a Spark checkpoint while a step is undone: newer than any batch that the step knows."""
    known = [int(one.path[8:]) for one in step.files if _PLAN.fullmatch(one.path)]
    return f"offsets/{max(known, default=-1) + 1}"


def may_guard(path: str) -> bool:
    """Say whether a file of this name may be a guard."""
    return path == SAVEPOINT_GUARD or path.startswith("offsets/")


def changed(step: ReceiptStep, names: Iterable[str], read: Callable[[str], bytes | None]) -> str | None:
    """Say what is no longer as a step wrote it; None where all is.

    Args:
        step: What was written.
        names: The files that stand there now, relative; those in `offsets` and `commits` at least.
        read: Gives a file's bytes; None where there is none.
    """
    found = set(names)
    logs = {log: [name.partition("/")[2] for name in sorted(found) if name.startswith(f"{log}/")] for log in _LOGS}
    later = later_batch(logs, step)
    if later is not None:
        return f"a query has run on it since: {later} is there."
    for one in step.files:
        if one.sha256 is None:
            if one.path in found:
                return f"{one.path} was left out, and is there."
        elif (data := read(one.path)) is None:
            return f"{one.path} is gone."
        elif sha256(data) != one.sha256:
            return f"{one.path} is not as it was written."
    return None


def folder_changed(step: ReceiptStep) -> str | None:
    """Say what in a local folder is no longer as a step wrote it; None where all is."""

    def at(path: str) -> str:
        return below(step.place, path)

    logged = [f"{log}/{name}" for log in _LOGS for name in names_in(at(log))]
    dropped = [one.path for one in step.files if one.sha256 is None and os.path.lexists(at(one.path))]
    return changed(step, (*sorted(logged), *dropped), lambda path: bytes_of(at(path)))


def beside(names: Iterable[str], own: Container[str]) -> str | None:
    """Say what stands among a plan's own files that it did not put there; None where nothing does."""
    other = next((name for name in sorted(names) if name not in own), None)
    return None if other is None else f"{other[:300]} is there, and is no part of what was written."


def names_below(folder: str) -> Iterator[str]:
    """Give every file and link below a folder, relative to it."""
    for above, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(above, name))]
        yield from (os.path.relpath(os.path.join(above, name), folder) for name in (*files, *links))


def look_at_folder(step: ReceiptStep, wrong: Callable[[], str | None]) -> Seen:
    """Say whether a local folder stands there as a step wrote it.

    Args:
        step: What was written.
        wrong: Says what is not as it was written, or not by this plan.
    """
    if not os.path.isdir(step.place) or not os.listdir(step.place):
        return absent(step)
    return standing(step, wrong())


def standing(step: ReceiptStep, changed: str | None) -> Seen:
    """Say how something that stands there compares with what a step wrote."""
    if changed is not None:
        return Seen(standing=Standing.CHANGED, told=f"{step.place}: {changed}")
    return Seen(standing=Standing.AS_WRITTEN, told=f"{step.place} is as it was written.")
