"""Whether the paths that a receipt or a journal names stay at the place of their step.

Both are files that anybody with the right to their folder can edit, and a rollback moves and removes what they name.
So no path of them is believed: a place is checked against the write roots where it is used, and everything else must
have exactly the form that the writers give it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from offsetwise.apply.journal import StepRecord
from offsetwise.errors import FileError
from offsetwise.model import ReceiptStep, TargetKind

_BESIDE: Final = re.compile(r"\.tmp-[0-9a-f]{32}")
"""How a name under construction, or on its way out, goes on from its place's."""
_KEEP: Final = re.compile(r"\.offsetwise-[0-9a-f]{12}-[0-9a-f]{8}")
"""The folder in a checkpoint that keeps its originals."""
_GUARD: Final = re.compile(r"offsets/(?:0|[1-9][0-9]{0,18})")
_URI: Final = re.compile(r"[a-z][a-z0-9]*://")


def require_confined(path: str, records: Iterable[StepRecord], steps: Iterable[ReceiptStep] = ()) -> None:
    """Refuse a receipt or a journal that names something outside of the places of its steps.

    Args:
        path: The file, for the message.
        records: What a journal says.
        steps: What a receipt says.

    Raises:
        FileError: It does.
    """
    known = [(step, record.notes) for record in records for step in (record.intended, record.done, record.undone)]
    for step, notes in (*known, *((step, {}) for step in steps)):
        wrong = None if step is None else leading_out(step, notes)
        if step is not None and wrong is not None:
            raise FileError(
                f"{path}: expected {step.target} as `offsetwise apply` records it, but {wrong}. Somebody has changed "
                "this file. Nothing was written and nothing was removed.",
                fix="Find out who did. Compare what stands at the target with the plan by hand.",
            )


def leading_out(step: ReceiptStep, notes: Mapping[str, str]) -> str | None:
    """Say what in a step could lead out of its place; None where nothing could.

    Args:
        step: As a receipt or a journal has it.
        notes: What the journal notes for it.
    """
    if step.target.kind is TargetKind.CONSUMER_GROUP:
        return None
    place = step.place
    if not _URI.match(place) and not (os.path.isabs(place) and os.path.normpath(place) == place and "\0" not in place):
        return f"its place {place[:300]!r} is not a whole path"
    for one in step.files:
        if not _relative(one.path):
            return f"its file {one.path[:300]!r} leads out of {place}"
        if one.kept_as is not None and not _kept(one.kept_as, one.path):
            return f"its file {one.path} is kept as {one.kept_as[:300]!r}, where no original is kept"
    for name, value in notes.items():
        if name in ("tmp", "trash") and not (value.startswith(place) and _BESIDE.fullmatch(value, len(place))):
            return f"its {name} {value[:300]!r} is no name beside {place}"
        if name == "keep" and not _KEEP.fullmatch(value):
            return f"its originals are in {value[:300]!r}, where none are kept"
        if name == "guard" and not _GUARD.fullmatch(value):
            return f"its guard {value[:300]!r} is no batch"
    return None


def _relative(path: str) -> bool:
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _kept(kept_as: str, path: str) -> bool:
    keep, _, below = kept_as.partition("/")
    return bool(_KEEP.fullmatch(keep)) and below == f"before/{path}"
