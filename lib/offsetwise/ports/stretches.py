"""Records on both sides of a place, read again under the salt of a plan: what is wanted, and what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.model import AnyPosition
from offsetwise.position import OfPartition

EDGE: Final = 1_000
"""How many records are read above a place, where nothing says with which one to end."""
MOST: Final = 100_000
"""How many records of a stretch are read at most."""
MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch(OfPartition):
    """The records of one partition between two of them, with a place among them."""

    topic: str
    partition: int
    position: AnyPosition | None
    """None where every record lies below."""
    first: AnyPosition | None = None
    """The place before the record that it begins with; None for the oldest one."""
    final: AnyPosition | None = None
    """The place before the record that it ends with; None for `EDGE` records above the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStretch:
    """What was read of a stretch: of each record the place before it, and its identity in hex."""

    below: tuple[tuple[AnyPosition, str], ...] = ()
    above: tuple[tuple[AnyPosition, str], ...] = ()
    whole_below: bool = True
    """Whether all of it below the place was read."""
    whole_above: bool = True
    """Whether all of it above the place was read."""
    expired: frozenset[AnyPosition] = frozenset()
    """Of the records that it begins and ends with those that retention took."""
