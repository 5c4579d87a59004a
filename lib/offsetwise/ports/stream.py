"""The interface of streams."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from offsetwise.model import (
    AnyPosition,
    PartitionComparison,
    PlannedPosition,
    ShardPosition,
    ShardRange,
    Snapshot,
    SourcePosition,
    TopicPartition,
    Translation,
)
from offsetwise.position import HIGHEST_OFFSET, of_one_stream
from offsetwise.registry import STREAMS

_OFFSET: Final = re.compile(r"[0-9]{1,19}")


class CheckProperties(Protocol):
    """Rejects client properties that cannot be used."""

    def __call__(self, properties: Mapping[str, str], *, where: str) -> None:
        """Raise unless all properties can be used.

        Args:
            properties: As in the migration file, nothing resolved.
            where: The key in the migration file, for the message, e.g. `source.properties`.

        Raises:
            ConfigError: A property cannot be used.
        """


class Addresses(Protocol):
    """Returns addresses that two clusters cannot share."""

    def __call__(self, properties: Mapping[str, str]) -> frozenset[str]:
        """Return the addresses in a cluster's properties."""


def offset(text: str, /) -> int | None:
    """Parse an offset; None for any other text.

    >>> offset("1050"), offset("-1"), offset("1e3"), offset("9223372036854775808")
    (1050, None, None, None)
    """
    return int(text) if _OFFSET.fullmatch(text) and int(text) <= HIGHEST_OFFSET else None


class Parse(Protocol):
    """Parses the text of a position."""

    def __call__(self, text: str, /) -> AnyPosition | None:
        """Return the position of a text; None for any other text."""


class Translate(Protocol):
    """Translates positions to the new cluster."""

    def __call__(
        self, position: AnyPosition, at: TopicPartition, there: TopicPartition, *, old: Snapshot, new: Snapshot
    ) -> Translation:
        """Translate a position.

        Args:
            position: The next record to read on the old cluster.
            at: The partition there.
            there: Its copy on the new cluster.
            old: The snapshot of the old cluster.
            new: The snapshot of the new cluster.
        """


class AsPartition(Protocol):
    """Converts the position of a shard to that of a partition."""

    def __call__(self, at: ShardPosition, stream: str | None) -> SourcePosition | None:
        """Return the position with the stream's name and the shard's number; None if either is unknown.

        Args:
            at: The position in a checkpoint.
            stream: The stream's name in the migration file, for checkpoints that name none.
        """


class Complete(Protocol):
    """Completes a snapshot from positions."""

    def __call__(
        self, snapshot: Snapshot, positions: Sequence[SourcePosition], ranges: Mapping[str, tuple[ShardRange, ...]]
    ) -> Snapshot:
        """Return the snapshot with partitions that the cluster does not list, or that could not be read.

        Args:
            snapshot: The snapshot.
            positions: Those of a job.
            ranges: By topic, hash keys and parents known from elsewhere.
        """


def _as_it_is(
    snapshot: Snapshot,
    positions: Sequence[SourcePosition],  # noqa: ARG001 - the snapshot is already complete
    ranges: Mapping[str, tuple[ShardRange, ...]],  # noqa: ARG001 - as above
) -> Snapshot:
    return snapshot


