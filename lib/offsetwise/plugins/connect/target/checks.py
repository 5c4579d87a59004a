"""Preconditions of changing a connector's offsets: its identity, and that the offsets are within the new log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from offsetwise.config import Migration
from offsetwise.errors import ApplyError, GroupActiveError, RunningQueryError, StalePlanError
from offsetwise.model import Cluster, GroupState, Plan, Snapshot, Target, TopicPartition, WrittenOffset
from offsetwise.model.clusters import has_members
from offsetwise.plan.exports import planned_offsets
from offsetwise.plugins.connect.engine.reading import Connector
from offsetwise.plugins.connect.target.spec import KAFKA, PLACE, STOP, TYPE, not_to_write, offsets_before, reviewed
from offsetwise.position import offset_or_none
from offsetwise.streams.reader import read_cluster
from offsetwise.wording import first_of

_NAMED: Final = 12
Offsets: TypeAlias = Mapping[TopicPartition, int | None]


def require_stopped(connector: Connector, effect: str) -> None:
    """Require a sink connector that is stopped.

    Raises:
        RunningQueryError: It is not a sink, or not stopped.
    """
    if why := not_to_write(connector):
        raise RunningQueryError(
            f"{connector.uri}: expected a sink connector that is stopped, found {why}. {effect}",
            fix=STOP,
        )


def require_reviewed(plan: Plan, target: Target, connector: Connector, *, anywhere: bool = False) -> None:
    """Require the reviewed connector, with workers on the reviewed Kafka cluster.

    Args:
        plan: The plan.
        target: The connector, as the plan names it.
        connector: The connector now.
        anywhere: Whether its workers may have other addresses by now, as for a rollback.

    Raises:
        StalePlanError: It is another one, or on another cluster.
    """
    TYPE.require_fit(plan, connector.uri)
    before, cluster_id = reviewed(plan, target), plan.requirements.new.cluster_id
    location = str(before.get(PLACE))
    of_name = location.rpartition("/")[2] == connector.uri.rpartition("/")[2]
    for what, expected, now in (
        ("the connector", location, location if anywhere and of_name else connector.uri),
        ("workers on the Kafka cluster", before.get(KAFKA), connector.workers.cluster_id),
    ):
        if expected != now:
            raise _stale(connector, f"{what} {expected} as reviewed, found {now}")
    if connector.elsewhere is None and connector.workers.cluster_id != cluster_id:
        raise StalePlanError(
            f"{connector.uri}: expected workers on the new Kafka cluster {cluster_id}, found them on "
            f"{connector.workers.cluster_id or 'one that they do not name'}, whose offsets these are not. Nothing was "
            "written.",
            fix="Name the connector on the new workers under `connect`, with cluster: new, then draft the plan again.",
        )


def offsets_to_write(plan: Plan, target: Target, connector: Connector) -> tuple[WrittenOffset, ...]:
    """Return every offset to write, with the current one, exactly as the plan was drafted against.

    Raises:
        StalePlanError: The current offsets differ from the reviewed ones.
    """
    before = offsets_before(plan, target)
    if before != connector.offsets:
        rows = apart(connector.offsets, before, "reviewed")
        raise _stale(connector, f"the offsets that were reviewed, found others: {some_of(rows)}")
    return tuple(
        WrittenOffset(topic=at.topic, partition=at.partition, offset=offset, before=before.get(at))
        for at, offset in sorted(planned_offsets(plan, target.group or "").items())
    )


def require_own(connector: Connector, offsets: Iterable[WrittenOffset]) -> None:
    """Require that every offset is the one that was written, or the one before.

    Raises:
        ApplyError: Somebody else has changed an offset.
    """
    others = [
        f"{offset.topic_partition} at {offset_text(now)}, neither {offset.offset:,} nor {offset_text(offset.before)}"
        for offset in offsets
        if (now := connector.offsets.get(offset.topic_partition)) not in (offset.offset, offset.before)
    ]
    if others:
        raise ApplyError(
            f"{connector.uri}: expected what this plan wrote or what was there before, found others: "
            f"{some_of(others)}. Nothing was changed now.",
            fix="Find out who has changed the connector since. If it has gone on, draft a plan from where it is.",
        )


def read_new(migration: Migration, plan: Plan, group: str) -> Snapshot:
    """Read the new cluster: the logs of the plan's topics, and the group with the connector's offsets.

    Raises:
        ClusterError: It did not answer.
    """
    topics = tuple(sorted({position.new_topic for position in plan.positions}))
    return read_cluster(migration, Cluster.NEW, topics=topics, groups=(group,), mirror=False)


def require_inside(new: Snapshot, offsets: Iterable[WrittenOffset], plan: Plan) -> None:
    """Require that every offset is within its log now: workers accept any number without an error.

    Raises:
        StalePlanError: An offset is outside, or its log cannot be read.
    """
    logs = new.partitions()
    outside = []
    for offset in offsets:
        state = logs.get(offset.topic_partition)
        start = None if state is None else offset_or_none(state.log_start)
        end = None if state is None else offset_or_none(state.log.end(plan.isolation_level))
        if start is None or end is None:
            outside.append(f"{offset.topic_partition} cannot be read")
        elif not start <= offset.offset <= end:
            outside.append(f"{offset.topic_partition} at {offset.offset:,}, and the log has {start:,} to {end:,}")
    if outside:
        raise StalePlanError(
            f"Cluster {new.name!r}: expected every new offset inside its log, found {some_of(outside)}. Nothing was "
            "written.",
            fix="Compare again, and draft a new plan.",
        )


def require_no_members(new: Snapshot, group: str) -> GroupState | None:
    """Return the connector's group on the new cluster, which may have no members; None if it cannot be read.

    Raises:
        GroupActiveError: It has members.
    """
    state = new.group(group)
    if state is None or state.error is not None:
        return None
    if has_members(state.state):
        raise GroupActiveError(
            f"Group {group!r}: expected no members, found the group {state.state}: a task of the connector still "
            "reads. Nothing was written.",
            fix="Wait until the tasks have ended, or restart the workers that still run them; then run the same "
            "command again.",
        )
    return state


def require_same(connector: Connector, group: GroupState | None) -> None:
    """Require that the group on the new cluster agrees with the workers, as far as they report offsets.

    Raises:
        ApplyError: It has other offsets.
    """
    commits = {} if group is None else group.commits
    if group is not None and connector.offsets and commits != connector.offsets:
        rows = apart(commits, connector.offsets, "there")
        raise reads_another_cluster(connector, f"has {some_of(rows)}. Nothing was written")


def reads_another_cluster(connector: Connector, state: str) -> ApplyError:
    return ApplyError(
        f"{connector.uri}: expected that group {connector.group!r} on the new Kafka cluster holds the offsets that the "
        f"workers tell, found that it {state}: the connector reads another cluster.",
        fix="Let the connector read the new cluster (bootstrap.servers of its workers, or of consumer.override and "
        "admin.override), then draft the plan again. Roll back what was written.",
    )


def apart(found: Offsets, expected: Offsets, word: str) -> list[str]:
    """List the partitions in which both differ: the found offset and, after `word`, the expected one."""
    return [
        f"{at} at {offset_text(found.get(at))}, {word} {offset_text(expected.get(at))}"
        for at in sorted({*found, *expected})
        if found.get(at) != expected.get(at)
    ]


def some_of(rows: list[str]) -> str:
    return first_of(rows, _NAMED, between="; ")


def _stale(connector: Connector, expected: str) -> StalePlanError:
    return StalePlanError(
        f"{connector.uri}: expected {expected}. Nothing was written.",
        fix="Find out who has changed the connector since, then draft the plan again.",
    )


def offset_text(offset: int | None) -> str:
    return "nothing" if offset is None else f"{offset:,}"
