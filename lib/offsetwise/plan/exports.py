"""A plan's positions for other people's tools."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

from offsetwise.errors import PlanError
from offsetwise.model import Plan, PlannedPosition, TargetKind

_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_RISKY: Final = re.compile(r"^\s|^[=+\-@\uff1d\uff0b\uff0d\uff20]|[,;\"']|\s$")
"""What a spreadsheet runs as a formula, and what breaks a line or a cell, where `;` or a tab parts cells as well."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of what is not shown as it is: controls, marks that turn text around, halves of pairs."""


def starting_offsets(plan: Plan) -> str:
    """Give the JSON of Spark's option `startingOffsets`: exactly all partitions, or Spark fails.

    Raises:
        PlanError: The plan has several sources, which need an option each, or not every partition of a topic.
    """
    sources = {position.source for position in plan.positions}
    if len(sources) != 1:
        raise PlanError(
            f"startingOffsets: expected a plan for one Kafka source, found {len(sources)}: Spark takes the option for "
            "each source of its own. Nothing was printed.",
            fix="Copy the checkpoint, or give every source its offsets by hand from the plan.",
        )
    made: dict[str, dict[str, int]] = {}
    for one in _sorted(plan):
        made.setdefault(_topic(one), {})[str(one.partition)] = one.new_offset
    there = {topic.name: topic.partitions for topic in plan.requirements.new.topics}
    for topic, offsets in made.items():
        if set(offsets) != {str(number) for number in range(there.get(topic, -1))}:
            raise PlanError(
                f"startingOffsets: expected all {there.get(topic, 'the')} partitions of {topic!r}, found "
                f"{len(offsets)} or others: Spark refuses such a list. Nothing was printed.",
                fix="Draft the plan again, so that it has every partition of the new topics.",
            )
    return json.dumps(made, separators=(",", ":"))


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
