"""What was seen of one subject's lag at one moment, on both clusters. None is unread or unknown, never 0."""

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
    """The checkpoint's or the group's positions."""


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
    """When reading it began; None where it could not be read."""


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
    """Its place on the new cluster, as well as `method` and `exactness` say."""
    method: Method
    exactness: Exactness
    old: LogRange
    new: LogRange
    groups: tuple[GroupPosition, ...] = ()
    """In the order of the sample's `groups`."""
    behind_old: Behind | None = None
    """How far the position is behind in time, of a stream that tells it. Not written if None, as the next one."""
    behind_new: Behind | None = None
    """The same at the place on the new cluster."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from the subject's other partitions."""
        return self.source, self.topic, self.partition

    def log(self, side: Cluster) -> LogRange:
        """Return the log on one cluster."""
        return self.old if side is Cluster.OLD else self.new

    def position_on(self, side: Cluster) -> Position | None:
        """Return the subject's next record on one cluster."""
        return self.position if side is Cluster.OLD else self.new_position

    def time_lag_on(self, side: Cluster) -> Behind | None:
        """Return how far the subject is behind in time on one cluster."""
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
    """How far apart samples are meant to be; None for a single one."""
    sampled_by: str
    isolation_level: IsolationLevel
    """Which end of the log the job can read up to: the LSO with `read_committed`, else the HW."""
    old: SampledCluster
    new: SampledCluster
    batch: int | None = None
    """The last committed batch of the checkpoint."""
    heartbeat_ms: int | None = None
    """The newest heartbeat of the mirror's flow; None where there is none."""
    groups: tuple[str, ...] = ()
    partitions: tuple[LagPartition, ...] = ()
    """By source, topic and partition."""
    missing: tuple[MissingPart, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What the readers of both clusters found wrong."""
    quota: QuotaUse | None = None
    """What asking for times took; None where nobody asked. Not written then."""

    def cluster(self, side: Cluster) -> SampledCluster:
        """Return one of the two clusters."""
        return self.old if side is Cluster.OLD else self.new
