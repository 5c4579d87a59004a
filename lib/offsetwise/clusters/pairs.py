"""The topics of both clusters as pairs, and their differences, with the meaning for a migration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offsetwise.clusters.reading import ReadCluster
from offsetwise.digits import whole_number
from offsetwise.model import TopicState


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDifference:
    what: str
    """`topic`, `partitions`, or the name of a configuration."""
    old: str | None
    new: str | None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPair:
    old_name: str | None
    new_name: str | None
    old: TopicState | None
    new: TopicState | None
    both_read: bool
    """Whether both clusters were read, so that a missing topic does not exist (or is not visible)."""

    @property
    def name(self) -> str:
        """The old name, or the new one of a topic that only the new cluster has."""
        return self.old_name or self.new_name or ""

    @property
    def key(self) -> tuple[str | None, str | None]:
        return self.old_name, self.new_name

    @property
    def described(self) -> bool:
        return all(topic is not None and topic.error is None for topic in (self.old, self.new))


def pair_topics(old: ReadCluster | None, new: ReadCluster | None) -> tuple[TopicPair, ...]:
    """Return the topics of two clusters in pairs, by name, without MirrorMaker's own topics."""
    both = old is not None and new is not None
    old_topics = _by_name(old)
    new_topics = _by_name(new)
    pairs = []
    paired = set()
    for name, topic in old_topics.items():
        assert old is not None  # noqa: S101 - it has topics
        other = old.counterparts[name]
        paired.add(other)
        pairs.append(TopicPair(old_name=name, new_name=other, old=topic, new=new_topics.get(other), both_read=both))
    for name, topic in new_topics.items():
        if name not in paired:
            origin = None if new is None else new.counterparts.get(name)
            pairs.append(TopicPair(old_name=origin, new_name=name, old=None, new=topic, both_read=both))
    return tuple(sorted(pairs, key=lambda pair: (pair.name, pair.new_name or "")))


def differences(pair: TopicPair) -> tuple[TopicDifference, ...]:
    """Return the differences of the two topics; empty if one of them was not read."""
    if pair.old is None or pair.new is None:
        return _missing(pair) if pair.both_read else ()
    if not pair.described:
        return ()
    topic_differences = []
    counts = len(pair.old.partitions), len(pair.new.partitions)
    if counts[0] != counts[1]:
        topic_differences.append(
            TopicDifference(what="partitions", old=f"{counts[0]:,}", new=f"{counts[1]:,}", meaning=_counts(counts))
        )
    old, new = dict(pair.old.config), dict(pair.new.config)
    if old and new:
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                meaning = _MEANING.get(key, _other)(old.get(key), new.get(key))
                topic_differences.append(TopicDifference(what=key, old=old.get(key), new=new.get(key), meaning=meaning))
    return tuple(topic_differences)


def _missing(pair: TopicPair) -> tuple[TopicDifference, ...]:
    if pair.new is None:
        meaning = "The new cluster has none of its records: mirror it, or correct `topics` in the migration file."
        return (TopicDifference(what="topic", old=pair.old_name, new=None, meaning=meaning),)
    meaning = "Only the new cluster has it: no position leads there."
    return (TopicDifference(what="topic", old=None, new=pair.new_name, meaning=meaning),)


def _by_name(read: ReadCluster | None) -> dict[str, TopicState]:
    if read is None:
        return {}
    # On the new cluster a topic that maps to no old one is shown too, unless it is MirrorMaker's.
    own = {topic.name for topic in read.snapshot.mirror.topics}
    return {
        topic.name: topic
        for topic in read.snapshot.topics
        if topic.name not in own and (topic.name in read.counterparts or read.snapshot.cluster == "new")
    }


def _counts(counts: tuple[int, int]) -> str:
    old, new = counts
    if new < old:
        return (
            "Fewer on the new cluster: the last partitions have nowhere to continue, and keys go to other partitions."
        )
    return "More on the new cluster: those need a start of their own, and keys go to other partitions."


def _cleanup(old: str | None, new: str | None) -> str:
    compacted = [name for name, policy in (("old", old), ("new", new)) if "compact" in (policy or "").split(",")]
    if len(compacted) == 1:
        return (
            f"Compaction removes earlier values of a key on the {compacted[0]} cluster only: offsets are not "
            "consecutive there, and counts of records differ."
        )
    return "Records leave the two logs by different rules."


def _timestamps(old: str | None, new: str | None) -> str:
    append = [name for name, kind in (("old", old), ("new", new)) if kind == "LogAppendTime"]
    return (
        f"The {' and '.join(append) or 'other'} cluster replaces the record's time by the time of arrival: event times "
        "and watermarks differ, and timestamps do not find records."
    )


def _retention(old: str | None, new: str | None) -> str:
    shorter = _shorter(old, new)
    return (
        f"The {shorter} cluster lets records go earlier: a position may fall below its log start."
        if shorter
        else "The two logs keep records for different times."
    )


def _shorter(old: str | None, new: str | None) -> str | None:
    ends = [float("inf") if value == "-1" else whole_number(value or "") for value in (old, new)]
    if ends[0] is None or ends[1] is None:
        return None
    return "old" if ends[0] < ends[1] else "new"


def _message_size(old: str | None, new: str | None) -> str:
    if _shorter(old, new) == "new":
        return "The new cluster takes smaller batches only: MirrorMaker fails on larger ones."
    return "The new cluster takes larger batches: consumers may need larger fetch sizes."


def _time_bounds(_old: str | None, _new: str | None) -> str:
    return "A cluster may refuse records whose timestamps are this far from its clock: the mirror fails on them."


def _other(_old: str | None, _new: str | None) -> str:
    return "It changes how the log is stored, not which records it holds."


def _tiers(_old: str | None, _new: str | None) -> str:
    return "Older records may lie in remote storage on one cluster: reading them takes longer."


def _compaction(_old: str | None, _new: str | None) -> str:
    return "Where the topic is compacted, earlier values and tombstones go at different times."


def _durability(_old: str | None, _new: str | None) -> str:
    return "Acknowledged records may be lost more easily on one cluster when brokers fail."


_MEANING: Final[dict[str, Callable[[str | None, str | None], str]]] = {
    "cleanup.policy": _cleanup,
    "delete.retention.ms": _compaction,
    "local.retention.bytes": _tiers,
    "local.retention.ms": _tiers,
    "max.compaction.lag.ms": _compaction,
    "max.message.bytes": _message_size,
    "message.timestamp.after.max.ms": _time_bounds,
    "message.timestamp.before.max.ms": _time_bounds,
    "message.timestamp.type": _timestamps,
    "min.compaction.lag.ms": _compaction,
    "min.insync.replicas": _durability,
    "remote.storage.enable": _tiers,
    "retention.bytes": _retention,
    "retention.ms": _retention,
    "unclean.leader.election.enable": _durability,
}
