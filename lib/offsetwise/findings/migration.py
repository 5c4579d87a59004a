"""What is worth knowing about the migration as a whole: checkpoint, topics, mirror, group."""

from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings.case import MigrationCase, TopicPair
from offsetwise.findings.codes import Code, describe
from offsetwise.findings.sentence import overall
from offsetwise.model import Finding, Link, LogRange, PartitionComparison, Problem, TopicState
from offsetwise.wording import duration, many, utc

HEARTBEAT_AGE_MS = 60_000
"""MirrorMaker writes a heartbeat every second; a minute without one is no jitter."""

RUNNING_AGE_MS = 120_000
"""A checkpoint whose last batch is younger may belong to a running job."""

OLD_AGE_MS = 24 * 3_600_000

BATCH_ID_SINKS = frozenset({"file", "parquet", "json", "csv", "orc", "delta", "iceberg", "hudi", "foreachbatch"})
"""Sinks that ignore a batch id they have seen, or that people make so."""


def problems(case: MigrationCase) -> Iterator[Finding]:
    """Carry over what the readers of the checkpoint and of both clusters found wrong.

    A missing topic is told once, by the rows that need it.
    """
    found = () if case.checkpoint is None else case.checkpoint.problems
    told = any(pair.old is None or pair.new is None for pair in case.topics)
    for problem in (*found, *case.old.problems, *case.new.problems):
        if not (told and problem.code == Code.TOPIC_MISSING.value):
            yield _carried(problem)


def checkpoint_polluted(case: MigrationCase) -> Iterator[Finding]:
    """The pending batch ends where only the new cluster could have ended it.

    Either a partition goes backwards, or every end fits the new cluster's ranges while at least one lies outside the
    old one's. Each end must be known on both clusters for the second: a checkpoint read after the old cluster moved on
    would look the same for single partitions.
    """
    if case.checkpoint is None or case.checkpoint.reruns_batch is None:
        return
    pending = [row for row in case.rows if len(row.restart) > 1]
    back = [row for row in pending if row.restart[-1].old < row.restart[0].old]
    batch = case.checkpoint.reruns_batch
    if back:
        row = back[0]
        yield overall(
            Code.CHECKPOINT_POLLUTED,
            f"Batch {batch} would end before it begins in {many(len(back), 'partition')}: {row.topic}-{row.partition} "
            f"goes from {row.restart[0].old:,} back to {row.restart[-1].old:,}.",
        )
        return
    strange = [row for row in pending if _within(row.restart[-1].old, row.old) is False]
    if strange and all(_within(row.restart[-1].old, row.new) and _starts_old(row) for row in pending):
        row = strange[0]
        yield overall(
            Code.CHECKPOINT_POLLUTED,
            f"Batch {batch} starts on the old cluster, but its ends fit only the new one: {row.topic}-{row.partition} "
            f"would end at {row.restart[-1].old:,}, the old log at {row.old.hw:,}.",
        )


def cluster_unclear(case: MigrationCase) -> Iterator[Finding]:
    """Nobody can tell which cluster the positions were read from."""
    if case.belongs_to.cluster is None:
        yield overall(
            Code.CLUSTER_UNCLEAR,
            f"The positions may come from either cluster: {case.belongs_to.reason.rstrip('.')}.",
        )


def pending_batch(case: MigrationCase) -> Iterator[Finding]:
    """A planned batch was not committed and will run again."""
    if case.checkpoint is None or case.checkpoint.reruns_batch is None:
        return
    committed = case.checkpoint.last_committed_batch
    last = "no batch was committed" if committed is None else f"batch {committed} is the last committed one"
    yield overall(
        Code.PENDING_BATCH,
        f"Batch {case.checkpoint.reruns_batch} was planned and not committed, and will run again; {last}.",
    )


def checkpoint_old(case: MigrationCase) -> Iterator[Finding]:
    """The last batch was planned, or the savepoint written, more than a day before the clusters were read."""
    what, written = _last_written(case)
    if written is not None and case.now_ms - written > OLD_AGE_MS:
        yield overall(
            Code.CHECKPOINT_OLD,
            f"{what} at {utc(written)}, {duration(case.now_ms - written)} before the clusters were read.",
        )


def source_not_compared(case: MigrationCase) -> Iterator[Finding]:
    """The job also reads a source whose positions are not those of one Kafka cluster."""
    sources = () if case.checkpoint is None else case.checkpoint.sources
    for source in sources:
        if source.kind != "kafka":
            yield overall(
                Code.SOURCE_NOT_COMPARED,
                f"Source {source.index} is of kind {source.kind}: its position is neither compared nor moved. A copy "
                "keeps it as it is, and a fresh checkpoint loses it.",
            )


def reader_suspected(case: MigrationCase) -> Iterator[Finding]:
    """A batch was planned or a checkpoint taken a moment ago, or a group has members. A savepoint may end a job."""
    what, written = _last_written(case)
    saved = case.checkpoint.saved if case.checkpoint is not None else None
    ended = saved is not None and saved.kind == "savepoint"
    if written is not None and not ended and 0 <= case.now_ms - written < RUNNING_AGE_MS:
        yield overall(
            Code.READER_SUSPECTED,
            f"{what} {duration(case.now_ms - written)} before the clusters were read: the job may still be running.",
        )
    for name, group in (("old", case.old_group), ("new", case.new_group)):
        if group is not None and group.state is not None and group.state.casefold() not in {"empty", "dead"}:
            yield overall(
                Code.READER_SUSPECTED,
                f"Group {group.name} is {group.state} on the {name} cluster: it has members.",
            )


