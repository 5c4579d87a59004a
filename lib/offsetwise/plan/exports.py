"""A plan's positions for other people's tools."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from offsetwise.errors import ApplyError, PlanError
from offsetwise.model import Plan, PlannedPosition, TargetKind, TopicPartition

_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_RISKY: Final = re.compile(r"^\s|^[=+\-@\uff1d\uff0b\uff0d\uff20]|[,;\"']|\s$")
"""What a spreadsheet runs as a formula, and what breaks a line or a cell, where `;` or a tab parts cells as well."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of what is not shown as it is: controls, marks that turn text around, halves of pairs."""


def for_flink(plan: Plan) -> bool:
    """Say whether a plan is one of a Flink job."""
    return plan.requirements.checkpoint is not None and plan.requirements.checkpoint.engine == "flink"


def starting_offsets(plan: Plan) -> str:
    """Give where a job without positions of its own begins: exactly all partitions.

    For Spark the JSON of the option `startingOffsets`; for Flink the words of SQL, Java and Python.

    Raises:
        PlanError: The plan has several sources, which need an option each, or not every partition of a topic.
    """
    if for_flink(plan):
        return _of_flink(plan)
    sources = {position.source for position in plan.positions}
    if len(sources) != 1:
        raise PlanError(
            f"startingOffsets: expected a plan for one Kafka source, found {len(sources)}: Spark takes the option for "
            "each source of its own. Nothing was printed.",
            fix="Copy the checkpoint, or give every source its offsets by hand from the plan.",
        )
    made = {topic: {str(number): offset for number, offset in each} for topic, each in _whole(plan, _sorted(plan))}
    return json.dumps(made, separators=(",", ":"))


