"""Verifies the content of a savepoint, and the progress of the restored job by a checkpoint of its own.

That checkpoint shows where the job is, not where it began: Flink keeps no history. A position before the planned one,
or past the end of the log, shows that it began elsewhere or reads another cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.files import changed_file, unfinished
from offsetwise.apply.verification.seen import Seen, for_all, number, topics_of
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.model import (
    AnyPosition,
    Checkpoint,
    Cluster,
    PartitionState,
    Plan,
    PlannedPosition,
    ReceiptStep,
    Start,
    TopicPartition,
    Turnout,
)
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.details import FlinkDetails
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.marks import unmarked
from offsetwise.storage.memory import HeldFolder

Compared = Callable[[Plan, ReceiptStep, Checkpoint], list[Seen]]
"""Compares a savepoint as it was read with the plan."""
Restored = Callable[[Plan, Checkpoint, Readers], list[Seen]]
"""Compares a checkpoint of the restored job with the plan."""


def restored(plan: Plan, own: Checkpoint, readers: Readers) -> list[Seen]:
    offsets, logs = _SavepointState(own), readers.cluster(Cluster.NEW, topics_of(plan), ()).partitions()
    return [_gone_on(position, offsets, own, logs) for position in plan.positions]


def verified(
    plan: Plan,
    step: ReceiptStep,
    readers: Readers,
    checkpoint: str | None,
    compared: Compared,
    *,
    restored: Restored = restored,
) -> list[Seen]:
    """Compare a savepoint with the plan. A job never writes to it; a later checkpoint of the job shows its progress."""
    absent = unfinished(step.place, readers)
    if absent is not None:
        return for_all(plan, Turnout.UNKNOWN, absent)
    changed = changed_file(step, readers, gone_is_fine=False)
    if changed is not None:
        return for_all(plan, Turnout.DIFFERENT, changed)
    required = plan.requirements.checkpoint
    names = () if required is None else tuple(path for path, _ in required.files)
    cluster = plan.job.dynamic_cluster
    read = on_cluster(read_from(HeldFolder(uri=step.place, files=readers.files(step.place, names))), cluster)
    lacking = unmarked(plan.marks, read)
    if lacking is not None:
        return for_all(plan, Turnout.DIFFERENT, f"{step.place}: {lacking}")
    results = compared(plan, step, read)
    if checkpoint is None or any(result.turnout is Turnout.DIFFERENT for result in results):
        return results
    own = on_cluster(readers.with_times(checkpoint).checkpoint, cluster)
    other = _not_of_this_job(own, read)
    return restored(plan, own, readers) if other is None else for_all(plan, Turnout.UNKNOWN, other)


def as_planned(plan: Plan, step: ReceiptStep, read: Checkpoint) -> list[Seen]:
    offsets = _SavepointState(read)
    return [_as_planned(position, offsets, step) for position in plan.positions]


def _as_planned(position: PlannedPosition, offsets: _SavepointState, step: ReceiptStep) -> Seen:
    name, offset = str(position.new_topic_partition), offsets.of(position)
    if offset == position.new_offset:
        message = f"{name}: {offset:,} is in {step.place}, as planned."
        return Seen(found=offset, turnout=Turnout.CONFIRMED, told=message)
    if offset is None and position.old_offset is None and position.start is Start.EARLIEST:
        message = f"{name} is new: Flink begins it at its earliest record, which no savepoint shows."
        return Seen(found=None, turnout=Turnout.UNKNOWN, told=message)
    message = f"{name}: expected {position.new_offset:,} in {step.place}, found {number(offset)}."
    return Seen(found=offset, turnout=Turnout.DIFFERENT, told=message)


class _SavepointState:
    def __init__(self, read: Checkpoint) -> None:
        self._ids = {source.id for source in read.sources}
        self._at = {
            (source.id, at.topic, at.partition): at.offset for source in read.sources for at in source.positions
        }

    def of(self, position: PlannedPosition) -> AnyPosition | None:
        """Return the offset of a planned position, None if there is none. People may have named an id by its uid."""
        source = position.source if position.source in self._ids else operator_id(position.source)
        return self._at.get((source, position.new_topic, position.partition))


def _gone_on(
    position: PlannedPosition, offsets: _SavepointState, own: Checkpoint, logs: Mapping[TopicPartition, PartitionState]
) -> Seen:
    """Return the progress of a restored job in one partition.

    Args:
        position: The planned position.
        offsets: The offsets in `own`.
        own: A checkpoint of the restored job.
        logs: Logs of the new cluster, read after `own`.
    """
    key = position.new_topic_partition
    offset, planned, log = offsets.of(position), position.new_offset, logs.get(key)
    end = None if log is None else log.hw
    if offset is None:
        message = f"{key}: {own.uri} leaves this partition out, so the job does not read it from there."
        return Seen(found=None, turnout=Turnout.DIFFERENT, told=message)
    if offset < planned:
        message = (
            f"{key}: expected {planned:,} or more in {own.uri}, found {offset:,}: the job did not begin as planned."
        )
        return Seen(found=offset, turnout=Turnout.DIFFERENT, told=message)
    if end is None:
        message = f"{key}: {offset:,} is in {own.uri}, and the log cannot be read to tell whether that can be."
        return Seen(found=offset, turnout=Turnout.UNKNOWN, told=message)
    if offset > end:
        message = f"{key}: {offset:,} is in {own.uri}, past the end of the log {end:,}: it reads another cluster."
        return Seen(found=offset, turnout=Turnout.DIFFERENT, told=message)
    if offset == planned:
        message = f"{key}: the job is at {offset}, as planned, in {own.uri}."
        return Seen(found=offset, turnout=Turnout.CONFIRMED, told=message, started=True)
    message = f"{key}: the job has gone on from {planned} to {offset} in {own.uri}."
    return Seen(found=offset, turnout=Turnout.MOVED_ON, told=message, started=True)


def _not_of_this_job(own: Checkpoint, restored: Checkpoint) -> str | None:
    """Explain why a checkpoint cannot be of a job that was restored from another one; None if it can.

    Its id must be higher: Flink continues the numbers of the restored checkpoint.
    """
    if not (isinstance(own.details, FlinkDetails) and isinstance(restored.details, FlinkDetails)):
        return f"{own.uri} is not a checkpoint of Flink."
    now, then = own.details.saved.id, restored.details.saved.id
    if now <= then:
        return (
            f"{own.uri} is checkpoint {now}, expected one after {then}, the one that the job is restored from: it "
            "tells nothing about the new job."
        )
    return None
