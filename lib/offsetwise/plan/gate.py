"""The start gate: the conditions that must hold on both clusters before the job starts on the new one.

A plan may be drafted while a check fails, because a mirror is still copying; the job must not be started until all
pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from offsetwise.config import JobTraits, Migration
from offsetwise.findings import Stage, finding
from offsetwise.findings.case import expiry_of
from offsetwise.findings.target_position import not_yet_mirrored
from offsetwise.model import (
    AnyPosition,
    Comparison,
    CutoverRequirement,
    CutoverState,
    Exactness,
    GateCheck,
    Link,
    Method,
    Outcome,
    PartitionComparison,
    Severity,
    TopicPartition,
    TopicState,
)
from offsetwise.plan.sinks.gate import SinkGrounds, sink_checks
from offsetwise.ports.stream import spec_of
from offsetwise.wording import duration, many, utc
from offsetwise.wording.terms import in_words

MIRRORED: Final = "everything mirrored"
KEPT: Final = "offsets kept to the end"
TRANSACTIONS: Final = "no open transaction"
SKEW: Final = "skew within the watermark"
RETENTION: Final = "retention after the cutover"
HORIZON_MS: Final = 24 * 3_600_000
"""How far ahead retention is checked if no cutover time is given: 24 hours."""


def start_gate(
    comparison: Comparison,
    migration: Migration,
    now_ms: int,
    *,
    job: JobTraits | None = None,
    newest: Iterable[tuple[TopicPartition, int | None]] = (),
    cutover_ms: int | None = None,
    required: CutoverRequirement | None = None,
    sinks: SinkGrounds | None = None,
) -> tuple[GateCheck, ...]:
    """Evaluate the conditions of the start, and those of a Flink job's sinks with held transactions.

    Args:
        comparison: The comparison.
        migration: The migration.
        now_ms: When the clusters were read, epoch ms.
        job: What the migration file states about the job.
        newest: The time of the newest record of each partition of the new cluster, epoch ms, as far as it was read.
        cutover_ms: When the job is to start, epoch ms.
        required: The state of the cutover that `apply` requires; None for any.
        sinks: The job's sinks; None for a group.
    """
    of_streams = (
        _mirrored(comparison, migration),
        *_preserved(sum(row.method is Method.PRESERVED for row in comparison.partitions), migration, required),
        _transactions(comparison),
        _skew(comparison, migration, job or JobTraits(), dict(newest)),
        _retention(comparison, now_ms, cutover_ms),
    )
    checks = (replace(check, told=in_words(check.told, migration.terms)) for check in of_streams)
    return (*checks, *(() if sinks is None else sink_checks(sinks)))


@finding(
    code="MIRROR_SKEW_EXCEEDS_WATERMARK",
    severity=Severity.BLOCKS,
    title="One partition is mirrored behind the others by more than the watermark",
    remedy="Stop the producers and let the mirror bring every partition to its end before the job starts.",
    rank=170,
    stage=Stage.GATE,
)
def mirror_skew_exceeds_watermark(gate: Iterable[GateCheck]) -> Iterator[str]:
    yield from (check.told for check in gate if check.name == SKEW and check.outcome is Outcome.FAILED)


def _mirrored(comparison: Comparison, migration: Migration) -> GateCheck:
    judged = [(row, mirrored(row, migration.link)) for row in comparison.partitions]
    failed = [row for row, outcome in judged if outcome is Outcome.FAILED]
    unclear = [row for row, outcome in judged if outcome is Outcome.UNKNOWN]
    if failed:
        message = (
            f"{many(len(failed), 'partition')} of the old cluster hold records that are not on the new one yet, for "
            f"example {failed[0].topic_partition}: {_lag_text(failed[0])}."
        )
        return GateCheck(name=MIRRORED, outcome=Outcome.FAILED, told=message)
    if unclear:
        message = (
            f"Of {many(len(unclear), 'partition')} it is not known whether the last record is on the new cluster, for "
            f"example {unclear[0].topic_partition}: {_lag_text(unclear[0])}."
        )
        return GateCheck(name=MIRRORED, outcome=Outcome.UNKNOWN, told=message)
    every = "the only partition" if len(judged) == 1 else f"all {many(len(judged), 'partition')}"
    message = f"The last record of {every} is on the new cluster."
    return GateCheck(name=MIRRORED, outcome=Outcome.PASSED, told=message)


def _preserved(count: int, migration: Migration, required: CutoverRequirement | None) -> Iterator[GateCheck]:
    """Check a link that is stated to keep offsets: the probed records are no evidence for records copied later.

    Args:
        count: How many partitions were found to have kept theirs.
        migration: The migration.
        required: See `start_gate`.
    """
    if migration.link is not Link.PRESERVING or not count or not spec_of(migration.source.stream).ends_watched:
        return
    if required is not None and required.goal is CutoverState.COPIED:
        message = "The plan is applied only while both logs of every partition end at the same offset."
        yield GateCheck(name=KEPT, outcome=Outcome.PASSED, told=message)
        return
    message = (
        f"Of {many(count, 'partition')} records at a few offsets were compared. Whether the link keeps offsets up to "
        "the end of the old log is known once producers have stopped: draft with `--require frozen,copied`."
    )
    yield GateCheck(name=KEPT, outcome=Outcome.UNKNOWN, told=message)


def mirrored(row: PartitionComparison, link: Link) -> Outcome:
    old, new = row.old, row.new
    if old.hw is not None and old.hw == old.log_start:
        return Outcome.PASSED
    if old.hw is None:
        # A partition that exists only in the new topic needs no copy.
        return Outcome.PASSED if row.old_offset is None and new.hw is not None else Outcome.UNKNOWN
    if not_yet_mirrored.code in row.findings:
        return Outcome.FAILED
    if row.ahead.examined:
        if row.ahead.missing is None:
            return Outcome.UNKNOWN  # the last copies do not show how far the mirror has come
        return Outcome.FAILED if row.ahead.missing else Outcome.PASSED
    if row.exactness.proven and row.lag_old == 0:
        return Outcome.PASSED
    if row.exactness is Exactness.PRESERVED and new.hw is not None:
        return Outcome.PASSED if new.hw >= old.hw else Outcome.FAILED
    if new.hw is None or (new.hw == new.log_start and link is not Link.PRESERVING):
        return Outcome.FAILED if new.hw is not None else Outcome.UNKNOWN
    return Outcome.UNKNOWN


def _lag_text(row: PartitionComparison) -> str:
    if row.ahead.missing:
        return f"{many(row.ahead.missing, 'record')} ahead of its position have no copy"
    return f"the old log ends at {_number(row.old.hw)}, the new one at {_number(row.new.hw)}"


def _transactions(comparison: Comparison) -> GateCheck:
    old, new = comparison.snapshots
    logs = {"old": old.partitions(), "new": new.partitions()}
    divided = {topic.name for topic in old.topics if topic.shards}
    opened: list[str] = []
    unread: list[str] = []
    for row in comparison.partitions:
        for side, at in (("old", row.topic_partition), ("new", row.new_topic_partition)):
            state = logs[side].get(at)
            if state is None and side == "old" and (row.old_offset is None or row.topic in divided):
                continue
            if state is None or state.lso is None or state.hw is None:
                unread.append(f"{at} on the {side} cluster")
            elif state.lso < state.hw:
                opened.append(f"{at} on the {side} cluster: last stable offset {state.lso:,}, end {state.hw:,}")
    if opened:
        more = "" if len(opened) == 1 else f", and {len(opened) - 1:,} more"
        return GateCheck(name=TRANSACTIONS, outcome=Outcome.FAILED, told=f"A transaction is open: {opened[0]}{more}.")
    if unread:
        message = f"The last stable offset of {len(unread):,} logs is not known, for example of {unread[0]}."
        return GateCheck(name=TRANSACTIONS, outcome=Outcome.UNKNOWN, told=message)
    message = "On both clusters every log is stable to its end."
    return GateCheck(name=TRANSACTIONS, outcome=Outcome.PASSED, told=message)


def _skew(
    comparison: Comparison, migration: Migration, job: JobTraits, newest: Mapping[TopicPartition, int | None]
) -> GateCheck:
    """Compare the watermark delay with the time between the most and the least mirrored partition.

    The job's watermark follows the newest record that it has read of any partition. A record that is mirrored later is
    about as old as the newest copied record of its partition, or younger; it is dropped if it is older than the
    watermark.
    """
    lagging = [row for row in comparison.partitions if mirrored(row, migration.link) is not Outcome.PASSED]
    if not lagging:
        return GateCheck(name=SKEW, outcome=Outcome.PASSED, told="Every partition is mirrored to its end.")
    behind_others = f"{many(len(lagging), 'partition')} may be mirrored behind the others"
    if job.watermark_ms is None:
        if job.stateful is False:
            message = "The job is stated to keep no state, so no record can be late."
            return GateCheck(name=SKEW, outcome=Outcome.PASSED, told=message)
        message = f"{behind_others}, and the job's watermark is not stated."
        return GateCheck(name=SKEW, outcome=Outcome.UNKNOWN, told=message)
    times = {row.new_topic_partition: newest.get(row.new_topic_partition) for row in comparison.partitions}
    known = [time for time in times.values() if time is not None]
    late = [(times[row.new_topic_partition], row) for row in lagging]
    measured = [(time, row) for time, row in late if time is not None]
    if measured:
        earliest, row = min(measured, key=lambda measurement: measurement[0])
        skew = max(known) - earliest
        if skew > job.watermark_ms:
            message = (
                f"{row.new_topic_partition} is mirrored up to {utc(earliest)}, {duration(skew)} behind the "
                f"furthest partition: more than the job's watermark of {duration(job.watermark_ms)}."
            )
            return GateCheck(name=SKEW, outcome=Outcome.FAILED, told=message)
        if len(measured) == len(lagging) and len(known) == len(times):
            message = f"{duration(skew)} between the partitions, within the watermark of {duration(job.watermark_ms)}."
            return GateCheck(name=SKEW, outcome=Outcome.PASSED, told=message)
    message = f"{behind_others}, and the times of their records were not read."
    return GateCheck(name=SKEW, outcome=Outcome.UNKNOWN, told=message)


def _retention(comparison: Comparison, now_ms: int, cutover_ms: int | None) -> GateCheck:
    topics = {topic.name: topic for topic in comparison.snapshots[1].topics}
    deadline: tuple[int, PartitionComparison] | None = None
    unclear: list[str] = []
    for row in comparison.partitions:
        topic = topics.get(row.new_topic)
        if topic is not None and topic.config and (_keeps_all(topic) or _empty_ahead(row)):
            continue
        expiry = None if topic is None else expiry_of(row, topic)
        if topic is not None and _is_sized(topic):
            unclear.append(f"{row.topic_partition}, whose log retention.bytes limits")
        elif expiry is None:
            unclear.append(str(row.topic_partition))
        if expiry is not None and (deadline is None or expiry.at_ms < deadline[0]):
            deadline = (expiry.at_ms, row)
    until = now_ms + HORIZON_MS if cutover_ms is None else cutover_ms
    named = (
        f"within {duration(HORIZON_MS)} of the reading" if cutover_ms is None else f"before the cutover, {utc(until)}"
    )
    if deadline is not None and deadline[0] <= until:
        row = deadline[1]
        message = f"The next record of {row.new_topic_partition} may be deleted from {utc(deadline[0])} on: {named}."
        return GateCheck(name=RETENTION, outcome=Outcome.FAILED, told=message)
    if unclear:
        message = (
            f"Of {many(len(unclear), 'partition')} it is not known when retention takes the next record, for example "
            f"of {unclear[0]}."
        )
        return GateCheck(name=RETENTION, outcome=Outcome.UNKNOWN, told=message)
    message = "Retention takes no record that the job has not read."
    if deadline is not None:
        message = f"Retention takes the first unread record at {utc(deadline[0])}, not {named}."
    return GateCheck(name=RETENTION, outcome=Outcome.PASSED, told=message)


def _keeps_all(topic: TopicState) -> bool:
    by_age = dict(topic.config).get("retention.ms") != "-1"
    return "delete" not in topic.cleanup or not (by_age or _is_sized(topic))


def _is_sized(topic: TopicState) -> bool:
    """Whether the size of a log decides when its records go: how fast it is written to, which nobody knows before."""
    return "delete" in topic.cleanup and dict(topic.config).get("retention.bytes", "-1") != "-1"


def _empty_ahead(row: PartitionComparison) -> bool:
    return row.new_offset is not None and row.new_offset == row.new.hw


def _number(value: AnyPosition | None) -> str:
    return "an unknown position" if value is None else f"{value:,}"
