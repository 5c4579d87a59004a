"""The history of a Spark checkpoint's retained batches: records per batch, what moved, what a failure reads again.

A batch is defined by its end. Its start is the end of the batch before it, and for batch 0 the initial offsets; below
the oldest retained batch the history is purged, and a purged start is unknown, never 0.

A difference of offsets is an upper bound of the records that were read: compacted topics and transactions hold fewer
records than offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import numpy as np
import numpy.typing as npt

from offsetwise.digits import numbers_first
from offsetwise.model import Batch, BatchSource
from offsetwise.position import OfPartition

Offsets = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_HALF_BITS = 32
_HALF = (1 << _HALF_BITS) - 1


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Lane(OfPartition):
    """One partition of one source."""

    source: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One topic of one source, whose lanes are adjacent."""

    source: str
    topic: str
    first: int
    count: int

    @property
    def lanes(self) -> slice:
        return slice(self.first, self.first + self.count)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """The retained batches of a query as a matrix: one row per batch, one column per partition.

    Row 0 of `ends` is the start of the first retained batch, row `i + 1` the end of `batches[i]`. A value is valid only
    if `known` is set.
    """

    batches: tuple[Batch, ...]
    """Ascending."""
    lanes: tuple[Lane, ...]
    """By source, topic, partition."""
    logs: tuple[Log, ...]
    ends: Offsets
    known: Flags

    def row(self, batch: int) -> int:
        """Return the index of a batch.

        Raises:
            KeyError: It is not retained.
        """
        row = next((index for index, candidate in enumerate(self.batches) if candidate.id == batch), None)
        if row is None:
            raise KeyError(batch)
        return row

    def moved(self, row: int, lanes: slice = slice(None)) -> tuple[Offsets, Flags]:
        known = self.known[row, lanes] & self.known[row + 1, lanes]
        return np.where(known, self.ends[row + 1, lanes] - self.ends[row, lanes], 0), known


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    records: int
    """In partitions with a known start and end that did not go back."""
    partitions: int
    """Partitions with a known start and end."""
    without_start: int
    """Partitions that the batch names and whose start is unknown."""
    regressions: int
    """Partitions whose end is before their start."""

    @property
    def at_all(self) -> bool:
        return self.partitions > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFact:
    batch: Batch
    since: int | None
    """The previous batch in the log; None for the first retained one."""
    interval_ms: int | None
    """Time since the previous batch was planned; None if either time is unknown."""
    end: int | None
    """Sum of the end offsets of its partitions; None if none is known."""
    read: Amount

    @property
    def together(self) -> int:
        """How many batch ids its records may belong to: more than one if files between are missing."""
        return 1 if self.since is None else self.batch.id - self.since


class Phase(StrEnum):
    PLANNED = "planned"
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMoment:
    """One step in the life of the checkpoint. `row` is the batch in `History.batches`; None before the first one."""

    row: int | None
    phase: Phase | None = None

    def name(self, history: History) -> str:
        return "before the first batch" if self.row is None else f"batch {history.batches[self.row].id} {self.phase}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchStanding:
    """The state of the checkpoint at a moment, and what a failure then would read again. One value per lane."""

    start: Offsets
    """The next record to read after a failure."""
    start_known: Flags
    end: Offsets
    """The end of the batch that would run again; equal to `start` if none would."""
    end_known: Flags
    again: Amount


def history_of(batches: Sequence[Batch], initial: Sequence[BatchSource] = ()) -> History:
    """Return the history of batches.

    Args:
        batches: The retained batches, ascending.
        initial: The initial offsets of the query, where batch 0 begins, if it has some.
    """
    retained = tuple(batches)
    begins = tuple(initial) if not retained or retained[0].id == 0 else ()
    rows = [begins, *(batch.sources for batch in retained)]
    numbers = _partitions_by_topic(rows)
    lanes = tuple(
        Lane(source=source, topic=topic, partition=partition)
        for source, topic in sorted(numbers, key=_log_order)
        for partition in sorted(numbers[source, topic])
    )
    lane_indexes: dict[tuple[str, str], dict[int, int]] = {key: {} for key in numbers}
    for index, lane in enumerate(lanes):
        lane_indexes[lane.source, lane.topic][lane.partition] = index
    ends = np.zeros((len(rows), len(lanes)), dtype=np.int64)
    known = np.zeros(ends.shape, dtype=np.bool_)
    columns: dict[tuple[str, str], tuple[tuple[int, ...], npt.NDArray[np.intp]]] = {}
    for row, sources in enumerate(rows):
        for source in sources:
            for offset in source.offsets:
                key = (source.id, offset.topic)
                if key not in columns or columns[key][0] != offset.partitions:
                    of = lane_indexes[key]
                    columns[key] = (
                        offset.partitions,
                        np.array([of[number] for number in offset.partitions], dtype=np.intp),
                    )
                at = columns[key][1]
                ends[row, at] = offset.offsets
                known[row, at] = True
    logs = []
    for (source_id, topic), group in groupby(enumerate(lanes), key=lambda pair: (pair[1].source, pair[1].topic)):
        members = [index for index, _ in group]
        logs.append(Log(source=source_id, topic=topic, first=members[0], count=len(members)))
    return History(batches=retained, lanes=lanes, logs=tuple(logs), ends=ends, known=known)


