"""The moved subject with its readings: positions by partition, whatever the stream's parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from offsetwise.config import JobTraits, Migration
from offsetwise.errors import CheckpointError
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.model import (
    BelongsTo,
    Checkpoint,
    CheckpointSource,
    MarkedPosition,
    ShardRange,
    Snapshot,
    SourcePosition,
    Subject,
)
from offsetwise.ports.stream import spec_of, stream_of
from offsetwise.transactions.report import SinkAnswer

_STATE_IT: Final = "State the name of the stream as `job.stream` at the checkpoint in the migration file."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSubject(Subject):
    read: Checkpoint | None = None
    """None for a group, and for an unreadable checkpoint."""
    traits: JobTraits = field(default_factory=JobTraits)
    rewound_to: int | None = None
    """The earlier batch that the checkpoint's positions are of; None for those of the restart."""
    other_positions: tuple[SourcePosition, ...] = ()
    """The positions of the application that reads the same stream, if one is stated."""
    sink: SinkAnswer | None = None
    """The transactions on the cluster of its sinks; None if it was not read, or did not answer."""
    stated: BelongsTo | None = None
    """The cluster of its positions, if the migration file states it or nothing else is possible."""
    kinds: frozenset[str] | None = None
    """The moved kinds of source, those of the migration's stream; None for every kind."""

    @classmethod
    def of(
        cls,
        subject: Subject,
        migration: Migration,
        *,
        read: Checkpoint | None = None,
        traits: JobTraits | None = None,
        rewound_to: int | None = None,
        other_positions: tuple[SourcePosition, ...] = (),
        sink: SinkAnswer | None = None,
        stated: BelongsTo | None = None,
    ) -> ReadSubject:
        traits = traits or migration.group_job(subject.group)
        return cls(
            kind=subject.kind,
            name=subject.name,
            read=read if read is None or traits.old_cluster_id is None else on_cluster(read, traits.old_cluster_id),
            traits=traits,
            rewound_to=rewound_to,
            other_positions=other_positions,
            sink=sink,
            stated=stated,
            kinds=spec_of(migration.source.stream).compared,
        )

    @property
    def of_file(self) -> bool:
        return self.read is not None and self.read.details.begins_by_setting

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(name for name in (self.group, self.traits.commits_to) if name is not None)

    def positions(self, source: CheckpointSource) -> tuple[SourcePosition, ...]:
        """Return the moved positions of one of its sources by partition; those of shards by their numbers.

        Raises:
            CheckpointError: The stream, or a shard of it, is unknown.
        """
        if self.kinds is not None and source.kind not in self.kinds:
            return ()
        return positions_of(source, self.traits.stream_name)

    def undecided(self, source: CheckpointSource) -> tuple[MarkedPosition, ...]:
        """Return the moved partitions of one of its sources whose start is chosen when the job starts."""
        return () if self.kinds is not None and source.kind not in self.kinds else source.undecided

    def completed(self, snapshot: Snapshot, migration: Migration) -> Snapshot:
        """Return a snapshot with the partitions that only its positions show; see `ports.stream.Complete`."""
        sources = () if self.read is None else self.read.sources
        positions: list[SourcePosition] = []
        ranges: dict[str, tuple[ShardRange, ...]] = {}
        for source in sources:
            its = self.positions(source)
            positions += its
            ranges |= {position.topic: source.ranges for position in its}
        return spec_of(migration.cluster(snapshot.cluster).stream).complete(snapshot, positions, ranges)

    def topics(self, old: Snapshot | None = None) -> tuple[str, ...]:
        """Return the old topics that it reads; a group's are those with commits on the old cluster."""
        if self.read is not None:
            sources = self.read.sources
            return tuple(
                sorted({p.topic for source in sources for p in (*self.positions(source), *self.undecided(source))})
            )
        group = old.group(self.group) if old is not None else None
        return tuple(sorted({offset.topic for offset in group.positions})) if group is not None else ()

    def internal_topics(self, old: Snapshot | None) -> tuple[str, ...]:
        group = old.group(self.group) if old is not None else None
        return group.internal_topics if group is not None else ()


def read_before(shards: Sequence[ShardRange], partitions: Collection[int]) -> set[int]:
    """Return the ancestors of shards with a position: a job has read them to their end."""
    parents = {shard.partition: shard.parents for shard in shards}
    results: set[int] = set()
    pending = [parent for partition in partitions for parent in parents.get(partition, ())]
    while pending:
        ancestor = pending.pop()
        if ancestor not in results:
            results.add(ancestor)
            pending += parents.get(ancestor, ())
    return results


def positions_of(source: CheckpointSource, stream: str | None = None) -> tuple[SourcePosition, ...]:
    """Return the positions of a checkpoint's source by partition, those of shards by their numbers.

    Args:
        source: The source.
        stream: The name of its stream in the migration file.

    Raises:
        CheckpointError: It names no stream, and none is stated; or a shard has no number.
    """
    spec = stream_of(source.kind)
    if not source.shards or spec is None or spec.as_partition is None:
        return source.positions
    positions = []
    for shard in source.shards:
        position = spec.as_partition(shard, stream)
        if position is None:
            raise CheckpointError(
                f"Source {source.id!r}: expected the name of a stream, and a shard with a number, found the stream "
                f"{shard.stream or stream!r} and the shard {shard.shard!r}. Nothing was compared.",
                fix=_STATE_IT,
            )
        positions.append(position)
    return tuple(positions)
