"""The checks that a plan must pass before it is approved, from the plan alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.findings.migration import reader_suspected
from offsetwise.model import GateCheck, GroupBefore, IsolationLevel, Outcome, Plan, PlannedPosition
from offsetwise.model.clusters import has_members
from offsetwise.plan import names
from offsetwise.plan.moving import moving_of
from offsetwise.ports.stream import terms_of
from offsetwise.wording import first_of
from offsetwise.wording.terms import in_words

PLACED: Final = "every partition has an offset"
"""The name of the check that no partition is left out."""
_NAMED: Final = 3
"""How many partitions a sentence lists."""


def checks_of(plan: Plan) -> tuple[GateCheck, ...]:
    placed = (*_complete(plan), _in_range(plan)) if plan.positions else ()
    return (*_readable(plan), *placed, *plan.gate, *_quiesced(plan))


def unmet(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(check.name for check in checks_of(plan) if check.outcome is Outcome.FAILED))


def _readable(plan: Plan) -> Iterator[GateCheck]:
    marked = names.marked_names(plan)
    if marked:
        yield GateCheck(outcome=Outcome.FAILED, name="every name is what it looks like", told=names.warning_of(marked))


def _complete(plan: Plan) -> Iterator[GateCheck]:
    planned: dict[str, set[int]] = defaultdict(set)
    for position in plan.positions:
        planned[position.new_topic].add(position.partition)
    lacking = [
        f"{topic.name}: {len(planned[topic.name]):,} of {topic.partitions:,}"
        for topic in plan.requirements.new.topics
        if len(planned[topic.name]) != topic.partitions
    ]
    unheld = sorted(planned.keys() - {topic.name for topic in plan.requirements.new.topics})
    name = _in_words(plan, PLACED)
    if lacking:
        yield GateCheck(outcome=Outcome.FAILED, name=name, told=f"Not of {_some(lacking)}.")
    elif unheld:
        message = f"{_in_words(plan, 'How many partitions there are')} is not recorded of {_some(unheld)}."
        yield GateCheck(outcome=Outcome.UNKNOWN, name=name, told=message)
    else:
        yield GateCheck(outcome=Outcome.PASSED, name=name, told="")


def _in_words(plan: Plan, text: str) -> str:
    return in_words(text, terms_of(plan.positions))


def _in_range(plan: Plan) -> GateCheck:
    name = _in_words(plan, "every offset inside its log")
    outside: list[str] = []
    unread: list[str] = []
    for position in plan.positions:
        within = _within(position, plan.isolation_level)
        if within is None:
            unread.append(str(position.new_topic_partition))
        elif not within:
            outside.append(str(position.new_topic_partition))
    if outside:
        return GateCheck(outcome=Outcome.FAILED, name=name, told=f"Not of {_some(outside)}.")
    if unread:
        return GateCheck(outcome=Outcome.UNKNOWN, name=name, told=f"The log was not read of {_some(unread)}.")
    return GateCheck(outcome=Outcome.PASSED, name=name, told="")


def _within(position: PlannedPosition, isolation: IsolationLevel) -> bool | None:
    """Return whether a position lies inside its log; None if a bound is unknown or cannot be compared with it.

    The end of an open shard compares as neither before nor after a position.
    """
    start, end = position.new.log_start, position.new.end(isolation)
    if start is None or end is None:
        return None
    if position.new_offset < start or position.new_offset > end:
        return False
    return True if start <= position.new_offset else None


def _quiesced(plan: Plan) -> Iterator[GateCheck]:
    requirements = plan.requirements
    suspected = [finding.message for finding in plan.findings if finding.code == reader_suspected.code]
    if requirements.checkpoint is not None and suspected:
        yield GateCheck(outcome=Outcome.FAILED, name="job stopped", told=suspected[0])
    else:
        yield from moving_of(requirements.engine).stopped(plan)
    for group in requirements.groups:
        yield _members(group, "new")
    if requirements.old_group is not None:
        yield _members(requirements.old_group, "old")


def _members(group: GroupBefore, cluster: str) -> GateCheck:
    name = f"group {group.group} has no members on the {cluster} cluster"
    members = has_members(group.state)
    if members is None:
        return GateCheck(outcome=Outcome.UNKNOWN, name=name, told="Its state was not read.")
    outcome = Outcome.FAILED if members else Outcome.PASSED
    return GateCheck(outcome=outcome, name=name, told=f"It was {group.state} when it was read.")


def _some(names: Sequence[str]) -> str:
    return first_of(names, _NAMED)
