"""What a Spark application says of its streaming queries: which ran, from which batch on, and where that one began."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRun:
    query_id: str
    """As in the file `metadata` of its checkpoint."""
    run_id: str
    name: str | None
    is_whole: bool
    """Whether it is known from its first batch on."""
    first_batch: int | None
    """None where it has begun none."""
    newest_batch: int | None
    starts: tuple[Any, ...] | None = None
    """Where its first batch began, of each source in their order, as the source's own JSON; None where nothing says
    it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    address: str
    """What documents call it."""
    id: str | None
    """None where its event log does not say it."""
    name: str | None
    state: str
    """`RUNNING` or `COMPLETED`; of an event log what it ends with."""
    runs: tuple[QueryRun, ...]
    """In the order in which they began."""
    note: str = ""
    """Why less is known of them than an event log would say, as a sentence; empty where nothing is to be said."""


@dataclass(slots=True, kw_only=True)
class RunSoFar:
    query_id: str
    run_id: str
    name: str | None
    is_whole: bool
    batches: set[int]
    starts: tuple[Any, ...] | None = None

    def whole(self) -> QueryRun:
        return QueryRun(
            query_id=self.query_id,
            run_id=self.run_id,
            name=self.name,
            is_whole=self.is_whole,
            first_batch=min(self.batches, default=None),
            newest_batch=max(self.batches, default=None),
            starts=self.starts,
        )


def in_order(runs: Iterable[RunSoFar]) -> tuple[QueryRun, ...]:
    """Return runs as they are now, in their order."""
    return tuple(run.whole() for run in runs)
