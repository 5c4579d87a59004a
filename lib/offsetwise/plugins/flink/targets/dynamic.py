"""Edits the state of Flink's DynamicKafkaSource: for one of its clusters, leaving the others unchanged.

The coordinator keeps the addresses of every cluster, and after a restore uses them until its metadata service names
other topics: without the new cluster's addresses there, the job would continue to read the old one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from offsetwise.model import StatedJob, TopicPartition
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.dynamic_kafka.enumerator import (
    ClusterEnumerator,
    DynamicEnumerator,
    Text,
    read_dynamic_enumerator,
)
from offsetwise.plugins.flink.engine.kafka import Split, read_split
from offsetwise.plugins.flink.targets.elements import (
    Moves,
    NotEditableError,
    Piece,
    edited_split,
    listed_pieces,
    resized,
    spliced,
)

_WRAPPED: Final = 12
"""The outer length, the version and the inner length before a split."""
_WITH_RETAINED: Final = 2
"""The first version of a split that records whether its cluster was removed."""


_MOST: Final = 2**16 - 1
"""Maximum size of a text in bytes."""


class MovedCluster(NamedTuple):
    cluster: str
    """Its id. It stays: the metadata service uses it for the new cluster."""
    servers: str
    """The new cluster's `bootstrap.servers`, as that service is to name them."""

    @classmethod
    def of(cls, job: StatedJob) -> MovedCluster | None:
        if job.dynamic_cluster is None or job.dynamic_servers is None:
            return None
        return cls(job.dynamic_cluster, job.dynamic_servers)


def dynamic_element(plain: bytes, moves: Moves, moved: MovedCluster) -> tuple[TopicPartition, bytes]:
    """Edit an element of a DynamicKafkaSource's reader; see `edited_element`. Other clusters' elements are unchanged.

    Their partitions are returned under names that no topic can have.
    """
    split = read_split(Cursor(plain))
    if split.cluster != moved.cluster:
        return TopicPartition(f"{split.cluster}:{split.topic}", split.partition), plain
    if split.retained:
        raise NotEditableError(f"{split.topic_partition} kept for a cluster that the job no longer reads")
    head = _WRAPPED + 2 + int.from_bytes(plain[_WRAPPED : _WRAPPED + 2], "big") + 4
    if int.from_bytes(plain[4:8], "big") >= _WITH_RETAINED:
        head += 1
    body = plain[_WRAPPED:head] + edited_split(plain[head:], split, moves)
    return split.topic_partition, (
        (len(body) + 8).to_bytes(4, "big") + plain[4:8] + len(body).to_bytes(4, "big") + body
    )


def dynamic_pieces(cursor: Cursor, moves: Moves, moved: MovedCluster) -> list[Piece]:
    """Return the edits of a coordinator's state: one cluster's partitions, topics and addresses, and lengths.

    Args:
        cursor: Its state; read from the current position.
        moves: New positions of that cluster's partitions.
        moved: The cluster.

    Raises:
        DamagedError: It is the state of another source.
        NotEditableError: It does not know the cluster, or a partition cannot be moved.
    """
    state = read_dynamic_enumerator(Cursor(cursor.data, cursor.at, cursor.end))
    its = _of_cluster(state, moved)
    streams = [stream for stream in state.streams if stream.cluster == moved.cluster]
    if its is None or not streams:
        raise NotEditableError(f"a coordinator that does not read the cluster {moved.cluster!r}")
    pieces = listed_pieces(cursor.data, state.version, its.splits, moves)
    pieces += resized(cursor.data, its.size_at, pieces)
    names = {key.topic: move.new_topic for key, move in moves.items()}
    for stream in streams:
        pieces.append(_text(stream.servers, moved.servers))
        pieces += [_text(topic, names[topic.value]) for topic in stream.topics if topic.value in names]
    pieces = [piece for piece in pieces if cursor.data[piece.start : piece.end] != piece.data]
    result = [*pieces, *resized(cursor.data, state.size_at, pieces)]
    _prove(cursor, result, moves, moved)
    return result


def begins_new_at_earliest(cursor: Cursor | None, moved: MovedCluster) -> bool:
    if cursor is None:
        return False
    its = _of_cluster(read_dynamic_enumerator(Cursor(cursor.data, cursor.at, cursor.end)), moved)
    return its is not None and its.discovered


def _of_cluster(state: DynamicEnumerator, moved: MovedCluster) -> ClusterEnumerator | None:
    return next((cluster for cluster in state.clusters if cluster.cluster == moved.cluster), None)


def _text(text: Text, value: str) -> Piece:
    if not value.isascii() or len(value) > _MOST:
        raise NotEditableError(f"addresses of the new cluster that are no ASCII: {value[:60]!r}")
    data = value.encode("ascii")
    return Piece(text.start, text.end, len(data).to_bytes(2, "big") + data)


def _prove(cursor: Cursor, pieces: list[Piece], moves: Moves, moved: MovedCluster) -> None:
    """Parse the state as it will be, and refuse unless it differs in the one cluster only."""
    data = cursor.data[: cursor.end]
    before = read_dynamic_enumerator(Cursor(data, cursor.at))
    after = read_dynamic_enumerator(Cursor(spliced(data, pieces), cursor.at))
    if _summary(before, moved, moves) != _summary(after, moved, None):
        raise DamagedError(cursor.at, "expected one cluster alone to change, found another difference after the edit")


def _summary(state: DynamicEnumerator, moved: MovedCluster, moves: Moves | None) -> tuple[object, ...]:
    """Return a state's content; with `moves`, the expected content after the edit."""
    names = {key.topic: move.new_topic for key, move in (moves or {}).items()}

    def split_of(cluster: str, split: Split) -> object:
        move = (moves or {}).get(split.topic_partition) if cluster == moved.cluster else None
        normalized = split._replace(byte_offset=0)
        if move is None:
            return normalized
        counted = split.start >= 0 or (not split.assigned and state.version in (0, 3))
        return normalized._replace(topic=move.new_topic, start=move.new if counted else split.start)

    streams = [
        (stream.cluster, [topic.value for topic in stream.topics], stream.servers.value)
        if moves is None or stream.cluster != moved.cluster
        else (stream.cluster, [names.get(topic.value, topic.value) for topic in stream.topics], moved.servers)
        for stream in state.streams
    ]
    clusters = [
        (cluster.cluster, cluster.discovered, [split_of(cluster.cluster, split) for split in cluster.splits])
        for cluster in (*state.clusters, *state.retained)
    ]
    return state.version, streams, clusters
