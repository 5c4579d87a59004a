"""The streaming queries of a Spark application: which ran, from which batch on, and where that batch began."""

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
    """None if it has not begun any."""
    newest_batch: int | None
    starts: tuple[Any, ...] | None = None
    """Where its first batch began, for each source in order, as the source's own JSON; None if it is not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    address: str
    """Address of the application in documents."""
    id: str | None
    """None if its event log does not record it."""
    name: str | None
    state: str
    """`RUNNING` or `COMPLETED`; from an event log, the state after its last event."""
    runs: tuple[QueryRun, ...]
    """In the order in which they began."""
    note: str = ""
    """Why less is known than from an event log, as a sentence; empty if not applicable."""


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
    return tuple(run.whole() for run in runs)
