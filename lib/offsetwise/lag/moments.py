"""One number of one partition over time, from samples: the log end, the log start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from offsetwise.model import Cluster, LagPartition, LagSample
from offsetwise.position import offset_or_none

Key = tuple[str, str, int]
"""Source, topic, partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    at_ms: int
    offset: int


def ends_of(history: Sequence[LagSample], key: Key, side: Cluster) -> tuple[Moment, ...]:
    """Return the known ends of one log, ascending in time; only since it last fell, if it ever did."""
    isolation = {sample.isolation_level for sample in history[-1:]}
    return _moments(history, key, side, lambda row: offset_or_none(row.log(side).end(*isolation)))


def starts_of(history: Sequence[LagSample], key: Key, side: Cluster) -> tuple[Moment, ...]:
    return _moments(history, key, side, lambda row: offset_or_none(row.log(side).log_start))


def _moments(
    history: Sequence[LagSample], key: Key, side: Cluster, offset_of: Callable[[LagPartition], int | None]
) -> tuple[Moment, ...]:
    moments: list[Moment] = []
    for sample in history:
        row = next((partition for partition in sample.partitions if partition.key == key), None)
        offset = None if row is None else offset_of(row)
        if offset is None:
            continue
        if moments and offset < moments[-1].offset:
            moments.clear()  # the topic was created again, or truncated: earlier values belong to another log
        moments.append(Moment(at_ms=sample.cluster(side).read_at_ms or sample.taken_at_ms, offset=offset))
    return tuple(moments)
