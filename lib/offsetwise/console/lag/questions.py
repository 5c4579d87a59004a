"""What the Lag screen wants to know: the samples of a stretch of time, and one partition in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from offsetwise.console.desk import Reader, Subject
from offsetwise.lag.moments import Key
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class LagOf:
    """How did the lag of this subject develop?"""

    in_sample: ClassVar[bool] = True
    migration: str
    subject: Subject
    window_ms: int

    def ask(self, reader: Reader, progress: Progress) -> LagView | None:
        """Look the samples up; None where there is none."""
        progress("read the samples", 0, 1)
        return reader.lag(self.migration, self.subject, self.window_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLagOf:
    """And that of one of its partitions?"""

    in_sample: ClassVar[bool] = True
    migration: str
    subject: Subject
    window_ms: int
    key: Key
    newest: int
    """The id of the newest sample on the page: with another one, it is another question."""

    def ask(self, reader: Reader, progress: Progress) -> PartitionView | None:
        """Look its samples up; None where there is none."""
        progress("read the partition's samples", 0, 1)
        return reader.lag_of_partition(self.migration, self.subject, self.key, self.window_ms)
