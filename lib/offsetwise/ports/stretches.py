"""Records on both sides of a position, read again under the salt of a plan: the request and the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.model import AnyPosition
from offsetwise.position import OfPartition

EDGE: Final = 1_000
"""How many records are read above a position, if no record to end with is given."""
MOST: Final = 100_000
"""How many records of a stretch are read at most."""
MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch(OfPartition):
    """The records of one partition between two of them, with a position among them."""

    topic: str
    partition: int
    position: AnyPosition | None
    """None if every record is below."""
    first: AnyPosition | None = None
    """The position before the first record; None for the oldest record."""
    final: AnyPosition | None = None
    """The position before the last record; None for `EDGE` records above the position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStretch:
    """The result for a stretch: of each record the position before it, and its identity in hex."""

    below: tuple[tuple[AnyPosition, str], ...] = ()
    above: tuple[tuple[AnyPosition, str], ...] = ()
    whole_below: bool = True
    """Whether everything below the position was read."""
    whole_above: bool = True
    """Whether everything above the position was read."""
    expired: frozenset[AnyPosition] = frozenset()
    """The first or last records that retention has deleted."""
