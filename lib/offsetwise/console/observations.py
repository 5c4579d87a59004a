"""The snapshots of both clusters that comparisons were made with, kept to draft plans from them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Final

from offsetwise.model import Comparison, Subject

MOST_OBSERVED: Final = 1_000
"""Comparisons whose snapshots are kept, to draft as many plans: jobs compared together share one reading."""


class Observations:
    """The snapshots that the last comparisons were made with: fewer than comparisons. Safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observed: OrderedDict[tuple[str, Subject], tuple[Comparison, Comparison]] = OrderedDict()
        """Each comparison without its snapshots, and with them."""

    def keep(self, migration: str, subject: Subject, comparison: Comparison) -> Comparison:
        """Keep a comparison in the place of the earlier one, and return it without its snapshots."""
        alone = replace(comparison, read_from=None, services=())
        with self._lock:
            self._observed[migration, subject] = (alone, comparison)
            self._observed.move_to_end((migration, subject))
            while len(self._observed) > MOST_OBSERVED:
                self._observed.popitem(last=False)
        return alone

    def newest(self, migration: str, subject: Subject) -> Comparison | None:
        """Return the last comparison of a subject, with its snapshots; None where none is kept."""
        with self._lock:
            return self._observed.get((migration, subject), (None, None))[1]

    def of(self, migration: str, subject: Subject, comparison: Comparison) -> Comparison | None:
        """Return a comparison with its snapshots; None where another one took its place."""
        with self._lock:
            alone, complete = self._observed.get((migration, subject), (None, None))
            if alone is not comparison:
                return None
            self._observed.move_to_end((migration, subject))
            return complete
