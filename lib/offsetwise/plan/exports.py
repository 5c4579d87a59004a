from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from offsetwise.engines.registry import keeper_of
from offsetwise.errors import ApplyError, PlanError
from offsetwise.findings.logs import partition_missing
from offsetwise.model import Plan, PlannedPosition, Problem, Target, TopicPartition
from offsetwise.plan.moving import StartingOffsets, starting_offsets_of
from offsetwise.plan.target import groups_of, target_type
from offsetwise.position import offset_of
from offsetwise.wording import first_of, many

_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_RISKY: Final = re.compile(r"^\s|^[=+\-@\uff1d\uff0b\uff0d\uff20]|[,;\"']|\s$")
"""Text that a spreadsheet runs as a formula, or that splits a line or cell where `;` or a tab separates cells."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of invisible characters: control, format (such as bidirectional marks), surrogate, separator."""


def starting_offsets(plan: Plan) -> str:
    """Return the starting offsets of a plan, with all partitions, in the form that the job takes.

    For Spark: the JSON of the option `startingOffsets`. For Flink: SQL, Java and Python. For a plan that writes
    starting positions in a Kinesis stream: that file.

    Raises:
        PlanError: The engine takes no starting offsets, or not those of several sources, or a partition of a topic is
            missing.
        ApplyError: The file that the plan writes cannot hold one of its positions.
    """
    return starting_form(plan.targets, plan.requirements.engine).text(plan)


def starting_form(targets: Sequence[Target], engine: str) -> StartingOffsets:
    """Return the form in which the job of a plan takes starting offsets, by targets and the engine of its positions.

    Raises:
        PlanError: The job takes none.
    """
    form = known_form(targets, engine)
    if form is None:
        raise PlanError(
            f"startingOffsets: expected a job that can be told to begin at offsets, found one of "
            f"{keeper_of(engine).label}. Nothing was printed.",
            fix="Export the plan in another form, or apply it.",
        )
    return form


def known_form(targets: Sequence[Target], engine: str) -> StartingOffsets | None:
    """Return the form of the first target that has one, else the one of the engine; None if neither has one."""
    written = (target_type(target.kind).start for target in targets)
    return next((form for form in written if form is not None), starting_offsets_of(engine))


def whole_topics(
    plan: Plan, positions: Sequence[PlannedPosition], *, otherwise: str
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield each topic with (partition, offset) of all its partitions.

    Args:
        plan: The plan.
        positions: The positions, grouped by topic, partitions ascending.
        otherwise: The consequence of an incomplete list, as part of a sentence.

    Raises:
        PlanError: A partition of a topic is missing.
    """
    there = {topic.name: topic.partitions for topic in plan.requirements.new.topics}
    for name, together in groupby(positions, key=attrgetter("new_topic")):
        topic = _named_by_kafka(name)
        offsets = [(position.partition, offset_of(position.new_offset)) for position in together]
        numbers, count = [number for number, _ in offsets], there.get(topic, 0)
        if numbers != [*range(len(numbers))] or len(numbers) != count:
            raise PlanError(
                f"startingOffsets: expected one offset for each of the {many(count, 'partition')} of {topic!r}, found "
                f"{_difference(numbers, count)}: {otherwise}. Nothing was printed.",
                fix="Draft the plan again, so that it has every partition of the new topics.",
            )
        yield topic, offsets


def _difference(numbers: Sequence[int], count: int) -> str:
    known = {number for number in numbers if number < count}
    if len(known) < count:
        first = next(number for number in range(count) if number not in known)
        return f"none for {first}" + (f" and {count - len(known) - 1:,} more" if len(known) < count - 1 else "")
    unrecognized = sorted({*numbers} - known)
    if unrecognized:
        return f"one for {first_of([*map(str, unrecognized)], 3)}, which the topic does not have"
    return f"several for {first_of([str(number) for number, times in Counter(numbers).items() if times > 1], 3)}"


def planned_offsets(plan: Plan, name: str) -> dict[TopicPartition, int]:
    """Return the offset of each partition that a group is to commit.

    Raises:
        ApplyError: Two sources read one partition at different offsets.
    """
    offsets: dict[TopicPartition, int] = {}
    for position in plan.positions:
        key = position.new_topic_partition
        if offsets.setdefault(key, offset_of(position.new_offset)) != position.new_offset:
            raise ApplyError(
                f"Group {name!r}: expected one offset of {key}, found {offsets[key]:,} and {position.new_offset:,} "
                "in the plan, because two sources read it. Nothing was written.",
                fix="A group can hold one of them only: move the job by its checkpoint.",
            )
    return offsets


def against_gaps(plan: Plan) -> Iterator[Problem]:
    counted = {topic.name: topic.partitions for topic in plan.requirements.new.topics}
    for name in sorted({position.new_topic for position in plan.positions}):
        planned = {position.partition for position in plan.positions if position.new_topic == name}
        if planned != set(range(counted.get(name, 0))):
            message = f"{name} has {counted.get(name, 0):,} partitions, the plan has a position for {len(planned):,}."
            yield partition_missing.problem(message, fix="Compare again, so that every partition is there.")


def consumer_groups_csv(plan: Plan) -> str:
    """Return the lines of `kafka-consumer-groups --reset-offsets --from-file`: no header, LF.

    The columns are `topic,partition,offset`, or `group,topic,partition,offset` if the plan has several groups. The tool
    silently moves an offset outside a log to the nearest end; the offsets were inside their logs when the plan was
    drafted.

    Raises:
        PlanError: A group's name cannot be in such a file, or one partition has two positions.
    """
    groups = groups_of(plan.targets)
    for group in groups:
        if len(groups) > 1 and (_RISKY.search(group) or any(unicodedata.category(c) in _UNSEEN for c in group)):
            raise PlanError(
                f"kafka-consumer-groups CSV: expected group names that can be in it, found {group!r}: it would be "
                "read as another name or a formula. Nothing was printed.",
                fix="Draft one plan per group, or let `offsetwise apply` write the groups.",
            )
    lines: dict[TopicPartition, str] = {}
    for position in by_partition(plan):
        key = TopicPartition(_named_by_kafka(position.new_topic), position.partition)
        line = f"{key.topic},{key.partition},{offset_of(position.new_offset)}"
        if lines.setdefault(key, line) != line:
            raise PlanError(
                f"kafka-consumer-groups CSV: expected one position for {key}, found two: "
                "two sources of the checkpoint read it at different positions. Nothing was printed.",
                fix="A group can hold one of them only: draft a plan from a checkpoint of one source.",
            )
    prefixes = [f"{group}," for group in groups] if len(groups) > 1 else [""]
    return "".join(f"{prefix}{line}\n" for prefix in prefixes for line in lines.values())


def by_partition(plan: Plan) -> list[PlannedPosition]:
    return sorted(plan.positions, key=attrgetter("new_topic_partition"))


def _named_by_kafka(topic: str) -> str:
    if not _TOPIC.fullmatch(topic):
        raise PlanError(
            f"Export: expected names that Kafka allows for topics, found {topic[:40]!r}. Nothing was printed.",
            fix="Draft the plan again; this file was not written by Offsetwise.",
        )
    return topic
