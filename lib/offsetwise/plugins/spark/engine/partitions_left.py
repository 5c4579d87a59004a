"""Partitions that a batch ended at and the last batch has no more: their topic left the subscription."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from offsetwise.model import Problem, TopicOffsets
from offsetwise.plugins.spark.engine.findings import topic_dropped, topic_left
from offsetwise.plugins.spark.engine.offset_log import Lines, SourceOffset
from offsetwise.plugins.spark.engine.restart import Restart


def partitions_left(
    source: str, lines: Mapping[int, Lines], restart: Restart, start: SourceOffset | None
) -> Iterator[Problem]:
    """Compare the last batch of a Kafka source with its start; a committed one with the newest that has more.

    Spark holds the end of a pending batch against its start, and nothing of a committed one against an older one.

    Args:
        source: The id of the source.
        lines: Those of the offset files that were read, by batch.
        restart: What runs next.
        start: Where a batch that runs again begins: where the one before ended, or the initial offsets.
    """
    last = restart.last_planned
    of_batch = None if last is None else _offsets(lines, last, source)
    if last is None or of_batch is None or restart.missing:
        return
    if restart.reruns is not None:
        removed = () if start is None else _missing(start.offsets, of_batch)
        if removed:
            yield from topic_dropped(last, *_named(removed))
        return
    for batch in sorted((number for number in lines if number < last), reverse=True):
        removed = _missing(_offsets(lines, batch, source), of_batch)
        if removed:
            yield from topic_left(last, batch, *_named(removed))
            return


_Partition = tuple[str, int, int]


def _offsets(lines: Mapping[int, Lines], batch: int, source: str) -> tuple[TopicOffsets, ...] | None:
    """Return what a batch says of a source; None where it says nothing of Kafka."""
    line = lines[batch].get(source) if batch in lines else None
    return None if line is None or not line.is_kafka else line.offsets


def _missing(before: tuple[TopicOffsets, ...] | None, retained: tuple[TopicOffsets, ...]) -> tuple[_Partition, ...]:
    now = {of.topic: of.partitions for of in retained}
    return tuple(
        (of.topic, partition, offset)
        for of in before or ()
        if now.get(of.topic) != of.partitions
        for partition, offset in zip(of.partitions, of.offsets, strict=True)
        if partition not in now.get(of.topic, ())
    )


def _named(removed: tuple[_Partition, ...]) -> tuple[list[str], list[str]]:
    return [f"{topic}-{partition} (at {offset:,})" for topic, partition, offset in removed], [
        topic for topic, *_ in removed
    ]
