"""Groups other than consumer groups: share groups, and applications of Kafka Streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from offsetwise.findings.case import MigrationCase
from offsetwise.findings.reading import named
from offsetwise.findings.register import Stage, finding
from offsetwise.model import ApplicationEvidence, GroupState, Severity, Snapshot, TopicState
from offsetwise.position import TopicPartition, offset_or_none
from offsetwise.wording import many

_SHOWN_BY: Final = {
    ApplicationEvidence.TYPE: "its broker lists it as a streams group",
    ApplicationEvidence.ASSIGNOR: "its members use the assignor of Kafka Streams",
    ApplicationEvidence.CLIENT_IDS: "its members have the client ids of Kafka Streams",
    ApplicationEvidence.METADATA: "its commits carry the metadata of Kafka Streams",
    ApplicationEvidence.REPARTITION: "it has committed offsets of its own repartition topics",
}


@finding(
    code="SHARE_GROUP_NOT_MOVED",
    severity=Severity.BLOCKS,
    title="A share group is read and compared, and not moved",
    remedy="Stop its members. On a new cluster of Kafka 4.4 or later set the start offsets compared here with "
    "Admin.alterShareGroupOffsets of Kafka's Java client before its first member joins; on an older one set its "
    "share.auto.offset.reset to earliest.",
    rank=142,
    stage=Stage.GROUP,
)
def share_group_not_moved(case: MigrationCase) -> Iterator[str]:
    """A share group has start offsets, and brokers keep the state of single records above them."""
    group = case.old_group
    if group is None or not group.start_offsets:
        return
    lag, unread = share_lag(group, case.old)
    more = f"; the ends of {many(unread, 'more partition')} were not read" if unread else ""
    yield (
        f"Group {group.name!r} on {case.old.name!r} is a share group. It begins at a start offset in "
        f"{many(len(group.start_offsets), 'partition')}, and its lag, log end minus start offset, is at most "
        f"{many(lag, 'record')}{more}. Which records above a start offset are acknowledged is known to the old "
        "brokers only: the new cluster would deliver them again."
    )


@finding(
    code="STREAMS_NOT_MOVED",
    severity=Severity.BLOCKS,
    title="An application of Kafka Streams is judged, and not moved",
    remedy="Move it by hand, once no other finding speaks of its topics: stop it, write the offsets compared here with "
    "kafka-consumer-groups.sh --reset-offsets on the new cluster, and start it there with an empty state.dir.",
    rank=144,
    stage=Stage.GROUP,
)
def streams_not_moved(case: MigrationCase) -> Iterator[str]:
    """The application keeps state or repartitions records in internal topics."""
    group = case.old_group
    if group is None or group.application is None:
        return
    application = group.application
    inputs = sorted({offset.topic for offset in group.offsets} - set(application.internal_topics))
    renamed = sorted({row.new_topic for row in case.rows if row.topic in inputs and row.new_topic != row.topic})
    other_names = (
        f" Its input has other names on the new cluster: the application has to read {named(renamed)}."
        if renamed
        else ""
    )
    yield (
        f"Group {group.name!r} on {case.old.name!r} is an application of Kafka Streams: "
        f"{_SHOWN_BY[application.evidence]}. It reads {many(len(inputs), 'input topic')} ({named(inputs) or 'none'}) "
        f"and keeps {many(len(application.changelogs), 'changelog topic')} and "
        f"{many(len(application.repartitions), 'repartition topic')}. A local state directory would restore its "
        f"stores from offsets of the old changelog topics.{other_names}"
    )


@finding(
    code="STREAMS_STATE_NOT_MIRRORED",
    severity=Severity.BLOCKS,
    title="Changelog topics of a Kafka Streams application are not on the new cluster",
    remedy="Mirror the changelog topics under their own names and with their cleanup.policy, then compare again. Or "
    "let the application count anew: reset it with kafka-streams-application-reset.sh, so that it reads its input "
    "from the beginning.",
    rank=146,
    stage=Stage.GROUP,
)
def streams_state_not_mirrored(case: MigrationCase) -> Iterator[str]:
    """A start on the new cluster would begin with empty state stores, or with a part of them."""
    group = case.old_group
    changelogs = () if group is None or group.application is None else group.application.changelogs
    lost = [message for topic in changelogs if (message := _state_lost(case, topic)) is not None]
    if group is not None and lost:
        yield (
            f"Application {group.name!r} would start on {case.new.name!r} without state that "
            f"{many(len(lost), 'changelog topic')} of {len(changelogs):,} hold: {named(lost)}. Its offsets go on "
            "behind the records that made this state, so it would not be rebuilt."
        )


@finding(
    code="STREAMS_REPARTITION_UNREAD",
    severity=Severity.BLOCKS,
    title="Unread records of a repartition topic are not on the new cluster",
    remedy="Stop what writes to the input of the application, let it read its repartition topics to their ends on the "
    "old cluster, and stop it; then compare again.",
    rank=148,
    stage=Stage.GROUP,
)
def streams_repartition_unread(case: MigrationCase) -> Iterator[str]:
    """Internal records that the application has not read would be lost, because their input is committed."""
    group = case.old_group
    repartitions = () if group is None or group.application is None else group.application.repartitions
    if group is None:
        return
    unread = []
    for name in repartitions:
        count = unread_records(group, _topic(case.old, name))
        if count and _topic(case.new, name) is None:
            unread.append(f"{name} (at most {many(count, 'record')}; {_where(case.new, name)})")
    if unread:
        yield (
            f"Application {group.name!r} has not read {many(len(unread), 'repartition topic')} to the end: "
            f"{named(unread)}. The input that these records come from is committed, so a start on {case.new.name!r} "
            "would lose them."
        )


def share_lag(group: GroupState, snapshot: Snapshot) -> tuple[int, int]:
    """Return how many records a share group has at most not finished, and in how many partitions that is unknown."""
    ends = {at: offset_or_none(state.hw) for at, state in snapshot.partitions().items()}
    lags = [_distance(offset.offset, ends.get(offset.topic_partition)) for offset in group.start_offsets]
    return sum(lag for lag in lags if lag is not None), lags.count(None)


def unread_records(group: GroupState, topic: TopicState | None) -> int:
    """Return how many records of a topic a group has at most not read; partitions that were not read count as 0."""
    commits = group.commits
    results = 0
    for state in () if topic is None else topic.partitions:
        start, end = offset_or_none(state.log_start), offset_or_none(state.hw)
        if topic is not None and start is not None:
            at = max(start, commits.get(TopicPartition(topic.name, state.partition), start))
            results += _distance(at, end) or 0
    return results


def _distance(offset: int, end: int | None) -> int | None:
    return None if end is None else max(end - offset, 0)


def _state_lost(case: MigrationCase, name: str) -> str | None:
    """Describe the part of a changelog topic that is missing on the new cluster; None if nothing is."""
    old, new = _topic(case.old, name), _topic(case.new, name)
    records = _record_count(old)
    if records == 0:
        return None
    size = "an unknown number of records" if records is None else f"at most {many(records, 'record')}"
    if new is None:
        return f"{name} ({size}; {_where(case.new, name)})"
    if old is not None and not new.error and len(new.partitions) < len(old.partitions):
        return f"{name} ({size}; {len(new.partitions):,} of its {many(len(old.partitions), 'partition')} are there)"
    return f"{name} ({size}; it is empty there)" if _record_count(new) == 0 else None


def _where(new: Snapshot, name: str) -> str:
    other = next((topic.name for topic in new.topics if topic.name != name and topic.name.endswith(name)), None)
    return "it does not exist there" if other is None else f"it is there as {other}, where nothing looks for it"


def _topic(snapshot: Snapshot, name: str) -> TopicState | None:
    return next((topic for topic in snapshot.topics if topic.name == name), None)


def _record_count(topic: TopicState | None) -> int | None:
    return None if topic is None or topic.error else _records(topic)


def _records(topic: TopicState) -> int | None:
    counts = [_count(offset_or_none(state.log_start), offset_or_none(state.hw)) for state in topic.partitions]
    return None if None in counts else sum(_known(counts))


def _count(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else max(end - start, 0)


def _known(counts: Iterable[int | None]) -> Iterator[int]:
    return (count for count in counts if count is not None)
