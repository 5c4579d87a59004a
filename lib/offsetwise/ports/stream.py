"""What every stream says of itself."""

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
    """Refuses client properties that cannot be used."""

    def __call__(self, properties: Mapping[str, str], *, where: str) -> None:
        """Go on only with properties that can be used.

        Args:
            properties: As the migration file has them, nothing resolved.
            where: The key in the migration file, for the message, e.g. `source.properties`.

        Raises:
            ConfigError: One cannot be used.
        """


class Addresses(Protocol):
    """Returns what two clusters cannot share."""

    def __call__(self, properties: Mapping[str, str]) -> frozenset[str]:
        """Return the addresses in a cluster's properties."""


def offset(text: str, /) -> int | None:
    """Read an offset.

    >>> offset("1050"), offset("-1"), offset("1e3"), offset("9223372036854775808")
    (1050, None, None, None)
    """
    return int(text) if _OFFSET.fullmatch(text) and int(text) <= HIGHEST_OFFSET else None


class Parse(Protocol):
    """Reads the text of a position."""

    def __call__(self, text: str, /) -> AnyPosition | None:
        """Return the position that a text says; None for any other text."""


class Translate(Protocol):
    """Returns where positions lie on the new cluster."""

    def __call__(
        self, position: AnyPosition, at: TopicPartition, there: TopicPartition, *, old: Snapshot, new: Snapshot
    ) -> Translation:
        """Translate a position.

        Args:
            position: The next record to read on the old cluster.
            at: The partition there.
            there: Its copy on the new cluster.
            old: What the old cluster said.
            new: What the new cluster said.
        """


class AsPartition(Protocol):
    """Reads the position of a shard as that of a partition."""

    def __call__(self, at: ShardPosition, stream: str | None) -> SourcePosition | None:
        """Return the position with the stream's name and the shard's number; None where either cannot be told.

        Args:
            at: As a checkpoint has it.
            stream: The stream's name as the migration file states it, for checkpoints that name none.
        """


class Complete(Protocol):
    """Adds to what a cluster said what only positions tell."""

    def __call__(
        self, snapshot: Snapshot, positions: Sequence[SourcePosition], ranges: Mapping[str, tuple[ShardRange, ...]]
    ) -> Snapshot:
        """Return the snapshot with partitions that the cluster does not list, or could not be asked about.

        Args:
            snapshot: What it said.
            positions: Those of a job.
            ranges: By topic, what is known of hash keys and parents beside the cluster.
        """


def _as_it_is(
    snapshot: Snapshot,
    positions: Sequence[SourcePosition],  # noqa: ARG001 - the cluster says everything
    ranges: Mapping[str, tuple[ShardRange, ...]],  # noqa: ARG001 - as above
) -> Snapshot:
    return snapshot


def _tells_nothing(position: AnyPosition) -> str:  # noqa: ARG001 - an offset tells no time
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One stream."""

    name: str
    """As registered."""
    label: str
    """For people."""
    kinds: Mapping[str, str]
    """The kinds of source that a checkpoint may have of it, each with what people call it."""
    compared: frozenset[str]
    """Of these kinds, those whose positions are of one cluster: they are compared and moved, others only shown."""
    check: CheckProperties
    addresses: Addresses
    parse: Parse = offset
    """Reads a position's text, as people write it and files hold it. No other stream's position has such a text."""
    translate: Translate | None = None
    """How it matches records of its own; None where `translation/` does, by the records."""

    as_partition: AsPartition | None = None
    """How shards are numbered; None of a stream that has partitions."""
    complete: Complete = _as_it_is
    """What positions tell of partitions that a cluster does not list."""
    oldest: AnyPosition | None = None
    """What begins at the oldest record, whichever that is; None where that is the start of the log."""
    may_be_one: bool = False
    """Whether both clusters of a migration may be one, in which jobs change their place or their engine."""
    matches_records: bool = False
    """Whether its module `matching` finds positions of its shards on another stream, by the records of both."""
    holds_copies: bool = False
    """Whether its module `matching` reads what may be copies of other streams' records, so that positions are found on
    it."""
    by_name: bool = False
    """Whether only topics that are named are read, because an account holds those of everybody."""
    ends_watched: bool = False
    """Whether its reader looks where logs end (`streams.abilities.LooksAtLogs`), so that the cutover can be watched."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """What people call a topic, a partition, an offset and a cluster of it, in the singular, by Kafka's word for it."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What each property of a cluster means, of a stream that has names of its own for them."""
    needs: tuple[str, ...] = ()
    """Those that a cluster must have."""

    of_one_record: Callable[[AnyPosition, AnyPosition], bool] = operator.eq
    """Returns whether two positions in one partition are after the same record, which may pack several together."""

    tells: Callable[[AnyPosition], str] = _tells_nothing
    """Returns when the record of a position arrived, as the position itself tells it; empty where it does not."""

    @property
    def has_integers(self) -> bool:
        """Whether its positions are integers, which files hold as decimal strings."""
        return self.parse is offset


def spec_of(name: str) -> Spec:
    """Return what a registered stream says of itself."""
    spec: Spec = STREAMS.load(name)
    return spec


def specs() -> tuple[Spec, ...]:
    """Return all registered streams, in their order."""
    return tuple(map(spec_of, STREAMS))


def stream_of(kind: str) -> Spec | None:
    """Return the stream that a source of a checkpoint reads; None where it is none of those known."""
    return next((spec for spec in specs() if kind in spec.kinds), None)


def position(text: str, *others: AnyPosition | None) -> AnyPosition | None:
    """Return the position that a text says; None where it is none, or of another stream than those beside it."""
    positions = (spec.parse(text) for spec in specs())
    return next(
        (candidate for candidate in positions if candidate is not None and of_one_stream(candidate, *others)), None
    )


def of_position(position: AnyPosition) -> Spec | None:
    """Return the stream that a position is of."""
    return next((spec for spec in specs() if spec.parse(str(position)) == position), None)


def terms_between(old: Mapping[str, str], new: Mapping[str, str]) -> Mapping[str, str]:
    """Return the words for positions of two streams, which are those of both, or belong to neither.

    >>> terms_between({"partition": "shard", "offset": "sequence number"}, {})
    {'offset': 'position'}
    """
    return old if old == new else {"offset": "position"}


def terms_of(rows: Sequence[PartitionComparison | PlannedPosition]) -> Mapping[str, str]:
    """Return the words of the streams that the positions of rows are of; none where no position is known."""
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
    """Return whether a topic and its copy are two, where both clusters may be one."""
    return (old.cluster_id, topic) != (new.cluster_id, new_topic)


def completed(
    snapshot: Snapshot, positions: Sequence[SourcePosition], ranges: Mapping[str, tuple[ShardRange, ...]]
) -> Snapshot:
    """Return a snapshot with what only positions tell of partitions, of whichever stream they are; see `Complete`."""
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
    """Return the kind of a source of the same stream that keeps offsets on one cluster, where `kind` keeps several."""
    return next(min(spec.compared) for spec in specs() if kind in spec.kinds and kind not in spec.compared)


def has_offsets(kind: str) -> bool:
    """Return whether these positions are integers, which files of offsets and edits of states can hold."""
    return any(kind in spec.compared for spec in specs() if spec.has_integers)
