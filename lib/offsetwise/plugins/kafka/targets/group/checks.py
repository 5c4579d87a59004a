"""Checks before anything is written: whether a group may be written to now, and what would be written."""

from __future__ import annotations

from typing import Final

from offsetwise.apply.journal import StepRecord
from offsetwise.errors import ApplyError, GroupActiveError, LostReplyError, StalePlanError
from offsetwise.model import GroupState, Plan, ReceiptStep, StepState, Target, TopicPartition, WrittenOffset
from offsetwise.plan.exports import planned_offsets
from offsetwise.plan.refusals import group_type
from offsetwise.plan.target import refuse_unfit
from offsetwise.plugins.kafka.targets.group.offsets import (
    by_partition,
    counted,
    offset_or_none,
    refuse_foreign,
    some_of,
    with_before,
)
from offsetwise.wording import many

NO_GROUP: Final = "Dead"
"""Kafka's state of a group that does not exist."""
INACTIVE: Final = frozenset({"Empty", NO_GROUP})
"""States of a group without members."""


def intended_step(plan: Plan, target: Target, record: StepRecord, now: GroupState) -> ReceiptStep:
    name = group_of(target)
    if record.intended is not None and record.undone is None:
        require_inactive(name, now)
        refuse_foreign(name, now, record.intended.offsets)
        return record.intended
    offsets = offsets_to_write(plan, name, now)
    return ReceiptStep(
        target=target,
        place=name,
        state=StepState.DONE,
        told=f"{counted(offsets)} of group {name!r} are committed on the new cluster as planned.",
        offsets=offsets,
    )


def offsets_to_write(plan: Plan, name: str, now: GroupState) -> tuple[WrittenOffset, ...]:
    """Return every offset to write, with the committed one before it, exactly as the plan was drafted against."""
    require_inactive(name, now)
    results = by_partition(now)
    offsets = tuple(
        with_before(partition, offset, results.get(partition))
        for partition, offset in planned_offsets(plan, name).items()
    )
    reviewed = next((group for group in plan.requirements.groups if group.group == name), None)
    if reviewed is None:
        raise ApplyError(
            f"Group {name!r}: expected what was committed when the plan was drafted, found nothing about it in the "
            "plan. Nothing was written.",
            fix="Draft the plan again with this target.",
        )
    expected = {TopicPartition(t, p): offset for t, p, offset in reviewed.offsets}
    others = [
        f"{offset.topic_partition}: {offset_or_none(offset.before)} in the place of "
        f"{offset_or_none(expected.get(offset.topic_partition))}"
        for offset in offsets
        if offset.before != expected.get(offset.topic_partition)
    ]
    if others:
        raise StalePlanError(
            f"Group {name!r}: expected the commits that were reviewed, found others: somebody has committed since. "
            f"{some_of(others)}. Nothing was written.",
            fix="Find out who commits with this group, then draft the plan again.",
        )
    return offsets


def require_inactive(name: str, now: GroupState) -> None:
    """Refuse a group that may not be written to, or not now.

    Raises:
        GroupActiveError: It has members.
        ApplyError: It cannot be read, or is of another kind.
    """
    if now.error is not None:
        raise unreadable(name, now.error)
    refuse_unfit(group_type(now), f"Group {name!r}")
    if now.state not in INACTIVE:
        raise GroupActiveError(
            f"Group {name!r}: expected no members, found the group {now.state or 'in an unknown state'}. "
            "Nothing was written.",
            fix="Stop every consumer of the group; a static member leaves only after session.timeout.ms. "
            "Then run the same command again.",
        )


def require_gone(name: str, now: GroupState) -> None:
    """Require that a group without commits is not listed either: two answers would have to hide the same commits.

    Raises:
        LostReplyError: It is listed, or has commits.
    """
    if now.state == NO_GROUP and not now.offsets and now.error is None:
        return
    commits = f"{many(len(now.offsets), 'commit')}" if now.offsets else "no commit"
    raise LostReplyError(
        f"Group {name!r}: expected that the group is gone, found it {now.state or 'in an unknown state'} with "
        f"{commits}. Whether what this plan committed is taken back is not known.",
        fix="Wait 10 minutes, in which a broker removes a group without commits "
        "(offsets.retention.check.interval.ms), then run the same command again.",
    )


def unreadable(name: str, why: str) -> ApplyError:
    return ApplyError(
        f"Group {name!r}: expected to read its commits, but {why}. Nothing was written.",
        fix="Grant READ and DESCRIBE on the group and its topics, or try again when all brokers answer.",
    )


def other_cluster(subject: str, cluster_id: str | None, actual_id: str | None, effect: str) -> StalePlanError:
    leads = "a cluster that does not say its id" if actual_id is None else f"cluster {actual_id}"
    return StalePlanError(
        f"{subject}: expected a connection to the reviewed cluster {cluster_id}, found that the address leads to "
        f"{leads} now. {effect}",
        fix="Find out why the address leads there (a name server, a proxy, a load balancer). When it leads to the "
        "reviewed cluster again, run the same command again: it reads the group first, and continues from there.",
    )


def lost(name: str, why: str) -> LostReplyError:
    return LostReplyError(
        f"Group {name!r}: the reply to a change was lost, because {why}. Whether it was done is not known.",
        fix="Run the same command again: it reads the group first, and continues from there.",
    )


def nothing_committed(name: str, count: int, why: str) -> ApplyError:
    return ApplyError(
        f"Group {name!r}: expected to commit {count:,} partitions, but {why}. Nothing was committed.",
        fix="Grant READ on the group and its topics, and stop every member, then run the same command again.",
    )


def group_of(target: Target) -> str:
    """Return the group's name of a target.

    Raises:
        ApplyError: It has none.
    """
    if not target.group:
        raise ApplyError(
            f"The target {target}: expected the name of a group, found none. Nothing was written.",
            fix="Draft the plan again with consumer-group:NAME.",
        )
    return target.group