def facts(history: History, lanes: slice = slice(None)) -> tuple[BatchFact, ...]:
    """Return one fact per retained batch, ascending, counted over these lanes."""
    batch_facts = []
    for row, batch in enumerate(history.batches):
        before = history.batches[row - 1] if row else None
        named = history.known[row + 1, lanes]
        batch_facts.append(
            BatchFact(
                batch=batch,
                since=None if before is None else before.id,
                interval_ms=_interval(before, batch),
                end=total(history.ends[row + 1, lanes][named]) if named.any() else None,
                read=_amount(history, row, lanes),
            )
        )
    return tuple(batch_facts)


def moments(history: History) -> tuple[BatchMoment, ...]:
    """Return the steps of the retained history: before it, then each batch planned and, if it was, committed."""
    batch_moments = [BatchMoment(row=None)] if history.known[0].any() else []
    for row, batch in enumerate(history.batches):
        batch_moments.append(BatchMoment(row=row, phase=Phase.PLANNED))
        if batch.committed:
            batch_moments.append(BatchMoment(row=row, phase=Phase.COMMITTED))
    return tuple(batch_moments)


def state_at(history: History, moment: BatchMoment, lanes: slice = slice(None)) -> BatchStanding:
    """Return the state of the checkpoint at a moment, and what a failure then would read again.

    A batch that is planned and not committed runs again from its start. After its commit nothing is read again.
    """
    if moment.row is None or moment.phase is Phase.COMMITTED:
        row = 0 if moment.row is None else moment.row + 1
        start, known = history.ends[row, lanes], history.known[row, lanes]
        nothing = Amount(records=0, partitions=int(known.sum()), without_start=0, regressions=0)
        return BatchStanding(start=start, start_known=known, end=start, end_known=known, again=nothing)
    return BatchStanding(
        start=history.ends[moment.row, lanes],
        start_known=history.known[moment.row, lanes],
        end=history.ends[moment.row + 1, lanes],
        end_known=history.known[moment.row + 1, lanes],
        again=_amount(history, moment.row, lanes),
    )


def total(values: Offsets) -> int:
    """Return the exact sum: ten thousand large offsets do not fit into 64 bits.

    >>> total(np.array([2**62, 2**62, -1]))
    9223372036854775807
    """
    return (int((values >> _HALF_BITS).sum()) << _HALF_BITS) + int((values & _HALF).sum())


def _amount(history: History, row: int, lanes: slice) -> Amount:
    moved, known = history.moved(row, lanes)
    return Amount(
        records=total(np.maximum(moved, 0)),
        partitions=int(known.sum()),
        without_start=int((history.known[row + 1, lanes] & ~known).sum()),
        regressions=int((moved < 0).sum()),
    )


def _interval(before: Batch | None, batch: Batch) -> int | None:
    if before is None or before.timestamp_ms is None or batch.timestamp_ms is None:
        return None
    return batch.timestamp_ms - before.timestamp_ms


def _log_order(key: tuple[str, str]) -> tuple[bool, int, str, str]:
    source, topic = key
    return *numbers_first(source), topic


def _partitions_by_topic(rows: Iterable[Sequence[BatchSource]]) -> dict[tuple[str, str], set[int]]:
    partitions: dict[tuple[str, str], set[int]] = {}
    last: dict[tuple[str, str], tuple[int, ...]] = {}
    for sources in rows:
        for source in sources:
            for offset in source.offsets:
                key = (source.id, offset.topic)
                # Nearly every batch has the same partitions in the same order: they are checked once.
                if last.get(key) != offset.partitions:
                    partitions.setdefault(key, set()).update(offset.partitions)
                    last[key] = offset.partitions
    return partitions
