"""The coordinator state of Flink's DynamicKafkaSource: its streams, and an enumerator for each cluster.

Format: `DynamicKafkaSourceEnumStateSerializer` of flink-connector-kafka, version 1 (3.4.0-1.20, 4.0.1-2.0), version 2
(5.0.0-2.2) and version 3 (its main branch after 5.0.0, which also keeps the enumerators of removed clusters).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from offsetwise.plugins.flink.engine.binary import Cursor
from offsetwise.plugins.flink.engine.kafka import LAST_ENUMERATOR_VERSION, Split, coordinator_body, read_listed

LAST_VERSION: Final = 3
_WITH_INITIALIZERS: Final = 2
_WITH_RETAINED: Final = 3
_DISCOVERY_KNOWN: Final = frozenset({2, 3})
"""Versions of a KafkaSource's enumerator that end with whether the first discovery is finished."""


class Text(NamedTuple):
    start: int
    end: int
    value: str


class StreamCluster(NamedTuple):
    cluster: str
    topics: tuple[Text, ...]
    servers: Text
    """Its `bootstrap.servers`. After a restore they are used until the metadata service names other topics."""


class ClusterEnumerator(NamedTuple):
    cluster: str
    size_at: int
    """Offset of its length, four bytes."""
    splits: tuple[Split, ...]
    discovered: bool
    """Whether its first discovery is known to be finished."""


@dataclass(frozen=True, slots=True)
class DynamicEnumerator:
    version: int
    """Version of its clusters' enumerators, as of a KafkaSource."""
    size_at: int
    """Offset of the length of the whole state, four bytes."""
    streams: tuple[StreamCluster, ...]
    clusters: tuple[ClusterEnumerator, ...]
    retained: tuple[ClusterEnumerator, ...]
    """Enumerators of clusters that are no longer read."""


def read_dynamic_enumerator(cursor: Cursor) -> DynamicEnumerator:
    """Parse the state of a DynamicKafkaSource's coordinator, strictly.

    Raises:
        DamagedError: It is of another source, or damaged.
    """
    size_at = cursor.at + 8
    written, inner = coordinator_body(cursor, lowest=1, highest=LAST_VERSION)
    streams: list[StreamCluster] = []
    for _ in range(inner.count("streams", least=6)):
        inner.text("a stream")
        for _ in range(inner.count("clusters of a stream", least=8)):
            streams.append(_stream_cluster(inner, written))
    version = inner.int32("the version of an enumerator")
    if not 0 <= version <= LAST_ENUMERATOR_VERSION:
        raise inner.damaged(f"expected an enumerator of version 0 to 3, found {version:,}")
    clusters = [_enumerator(inner, version) for _ in range(inner.count("clusters", least=6))]
    retained: list[ClusterEnumerator] = []
    if written >= _WITH_RETAINED:
        for _ in range(inner.count("retained clusters", least=14)):
            retained.append(_enumerator(inner, version, retained=True))
    inner.finished("an enumerator")
    names = [cluster.cluster for cluster in (*clusters, *retained)]
    if len(set(names)) != len(names):
        raise inner.damaged("expected every cluster once, found one twice")
    return DynamicEnumerator(version, size_at, tuple(streams), tuple(clusters), tuple(retained))


def _stream_cluster(cursor: Cursor, written: int) -> StreamCluster:
    cluster = cursor.text("a cluster")
    topics = tuple(_text(cursor, "a topic") for _ in range(cursor.count("topics", least=2)))
    servers = _text(cursor, "bootstrap servers")
    if written >= _WITH_INITIALIZERS:
        for what in ("a starting initializer", "a stopping initializer"):
            if cursor.flag(f"whether there is {what}"):
                cursor.skip(cursor.count(f"bytes of {what}"), what)
    return StreamCluster(cluster, topics, servers)


def _text(cursor: Cursor, what: str) -> Text:
    start = cursor.at
    value = cursor.text(what)
    return Text(start, cursor.at, value)


def _enumerator(cursor: Cursor, version: int, *, retained: bool = False) -> ClusterEnumerator:
    cluster = cursor.text("a cluster")
    if retained:
        cursor.int64("until when a cluster is retained")
    size_at = cursor.at
    size = cursor.count("bytes of a cluster's enumerator")
    at = cursor.skip(size, "a cluster's enumerator")
    splits = read_listed(version, Cursor(cursor.data, at, at + size, base=cursor.base))
    discovered = version in _DISCOVERY_KNOWN and cursor.data[at + size - 1] == 1
    return ClusterEnumerator(cluster, size_at, splits, discovered)
