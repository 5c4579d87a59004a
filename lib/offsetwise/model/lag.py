"""The lag of one subject at one moment, on both clusters. None means unread or unknown, never 0."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.closed_sets import Cluster, Exactness, IsolationLevel, Method
from offsetwise.model.clusters import LogRange
from offsetwise.model.findings import Problem
from offsetwise.model.offsets import AnyPosition, Offset
from offsetwise.model.time_lag import Behind, QuotaUse
from offsetwise.position import OfTwins, Position


class LagPart(StrEnum):
    """One thing that a sample reads."""

    OLD = "old"
    NEW = "new"
    POSITIONS = "positions"
    """The positions of the checkpoint or group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPart:
    """A part of a sample that could not be read, and why."""

    part: LagPart
    problem: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCluster:
    """A cluster as a sample saw it."""

    name: str
    cluster_id: str | None
    read_at_ms: int | None
    """When reading it began; None if it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """What one group had committed in one partition, on either cluster."""

    old: Offset | None
    new: Offset | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LagPartition(OfTwins):
    """One partition at one moment."""

    source: str
    topic: str
    partition: int
    new_topic: str
    position: AnyPosition | None
    """The subject's next record on the old cluster."""
    new_position: AnyPosition | None
    """Its position on the new cluster, as exact as `method` and `exactness` say."""
    method: Method
    exactness: Exactness
    old: LogRange
    new: LogRange
    groups: tuple[GroupPosition, ...] = ()
    """In the order of the sample's `groups`."""
    behind_old: Behind | None = None
    """How far the position is behind in time, if the stream reports it. Not written if null, like the next one."""
    behind_new: Behind | None = None
    """The same for the position on the new cluster."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.source, self.topic, self.partition

    def log(self, side: Cluster) -> LogRange:
        return self.old if side is Cluster.OLD else self.new

    def position_on(self, side: Cluster) -> Position | None:
        return self.position if side is Cluster.OLD else self.new_position

    def time_lag_on(self, side: Cluster) -> Behind | None:
        return self.behind_old if side is Cluster.OLD else self.behind_new


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSample:
    """What one checkpoint or group had left to read at one moment."""

    migration: str
    checkpoint: str | None
    """The checkpoint's name in the migration file; None for a group."""
    group: str | None
    taken_at_ms: int
    """When reading began."""
    interval_ms: int | None
    """The intended interval of samples; None for a single one."""
    sampled_by: str
    isolation_level: IsolationLevel
    """Decides up to where the job can read: the LSO with `read_committed`, else the HW."""
    old: SampledCluster
    new: SampledCluster
    batch: int | None = None
    """The last committed batch of the checkpoint."""
    heartbeat_ms: int | None = None
    """The newest heartbeat of the mirror's flow; None if there is none."""
    groups: tuple[str, ...] = ()
    partitions: tuple[LagPartition, ...] = ()
    """By source, topic and partition."""
    missing: tuple[MissingPart, ...] = ()
    problems: tuple[Problem, ...] = ()
    """The problems that the readers of both clusters reported."""
    quota: QuotaUse | None = None
    """The quota used to read times; None if they were not read. Not written if null."""

    def cluster(self, side: Cluster) -> SampledCluster:
        return self.old if side is Cluster.OLD else self.new
