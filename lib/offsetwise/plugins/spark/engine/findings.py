from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from offsetwise.findings.case import MigrationCase
from offsetwise.findings.reading import REPAIR_OPTIONS, checkpoint_damaged, named
from offsetwise.findings.register import Fact, Stage, describe, finding
from offsetwise.model import AnyPosition, LogRange, PartitionComparison, Problem, Severity, TopicOffsets
from offsetwise.plugins.spark.engine.offset_log import Lines, SourceOffset
from offsetwise.wording import many

if TYPE_CHECKING:
    from offsetwise.plugins.spark.engine.restart import Restart


@finding(
    code="CHECKPOINT_POLLUTED",
    severity=Severity.BLOCKS,
    title="The last planned batch carries the other cluster's numbers",
    remedy="Drop the last planned batch in the copy; go on from the last committed one.",
    rank=100,
    stage=Stage.MIGRATION,
    engine="spark",
    needs={Fact.PENDING},
    of_pending=True,
    heading="Polluted: offsets of another log",
)
def checkpoint_polluted(case: MigrationCase) -> Iterator[str]:
    """The pending batch ends where only the new cluster could have ended it.

    Either a partition goes backwards, or every end fits the new cluster's ranges while at least one lies outside the
    old one's. Each end must be known on both clusters for the second: a checkpoint read after the old cluster moved on
    would look the same for single partitions.
    """
    again = None if case.checkpoint is None else case.checkpoint.details.progress.again
    pending = [row for row in case.rows if len(row.restart) > 1]
    backward = [row for row in pending if row.restart[-1].old < row.restart[0].old]
    if backward:
        row = backward[0]
        yield (
            f"Batch {again} would end before it begins in {many(len(backward), 'partition')}: {row.topic_partition} "
            f"goes from {row.restart[0].old:,} back to {row.restart[-1].old:,}."
        )
        return
    strange = [row for row in pending if _within(row.restart[-1].old, row.old) is False]
    if strange and all(_within(row.restart[-1].old, row.new) and _starts_old(row) for row in pending):
        row = strange[0]
        yield (
            f"Batch {again} starts on the old cluster, but its ends fit only the new one: {row.topic_partition} "
            f"would end at {row.restart[-1].old:,}, the old log at {row.old.hw:,}."
        )


@finding(
    code="PENDING_BATCH",
    severity=Severity.WARNS,
    title="A batch was planned and not committed",
    remedy="Best let it commit on the old cluster first; else both of its ends have to be translated.",
    rank=100,
    stage=Stage.MIGRATION,
    engine="spark",
    needs={Fact.PENDING},
    heading="Planned: a batch is not committed",
    beside="The sink may hold part of the batch.",
)
def pending_batch(case: MigrationCase) -> Iterator[str]:
    """A planned batch was not committed and will run again."""
    if case.checkpoint is None:
        return
    codes = {problem.code for problem in case.checkpoint.problems}
    lacks_files = checkpoint_damaged.code in codes and pending_batch.code not in codes
    if lacks_files or any(describe(code).continuing for code in codes):
        return  # it does not run again as it is
    committed = case.checkpoint.details.progress.committed
    last = "no batch was committed" if committed is None else f"batch {committed} is the last committed one"
    yield (f"Batch {case.checkpoint.details.progress.again} was planned and not committed, and will run again; {last}.")


@finding(
    code="BATCH_MISSING",
    severity=Severity.BLOCKS,
    title="The batch before the last one is lost, and Spark does not start",
    remedy="Draft a repaired copy without the last batch (--set repair=drop-batch-after-gap), or begin a new "
    "checkpoint.",
    rank=112,
    stage=Stage.READER,
    continuing=True,
)
def batch_missing(
    first: int, last: int, *, oldest: int, restartable: bool, committed: bool
) -> Iterator[tuple[str, str]]:
    """Batch ids right before the newest planned one have no file, and no other retained id is missing.

    Args:
        first: The first missing batch.
        last: The last missing batch; the batch after it is planned.
        oldest: The oldest retained id, after which no other is missing.
        restartable: Whether Spark starts after the batch before `first`, once the last batch is left out.
        committed: Whether the last batch is committed.
    """
    known = last + 1 if committed else first - 1
    seed = f"Begin a new checkpoint at the positions after batch {known}: draft with --target seeded-checkpoint."
    repair = (
        f"Draft a repaired copy that leaves batch {last + 1} out and goes on after batch {first - 1}: offsetwise draft "
        f"--set repair=drop-batch-after-gap {REPAIR_OPTIONS}."
    )
    ids = f"batch {first}" if first == last else f"batches {first} to {last}"
    yield (
        f"Batch {last + 1} is planned, and {ids} before it {'is' if first == last else 'are'} in neither offsets/ nor "
        f"commits/, though no other id from {oldest} on is missing: files were lost. Spark reads offsets/{last} on "
        f'restart and fails: "batch {last} doesn\'t exist".',
        f"{repair} Only a query with asynchronous progress tracking starts as it is."
        if restartable
        else f"{seed} Without batch {last + 1} Spark would read offsets/{first - 2}, which is lost too.",
    )