def sink_batch_ids(case: MigrationCase) -> Iterator[Finding]:
    """The sink knows the batch ids it has taken."""
    if case.checkpoint is None or case.job.sink is None or case.job.sink.casefold() not in BATCH_ID_SINKS:
        return
    committed = case.checkpoint.last_committed_batch
    if committed is not None:
        yield overall(
            Code.SINK_BATCH_IDS,
            f"The {case.job.sink} sink may have recorded batches up to {committed}: a fresh checkpoint begins at 0 "
            "again, and the sink may ignore ids it has recorded.",
        )


def mirror_stalled(case: MigrationCase) -> Iterator[Finding]:
    """The newest heartbeat of this flow is older than a minute. No heartbeat at all says nothing."""
    beats = [
        beat.timestamp_ms
        for snapshot in (case.old, case.new)
        for beat in snapshot.mirror.heartbeats
        if (beat.source, beat.target) == (case.old.alias, case.new.alias)
    ]
    if case.link is Link.MIRRORMAKER and beats and case.now_ms - max(beats) > HEARTBEAT_AGE_MS:
        yield overall(
            Code.MIRROR_STALLED,
            f"The last heartbeat from {case.old.alias} to {case.new.alias} is from {utc(max(beats))}, "
            f"{duration(case.now_ms - max(beats))} before the clusters were read.",
        )


def group_offsets_expire(case: MigrationCase) -> Iterator[Finding]:
    """A group's offsets on the new cluster expire while it has no members."""
    if case.old_group is not None:
        yield overall(
            Code.GROUP_OFFSETS_EXPIRE,
            f"Offsets written for {case.old_group.name} on the new cluster expire after its "
            "offsets.retention.minutes (10,080 by default; not read here) unless a member joins.",
        )


def partition_counts(case: MigrationCase) -> Iterator[Finding]:
    """The topic has fewer, or more, partitions on the new cluster."""
    for pair in case.topics:
        if not (_read(pair.old) and _read(pair.new)):
            continue
        old, new = _count(pair.old), _count(pair.new)
        if new < old:
            yield _counted(Code.PARTITIONS_FEWER, pair, old, new, f"{many(old - new, 'partition')} cannot continue")
        elif new > old:
            yield _counted(
                Code.PARTITIONS_MORE, pair, old, new, f"{many(new - old, 'partition')} need a start of their own"
            )


def timestamps_unusable(case: MigrationCase) -> Iterator[Finding]:
    """A cluster replaces the record's timestamp by the time of appending."""
    for pair in case.topics:
        where = _where(pair, "message.timestamp.type", "LogAppendTime")
        if where:
            yield overall(
                Code.TIMESTAMPS_UNUSABLE,
                f"{pair.old_name} has message.timestamp.type LogAppendTime on {where}: its timestamps do not "
                "identify records, and event times differ between the clusters.",
                topic=pair.old_name,
            )


def compacted(case: MigrationCase) -> Iterator[Finding]:
    """A cluster compacts the topic."""
    for pair in case.topics:
        where = _where(pair, "cleanup.policy", "compact")
        if where:
            yield overall(
                Code.COMPACTED,
                f"{pair.old_name} is compacted on {where}: earlier values of a key may be missing there, and offsets "
                "are not consecutive.",
                topic=pair.old_name,
            )


def _carried(problem: Problem) -> Finding:
    kind = describe(problem.code)
    return Finding(
        code=problem.code,
        severity=kind.severity,
        topic=None,
        partition=None,
        message=problem.message,
        remedy=problem.fix or kind.remedy,
    )


def _last_written(case: MigrationCase) -> tuple[str, int | None]:
    """Say what happened last to the checkpoint, as the start of a sentence, and when."""
    if case.checkpoint is not None and case.checkpoint.saved is not None:
        saved = case.checkpoint.saved
        return f"The {saved.kind or 'checkpoint'} was written", saved.written_ms
    batches = case.checkpoint.batches if case.checkpoint is not None else ()
    return "The last batch was planned", batches[-1].timestamp_ms if batches else None


def _within(offset: int, log: LogRange) -> bool | None:
    """Say whether an offset fits a log; None where the log was not read."""
    if log.log_start is None or log.hw is None:
        return None
    return log.log_start <= offset <= log.hw


def _starts_old(row: PartitionComparison) -> bool:
    return _within(row.restart[0].old, row.old) is True


def _read(topic: TopicState | None) -> bool:
    return topic is not None and topic.error is None and bool(topic.partitions)


def _count(topic: TopicState | None) -> int:
    return 0 if topic is None else len(topic.partitions)


def _counted(code: Code, pair: TopicPair, old: int, new: int, effect: str) -> Finding:
    return overall(
        code,
        f"{pair.old_name} has {many(old, 'partition')} on the old cluster and {new:,} on the new one: {effect}.",
        topic=pair.old_name,
    )


def _where(pair: TopicPair, key: str, value: str) -> str:
    names = [
        f"the {name} cluster"
        for name, topic in (("old", pair.old), ("new", pair.new))
        if topic is not None and value in dict(topic.config).get(key, "").split(",")
    ]
    return " and ".join(names)
