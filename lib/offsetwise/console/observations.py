"""The snapshots of both clusters that comparisons were made with, kept to draft plans from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offsetwise.model import Comparison, Subject
from offsetwise.recent import Recent

MOST_OBSERVED: Final = 1_000
"""Comparisons whose snapshots are kept, to draft that many plans: jobs compared together share one reading."""


class Observations:
    """The snapshots of the latest comparisons: fewer than comparisons. Thread-safe."""

    def __init__(self) -> None:
        self._observed: Recent[tuple[str, Subject], tuple[Comparison, Comparison]] = Recent(MOST_OBSERVED)
        """Each comparison without its snapshots, and with them."""

    def keep(self, migration: str, subject: Subject, comparison: Comparison) -> Comparison:
        """Keep a comparison instead of the earlier one, and return it without its snapshots."""
        alone = replace(comparison, read_from=None, services=())
        self._observed.keep((migration, subject), (alone, comparison))
        return alone

    def newest(self, migration: str, subject: Subject) -> Comparison | None:
        kept = self._observed.get((migration, subject))
        return None if kept is None else kept[1]

    def of(self, migration: str, subject: Subject, comparison: Comparison) -> Comparison | None:
        """Return a comparison with its snapshots; None if a newer one replaced it."""
        kept = self._observed.get((migration, subject))
        return kept[1] if kept is not None and kept[0] is comparison else None
