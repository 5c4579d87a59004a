"""Check whether the content at a path is still what a step wrote."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass

from offsetwise.apply.digests import bytes_of, sha256
from offsetwise.apply.publish import absent
from offsetwise.apply.writing import SeenPlace, StepStanding
from offsetwise.model import ReceiptStep
from offsetwise.regular_files import below

Names = Callable[[str], Iterable[str]]
"""Returns the names in a folder of the written copy, given the folder's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The file in a copy on an object store that keeps jobs and other appliers out while the copy is incomplete."""

    path: Callable[[ReceiptStep], str]
    """Returns its path while a step is undone."""
    matches: Callable[[str], bool]
    """Whether a path may be that of a guard."""


def changed(step: ReceiptStep, names: Iterable[str], read: Callable[[str], bytes | None]) -> str | None:
    """Describe a difference from what a step wrote; None if there is none.

    Args:
        step: What was written.
        names: The existing files, relative; at least those that the step left out.
        read: Returns a file's bytes; None if it is missing.
    """
    results = set(names)
    for file in step.files:
        if file.sha256 is None:
            if file.path in results:
                return f"{file.path} was left out, and is there."
        elif (data := read(file.path)) is None:
            return f"{file.path} is gone."
        elif sha256(data) != file.sha256:
            return f"{file.path} is not as it was written."
    return None


def folder_changed(step: ReceiptStep) -> str | None:
    """Describe how a local folder differs from what a step wrote; None if it does not."""

    def at(path: str) -> str:
        return below(step.place, path)

    dropped = [file.path for file in step.files if file.sha256 is None and os.path.lexists(at(file.path))]
    return changed(step, dropped, lambda path: bytes_of(at(path)))


def foreign_names(names: Iterable[str], own: Container[str]) -> str | None:
    """Describe a file that the plan did not write among its own; None if there is none."""
    other = next((name for name in sorted(names) if name not in own), None)
    return None if other is None else f"{other[:300]} is there, and is not part of what was written."


def names_below(folder: str) -> Iterator[str]:
    for above, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(above, name))]
        yield from (os.path.relpath(os.path.join(above, name), folder) for name in (*files, *links))


def look_at_folder(step: ReceiptStep, wrong: Callable[[], str | None]) -> SeenPlace:
    """Return whether a local folder exists as a step wrote it.

    Args:
        step: What was written.
        wrong: Describes a difference from what this plan wrote; None if there is none.
    """
    if not os.path.isdir(step.place) or not os.listdir(step.place):
        return absent(step)
    return state_of(step, wrong())


def state_of(step: ReceiptStep, changed: str | None) -> SeenPlace:
    if changed is not None:
        return SeenPlace(standing=StepStanding.CHANGED, told=f"{step.place}: {changed}")
    return SeenPlace(standing=StepStanding.AS_WRITTEN, told=f"{step.place} is as it was written.")