def _whole(plan: Plan, positions: Sequence[PlannedPosition]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Give (partition, offset) of every partition, by topic.

    Raises:
        PlanError: A partition of a topic is missing.
    """
    there = {topic.name: topic.partitions for topic in plan.requirements.new.topics}
    for topic, together in groupby(positions, key=_topic):
        offsets = [(one.partition, one.new_offset) for one in together]
        if [number for number, _ in offsets] != [*range(there.get(topic, -1))]:
            effect = "Flink reads the others from their start" if for_flink(plan) else "Spark refuses such a list"
            raise PlanError(
                f"startingOffsets: expected all {there.get(topic, 'the')} partitions of {topic!r}, found "
                f"{len(offsets)} or others: {effect}. Nothing was printed.",
                fix="Draft the plan again, so that it has every partition of the new topics.",
            )
        yield topic, offsets


def _of_flink(plan: Plan) -> str:
    """Give the offsets of each source in the words of SQL, which takes them for one topic, of Java and of Python."""
    made: list[str] = []
    ordered = sorted(plan.positions, key=lambda one: (one.source, one.new_topic, one.partition))
    for source, together in groupby(ordered, key=lambda one: one.source):
        topics = list(_whole(plan, list(together)))
        name = "".join(letter for letter in source if letter.isprintable())
        for topic, offsets in topics:
            listed = ";".join(f"partition:{number},offset:{offset}" for number, offset in offsets)
            made += [
                f"-- SQL: options of the table that reads {topic} (source {name}), the only topic it reads",
                "'scan.startup.mode' = 'specific-offsets',",
                f"'scan.startup.specific-offsets' = '{listed}'",
                "",
            ]
        places = [(topic, number, offset) for topic, offsets in topics for number, offset in offsets]
        java = ",\n".join(f'    Map.entry(new TopicPartition("{topic}", {n}), {at}L)' for topic, n, at in places)
        python = ",\n".join(f'    KafkaTopicPartition("{topic}", {n}): {at}' for topic, n, at in places)
        made += [
            f"// Java: setStartingOffsets of the KafkaSource {name}",
            f"OffsetsInitializer.offsets(Map.ofEntries(\n{java}), OffsetResetStrategy.NONE)",
            "",
            f"# Python: set_starting_offsets of the KafkaSource {name}",
            f"KafkaOffsetsInitializer.offsets({{\n{python}}}, KafkaOffsetResetStrategy.NONE)",
            "",
        ]
    return "\n".join(made)


def seeded_offsets(plan: Plan) -> tuple[str, bytes]:
    """Give the file of initial offsets in a fresh checkpoint of Spark: its path there, and its bytes.

    Raises:
        PlanError: The plan has several sources, or not every partition of a topic.
    """
    sources = sorted({position.source for position in plan.positions})
    if len(sources) != 1:
        raise PlanError(
            f"A seeded checkpoint: expected a plan for one Kafka source, found {len(sources)}. Nothing was written.",
            fix="Use the target starting-offsets, or copy the checkpoint.",
        )
    # A group's positions come from no source of Spark's, which numbers its only one 0.
    source = "0" if plan.requirements.checkpoint is None else sources[0]
    return f"sources/{source}/0", b"\0v1\n" + starting_offsets(plan).encode()


def planned_offsets(plan: Plan, name: str) -> dict[TopicPartition, int]:
    """Give the offset that a group is to hold of every partition.

    Raises:
        ApplyError: Two sources read one partition at different places.
    """
    made: dict[TopicPartition, int] = {}
    for one in plan.positions:
        key = TopicPartition(topic=one.new_topic, partition=one.partition)
        if made.setdefault(key, one.new_offset) != one.new_offset:
            raise ApplyError(
                f"Group {name!r}: expected one offset of {key}, found {made[key]} and {one.new_offset} in the plan, "
                "because two sources read it. Nothing was written.",
                fix="A group can hold one of them only: move the job by its checkpoint.",
            )
    return made


def consumer_groups_csv(plan: Plan) -> str:
    """Give the lines of `kafka-consumer-groups --reset-offsets --from-file`: no header, LF.

    `topic,partition,offset`, and `group,topic,partition,offset` where the plan has several groups. The tool moves an
    offset outside a log to its nearest end without a word; the plan's offsets lay inside when it was drafted.

    Raises:
        PlanError: A group's name cannot stand in such a file, or one partition has two positions.
    """
    groups = [t.group for t in plan.targets if t.kind is TargetKind.CONSUMER_GROUP and t.group is not None]
    for group in groups:
        if len(groups) > 1 and (_RISKY.search(group) or any(unicodedata.category(c) in _UNSEEN for c in group)):
            raise PlanError(
                f"kafka-consumer-groups CSV: expected group names that can stand in it, found {group!r}: it would be "
                "read as another name or a formula. Nothing was printed.",
                fix="Draft one plan per group, or let `offsetwise apply` write the groups.",
            )
    lines: dict[tuple[str, int], str] = {}
    for one in _sorted(plan):
        key = _topic(one), one.partition
        line = f"{key[0]},{one.partition},{one.new_offset}"
        if lines.setdefault(key, line) != line:
            raise PlanError(
                f"kafka-consumer-groups CSV: expected one position for {key[0]}-{one.partition}, found two: "
                "two sources of the checkpoint read it at different places. Nothing was printed.",
                fix="A group can hold one of them only: draft a plan from a checkpoint of one source.",
            )
    prefixes = [f"{group}," for group in groups] if len(groups) > 1 else [""]
    return "".join(f"{prefix}{line}\n" for prefix in prefixes for line in lines.values())


def _sorted(plan: Plan) -> list[PlannedPosition]:
    return sorted(plan.positions, key=lambda one: (one.new_topic, one.partition))


def _topic(position: PlannedPosition) -> str:
    if not _TOPIC.fullmatch(position.new_topic):
        raise PlanError(
            f"Export: expected names that Kafka allows for topics, found {position.new_topic[:40]!r}. "
            "Nothing was printed.",
            fix="Draft the plan again; this file was not written by Offsetwise.",
        )
    return position.new_topic
