"""One planned position in words: how far it moves, how well it is known, and what it costs."""

from __future__ import annotations

from offsetwise import wording
from offsetwise.model import PlannedPosition, Start
from offsetwise.wording import number, verdicts
from offsetwise.wording.verdicts import Tone, Verdict


def moves(one: PlannedPosition) -> bool:
    """Say whether the plan resumes at another position than the job's current one."""
    return one.old_offset != one.new_offset


def mark(one: PlannedPosition) -> Verdict:
    """Say how the place is known, or that a person chose it."""
    if one.override is not None:
        return Verdict(icon="✎", word="override", tone=Tone.WRONG)
    if one.start is not Start.TRANSLATED:
        return Verdict(icon="✎", word=f"starts at {one.start}", tone=Tone.CAREFUL)
    return verdicts.EXACTNESS[one.exactness]


def at_most(one: PlannedPosition, count: int | None) -> str:
    """Print how many records are read twice or never, as far as it is known.

    Only what was counted between proven places is a number; anything else is a bound.
    """
    if count is None:
        return "?"
    return number(count) if one.counted and one.exactness.proven else wording.at_most(count)


def spoken(part: str) -> str:
    """Give the name of a part of a plan in words.

    >>> spoken("new_offset")
    'new offset'
    """
    return part.replace("_", " ")
