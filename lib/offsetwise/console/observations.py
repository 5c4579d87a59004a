"""What the comparisons of this process were made from: a plan is held to the clusters as its comparison read them."""

from __future__ import annotations

import threading
from collections import OrderedDict

from offsetwise.console.desk import HELD_ANSWERS, Subject
from offsetwise.model import Comparison
from offsetwise.workflow import Observed


class Observations:
    """The last reading of each subject, as many as the desk holds comparisons. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Subject], Observed] = OrderedDict()

    def keep(self, migration: str, subject: Subject, seen: Observed) -> None:
        """Keep a reading in the place of the earlier one."""
        with self._lock:
            self._kept[migration, subject] = seen
            self._kept.move_to_end((migration, subject))
            while len(self._kept) > HELD_ANSWERS:
                self._kept.popitem(last=False)

    def of(self, migration: str, subject: Subject, comparison: Comparison) -> Observed | None:
        """Give the reading that a comparison was made from; None where another one took its place."""
        with self._lock:
            found = self._kept.get((migration, subject))
            if found is None or found.comparison is not comparison:
                return None
            self._kept.move_to_end((migration, subject))
            return found