@finding(
    code="TOPIC_DROPPED",
    severity=Severity.BLOCKS,
    title="The pending batch lacks partitions that the job has read",
    remedy="Let the query subscribe to the topic again and draft a repaired copy (--set repair=restore-topic), or run "
    "it once without the topic.",
    rank=114,
    stage=Stage.READER,
    continuing=True,
)
def topic_dropped(batch: int, dropped: Sequence[str], topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A planned, uncommitted batch has no end for partitions that the batch before it has.

    Args:
        batch: The pending batch.
        dropped: Each partition with its end offset in the batch before, as text.
        topics: Their topics.
    """
    yield (
        f"Batch {batch} is planned and not committed, and lacks {named(dropped)}: the topic had left the subscription, "
        "or lost partitions. With failOnDataLoss=true Spark refuses to run the batch. With false it runs the batch "
        "without them, their records from there on are not read, and a topic that is subscribed to again begins at "
        "earliest; Trigger.AvailableNow fails either "
        "way.",
        f"To go on reading {_listed(topics)}, subscribe to {_them(topics)} again and put {_them(topics)} back into the "
        f"batch in a repaired copy: offsetwise draft --set repair=restore-topic --set topic={_setting(topics)} "
        f"{REPAIR_OPTIONS}. To give {_them(topics)} up, start the query on the old cluster with failOnDataLoss=false "
        "and a trigger other than AvailableNow, and stop it after the batch.",
    )


@finding(
    code="TOPIC_LEFT",
    severity=Severity.INFORMS,
    title="The last committed batch lacks partitions that an earlier one has",
    remedy="Nothing, if the job gave the topic up. Else draft a repaired copy with it: --set repair=restore-topic.",
    rank=35,
    stage=Stage.READER,
)
def topic_left(batch: int, earlier: int, dropped: Sequence[str], topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield (
        f"Batch {batch} is committed and lacks {named(dropped)}, where batch {earlier} ended: the query does not read "
        "it any more, and begins it at earliest if it subscribes to it again.",
        f"Nothing, if the job gave {_listed(topics)} up. To go on reading {_them(topics)} from there, subscribe to "
        f"{_them(topics)} again and draft a repaired copy: offsetwise draft --set repair=restore-topic --set "
        f"topic={_setting(topics)} {REPAIR_OPTIONS}.",
    )


def _within(offset: AnyPosition, log: LogRange) -> bool | None:
    """Return whether an offset fits a log; None where the log was not read."""
    if log.log_start is None or log.hw is None:
        return None
    return log.log_start <= offset <= log.hw


def _starts_old(row: PartitionComparison) -> bool:
    return _within(row.restart[0].old, row.old) is True


def _listed(topics: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(topics))


def _them(topics: Sequence[str]) -> str:
    return "it" if len(set(topics)) == 1 else "them"


def _setting(topics: Sequence[str]) -> str:
    """Return the value of `--set topic=`: all topics, as Spark needs them in one copy."""
    return quote(",".join(dict.fromkeys(topics)))


def partitions_left(
    source: str, lines: Mapping[int, Lines], restart: Restart, start: SourceOffset | None
) -> Iterator[Problem]:
    """Find partitions that a batch ended at and the last batch has no more: their topic left the subscription.

    The last batch of a Kafka source is compared with its start; a committed one with the newest that has more.

    Spark holds the end of a pending batch against its start, and nothing of a committed one against an older one.

    Args:
        source: The id of the source.
        lines: The lines of the offset files that were read, by batch.
        restart: What runs next.
        start: Where a batch that runs again begins: where the one before ended, or the initial offsets.
    """
    last = restart.last_planned
    of_batch = None if last is None else _offsets(lines, last, source)
    if last is None or of_batch is None or restart.missing:
        return
    if restart.reruns is not None:
        removed = () if start is None else _lost(start.offsets, of_batch)
        if removed:
            yield from topic_dropped(last, *_shown(removed))
        return
    for batch in sorted((number for number in lines if number < last), reverse=True):
        removed = _lost(_offsets(lines, batch, source), of_batch)
        if removed:
            yield from topic_left(last, batch, *_shown(removed))
            return


_Partition = tuple[str, int, int]


def _offsets(lines: Mapping[int, Lines], batch: int, source: str) -> tuple[TopicOffsets, ...] | None:
    """Return what a batch says of a source; None where it says nothing of Kafka."""
    line = lines[batch].get(source) if batch in lines else None
    return None if line is None or not line.is_kafka else line.offsets


def _lost(before: tuple[TopicOffsets, ...] | None, retained: tuple[TopicOffsets, ...]) -> tuple[_Partition, ...]:
    now = {of.topic: of.partitions for of in retained}
    return tuple(
        (of.topic, partition, offset)
        for of in before or ()
        if now.get(of.topic) != of.partitions
        for partition, offset in zip(of.partitions, of.offsets, strict=True)
        if partition not in now.get(of.topic, ())
    )


def _shown(removed: tuple[_Partition, ...]) -> tuple[list[str], list[str]]:
    return [f"{topic}-{partition} (at {offset:,})" for topic, partition, offset in removed], [
        topic for topic, *_ in removed
    ]