def _tells_nothing(position: AnyPosition) -> str:  # noqa: ARG001 - an offset has no time
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    name: str
    """The registered name."""
    label: str
    """The name for people."""
    kinds: Mapping[str, str]
    """The kinds of its sources in checkpoints, each with its name for people."""
    compared: frozenset[str]
    """The kinds whose positions are on one cluster: they are compared and moved, others only shown."""
    check: CheckProperties
    addresses: Addresses
    parse: Parse = offset
    """Parses a position's text, as people write it and files hold it. No other stream's position has such a text."""
    translate: Translate | None = None
    """Its own way to match records; None if `translation/` does it, by the records."""

    as_partition: AsPartition | None = None
    """How shards are numbered; None for a stream with partitions."""
    complete: Complete = _as_it_is
    """Completes a snapshot with partitions that only positions show."""
    oldest: AnyPosition | None = None
    """The position of a start at the oldest record, whichever that is; None if that is the start of the log."""
    may_be_one: bool = False
    """Whether both clusters of a migration may be the same, in which jobs change their position or their engine."""
    matches_records: bool = False
    """Whether its module `matching` finds positions of its shards on another stream, by the records of both."""
    holds_copies: bool = False
    """Whether its module `matching` reads possible copies of other streams' records, so that positions are found on
    it."""
    by_name: bool = False
    """Whether only named topics are read, because an account holds those of everybody."""
    ends_watched: bool = False
    """Whether its reader observes the ends of logs (`streams.abilities.LooksAtLogs`), so that a cutover can be
    watched."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """Its terms for topic, partition, offset and cluster, in the singular, by Kafka's term."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """The meaning of each property of a cluster, for a stream with property names of its own."""
    needs: tuple[str, ...] = ()
    """The properties that a cluster must have."""

    of_one_record: Callable[[AnyPosition, AnyPosition], bool] = operator.eq
    """Returns whether two positions in one partition are after the same record, which may be an aggregate."""

    tells: Callable[[AnyPosition], str] = _tells_nothing
    """Returns when the record of a position arrived, if the position contains that; else empty."""

    @property
    def has_integers(self) -> bool:
        """Whether its positions are integers, which files hold as decimal strings."""
        return self.parse is offset


def spec_of(name: str) -> Spec:
    spec: Spec = STREAMS.load(name)
    return spec


def specs() -> tuple[Spec, ...]:
    return tuple(map(spec_of, STREAMS))


def stream_of(kind: str) -> Spec | None:
    return next((spec for spec in specs() if kind in spec.kinds), None)


def position(text: str, *others: AnyPosition | None) -> AnyPosition | None:
    """Parse a position; None if it is none, or of another stream than `others`."""
    positions = (spec.parse(text) for spec in specs())
    return next(
        (candidate for candidate in positions if candidate is not None and of_one_stream(candidate, *others)), None
    )


def of_position(position: AnyPosition) -> Spec | None:
    return next((spec for spec in specs() if spec.parse(str(position)) == position), None)


def terms_between(old: Mapping[str, str], new: Mapping[str, str]) -> Mapping[str, str]:
    """Return the common terms of two streams, or neutral ones.

    >>> terms_between({"partition": "shard", "offset": "sequence number"}, {})
    {'offset': 'position'}
    """
    return old if old == new else {"offset": "position"}


def terms_of(rows: Sequence[PartitionComparison | PlannedPosition]) -> Mapping[str, str]:
    """Return the terms of the streams of rows' positions; empty if no position is known."""
    old, new = (
        None if first is None else of_position(first)
        for first in (
            next((row.old_offset for row in rows if row.old_offset is not None), None),
            next((row.new_offset for row in rows if row.new_offset is not None), None),
        )
    )
    known = [spec.terms for spec in (old, new) if spec is not None]
    return terms_between(known[0], known[-1]) if known else {}


def are_two(old: Snapshot, topic: str, new: Snapshot, new_topic: str) -> bool:
    """Return whether a topic and its copy are different, as both clusters may be the same."""
    return (old.cluster_id, topic) != (new.cluster_id, new_topic)


def completed(
    snapshot: Snapshot, positions: Sequence[SourcePosition], ranges: Mapping[str, tuple[ShardRange, ...]]
) -> Snapshot:
    """Return a snapshot completed from positions of any stream; see `Complete`."""
    for spec in specs():
        snapshot = spec.complete(snapshot, positions, ranges)
    return snapshot


def is_compared(kind: str) -> bool:
    """Return whether a source of this kind has positions of one cluster, which a migration of its stream moves."""
    return any(kind in spec.compared for spec in specs())


def is_of_several_clusters(kind: str) -> bool:
    """Return whether a source of this kind keeps offsets on several clusters, which no migration moves."""
    return any(kind in spec.kinds and kind not in spec.compared for spec in specs() if spec.has_integers)


def kind_of_one_cluster(kind: str) -> str:
    """Return the kind of the same stream's sources that keep offsets on one cluster."""
    return next(min(spec.compared) for spec in specs() if kind in spec.kinds and kind not in spec.compared)


def has_offsets(kind: str) -> bool:
    """Return whether positions of this kind are integers, which offset files and edits of states can hold."""
    return any(kind in spec.compared for spec in specs() if spec.has_integers)
