"""The offsets that a group is to have, those it has, and the differences in words. Nothing is read or written here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from shlex import quote
from typing import Final

from offsetwise.errors import ApplyError
from offsetwise.model import GroupOffset, GroupState, TopicPartition, WrittenOffset
from offsetwise.wording import first_of, many

NAMED: Final = 12
"""How many partitions a message names."""


def with_before(partition: TopicPartition, offset: int, before: GroupOffset | None) -> WrittenOffset:
    return WrittenOffset(
        topic=partition.topic,
        partition=partition.partition,
        offset=offset,
        before=None if before is None else before.offset,
        before_metadata="" if before is None else before.metadata,
        before_leader_epoch=None if before is None else before.leader_epoch,
    )


def to_commit(offsets: Iterable[WrittenOffset]) -> tuple[GroupOffset, ...]:
    """Return the offsets that a plan commits, without metadata, and without leader epochs of another cluster."""
    return tuple(
        GroupOffset(topic=offset.topic, partition=offset.partition, offset=offset.offset) for offset in offsets
    )


def to_put_back(offset: WrittenOffset) -> GroupOffset:
    if offset.before is None:
        raise ValueError("there was no commit")
    return GroupOffset(
        topic=offset.topic,
        partition=offset.partition,
        offset=offset.before,
        leader_epoch=offset.before_leader_epoch,
        metadata=offset.before_metadata,
    )


def without_metadata(offset: WrittenOffset) -> WrittenOffset:
    return replace(offset, before_metadata="", before_leader_epoch=None)


def by_partition(group: GroupState) -> dict[TopicPartition, GroupOffset]:
    return {offset.topic_partition: offset for offset in group.offsets}


def differing_from(now: GroupState, expected: Iterable[GroupOffset]) -> tuple[TopicPartition, ...]:
    """Return the partitions that are not committed as expected. A broker may add a leader epoch of its own."""
    results = by_partition(now)
    return tuple(
        at
        for offset in expected
        if (at := offset.topic_partition) not in results or _value(results[at]) != _value(offset)
    )


def refuse_foreign(name: str, now: GroupState, offsets: tuple[WrittenOffset, ...]) -> None:
    """Refuse a group with offsets that are neither those written nor those before.

    Raises:
        ApplyError: It has such offsets.
    """
    results = by_partition(now)
    others = []
    for offset in offsets:
        committed = results[offset.topic_partition].offset if offset.topic_partition in results else None
        if committed not in (offset.offset, offset.before):
            others.append(
                f"{offset.topic_partition}: {offset_or_none(committed)}, neither {offset.offset:,} nor "
                f"{offset_or_none(offset.before)}"
            )
    if others:
        raise ApplyError(
            f"Group {name!r}: expected what this plan committed or what stood there before, found others: "
            f"somebody has committed since. {some_of(others)}. Nothing was changed now.",
            fix="Find out who commits with this group. If the job has gone on, draft a plan from where it is.",
        )


def told_not_taken_away(name: str, retained: list[WrittenOffset], restored: int, refused: str | None = None) -> str:
    topics = sorted({offset.topic for offset in retained})
    commands = "; ".join(
        f"kafka-consumer-groups.sh --bootstrap-server HOST:PORT --delete-offsets --group {quote(name)} --topic {topic}"
        + ":"
        + ",".join(str(offset.partition) for offset in retained if offset.topic == topic)
        for topic in topics
    )
    why = "Kafka's Python client cannot take a single one away" if refused is None else f"deleting the group: {refused}"
    return (
        f"Group {name!r}: {restored} partitions are as they were before. {named(retained)} had no commit before, and "
        f"{why}: {commands}"
    )


def told_standing(now: GroupState, expected: Iterable[GroupOffset], refused: Mapping[TopicPartition, str]) -> str:
    results = by_partition(now)
    rows = [
        f"{offset.topic_partition} at {offset_or_none(_offset(results.get(offset.topic_partition)))}"
        + (f" ({refused[offset.topic_partition]})" if offset.topic_partition in refused else "")
        for offset in expected
    ]
    return f"Committed now: {some_of(rows)}."


def counted(offsets: tuple[WrittenOffset, ...]) -> str:
    return many(len(offsets), "offset")


def named(offsets: list[WrittenOffset]) -> str:
    return some_of([str(offset.topic_partition) for offset in offsets])


def some_of(rows: list[str]) -> str:
    return first_of(rows, NAMED)


def offset_or_none(value: int | None) -> str:
    return "no commit" if value is None else str(value)


def _value(offset: GroupOffset) -> tuple[int, str]:
    return offset.offset, offset.metadata


def _offset(offset: GroupOffset | None) -> int | None:
    return None if offset is None else offset.offset
