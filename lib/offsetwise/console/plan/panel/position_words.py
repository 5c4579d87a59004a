"""One planned position in words: how far it moves, how well it is known, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from typing import Final

from offsetwise import wording
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, new_in_bold
from offsetwise.model import Plan, PlannedPosition, Start
from offsetwise.position import OpaquePosition
from offsetwise.wording import number, verdicts
from offsetwise.wording.verdicts import Tone, Verdict

_LARGEST: Final = 3
"""Positions in a one-line summary."""
_LINES: Final = 12
"""Positions that are listed on a line each."""
_ELLIPSIS: Final = "…"
_UNBROKEN: Final = f"{_ELLIPSIS}\N{WORD JOINER}"


def moves(position: PlannedPosition) -> bool:
    return position.old_offset != position.new_offset


def mark(position: PlannedPosition) -> Verdict:
    if position.override is not None:
        return Verdict(icon="✎", word="override", tone=Tone.WRONG)
    if position.start is not Start.TRANSLATED:
        return Verdict(icon="✎", word=f"starts at {position.start}", tone=Tone.CAREFUL)
    return verdicts.EXACTNESS[position.exactness]


@cached(8)
def in_one_line(digest: str, _plan: Plan) -> str:  # noqa: ARG001 - the key
    """Summarise which positions of a plan change most, and how many change. Markdown."""
    moved = [position for position in _plan.positions if moves(position)]
    counts = wording.changing(len(moved), len(_plan.positions) - len(moved))
    return " · ".join([f":gray[{counts}]", *_largest(moved)])


@cached(8)
def largest_changes(digest: str, _plan: Plan) -> str:  # noqa: ARG001 - the key
    """List the positions of a plan that change most, with old and new offset; empty if none changes. Markdown.

    Positions that are not numbers have a line each: on a phone, the table has no room for both.
    """
    moved = [position for position in _plan.positions if moves(position)]
    if any(isinstance(position.new_offset, OpaquePosition) for position in moved):
        return "  \n".join(_largest(moved, _LINES))
    return " · ".join(_largest(moved))


def _largest(moved: Sequence[PlannedPosition], most: int = _LARGEST) -> list[str]:
    return [from_old_to_new(position) for position in nsmallest(most, moved, key=_largest_first)]


def _largest_first(position: PlannedPosition) -> tuple[int, str, int]:
    return -abs(verdicts.shift(position) or 0), position.topic, position.partition


def from_old_to_new(position: PlannedPosition) -> str:
    """Format one position with its old and its new offset, and how well it is known. Markdown."""
    verdict = mark(position)
    numbers = (
        f"{markdown(wording.brief(position.old_offset))} → {new_in_bold(position.old_offset, position.new_offset)}"
    )
    # Keep a shortened number on one line: broken in two it reads as two numbers.
    numbers = numbers.replace(_ELLIPSIS, _UNBROKEN)
    return f"**{markdown(str(position.topic_partition))}** {numbers} :{verdict.tone.colour}[{verdict}]"


def at_most(position: PlannedPosition, count: int | None) -> str:
    """Format how many records are read twice or never, as far as it is known.

    Only a count between proven positions is shown as a number; anything else is a bound.
    """
    if count is None:
        return "?"
    return number(count) if position.counted and position.exactness.proven else wording.at_most(count)


def spoken(part: str) -> str:
    """Return the name of a part of a plan in words.

    >>> spoken("new_offset")
    'new offset'
    """
    return part.replace("_", " ")
