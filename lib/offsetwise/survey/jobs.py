from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Final

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.registry import engine_of, engines
from offsetwise.errors import OffsetwiseError
from offsetwise.findings import describe
from offsetwise.model import (
    AnyPosition,
    Checkpoint,
    Cluster,
    IsolationLevel,
    LogRange,
    Severity,
    Snapshot,
    TopicPartition,
)
from offsetwise.survey.results import SurveyedCheckpoint, SurveyedConnector, SurveyedGroup
from offsetwise.translation.belongs import belongs_to
from offsetwise.translation.query import Query, QuerySource
from offsetwise.wording import many

Logs = Mapping[Cluster, Mapping[TopicPartition, LogRange]]
"""The logs of the partitions of the clusters that were read."""
Positions = Mapping[TopicPartition, AnyPosition]
"""The positions of a checkpoint; empty if its job commits to no consumer group."""

BATCHES: Final = 2
"""For an engine that works in batches: the pending one, and the last committed one."""
NAMES: Final = {Cluster.OLD: "old", Cluster.NEW: "new"}
_LABEL: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")
"""The names that a migration file accepts."""
_SHARED: Final = "it is a share group, which `compare --group` reads and no plan moves"


def read_job(name: str, uri: str, root: str, *, logs: Logs) -> tuple[SurveyedCheckpoint, Positions]:
    known = SurveyedCheckpoint(name=name, uri=uri)
    if _LABEL.fullmatch(uri[-200:]) is None:
        return replace(known, left_out="its path has characters that a migration file does not take"), {}
    try:
        read = read_checkpoint(uri, roots=(root,), history=BATCHES)
    except OffsetwiseError as error:
        return replace(known, left_out=error.problem), {}
    at = {position.topic_partition: position.offset for source in read.sources for position in source.positions}
    checkpoint = _shown(replace(known, engine=read.engine, job_id=read.job_id), read, at, logs)
    return checkpoint, at if engine_of(read.engine).commits_to_group else {}


def _shown(known: SurveyedCheckpoint, read: Checkpoint, at: Positions, logs: Logs) -> SurveyedCheckpoint:
    details = read.details
    checkpoint = replace(
        known,
        problems=tuple(
            problem.message for problem in read.problems if describe(problem.code).severity is Severity.BLOCKS
        ),
        sources=len(read.sources),
        topics=tuple(sorted({partition.topic for partition in at})),
        partitions=len(at),
        shards=sum(len(source.shards) for source in read.sources),
        stateful=details.stateful,
        watermark=details.has_watermark,
        transactional_id_prefixes=details.transactional_id_prefixes,
    )
    if not at:
        shards = many(checkpoint.shards, "position") if checkpoint.shards else None
        reason = f"it has {shards} in shards, and init surveys clusters of Kafka" if shards else ""
        return replace(checkpoint, left_out=reason or " ".join(checkpoint.problems) or "it has no Kafka position")
    if len(logs) < len(Cluster):
        return replace(checkpoint, reason="One of the clusters could not be read.")
    of = QuerySource(source="", isolation=IsolationLevel.READ_UNCOMMITTED)
    positions = (
        Query(
            of=of,
            topic=partition.topic,
            partition=partition.partition,
            new_topic=partition.topic,
            offset=offset,
            old=logs[Cluster.OLD].get(partition),
            new=logs[Cluster.NEW].get(partition),
        )
        for partition, offset in at.items()
    )
    belongs = belongs_to(positions, planned_at_ms=read.restart_planned_ms, names=NAMES)
    why = belongs.reason if belongs.cluster is Cluster.NEW else None
    return replace(checkpoint, belongs_to=belongs.cluster, reason=belongs.reason, left_out=why)


def surveyed_groups(old: Snapshot | None, pairs: Mapping[str, str]) -> tuple[tuple[SurveyedGroup, ...], int]:
    """Return the groups with commits in mirrored topics, and the number of other groups."""
    surveyed = []
    groups = old.groups if old is not None else ()
    for group in groups:
        read = [offset for offset in group.positions if offset.topic in pairs]
        if read:
            topics = tuple(sorted({offset.topic for offset in read}))
            known = SurveyedGroup(name=group.name, topics=topics, partitions=len(read), state=group.state)
            surveyed.append(replace(known, left_out=_SHARED if group.start_offsets else _no_job(group.name)))
    return tuple(surveyed), len(groups) - len(surveyed)


def _no_job(name: str) -> str | None:
    for engine in engines():
        if engine.own_groups and name.startswith(engine.own_groups):
            return f"{engine.label} reads with it; the job's positions are in its checkpoint"
    return (
        None
        if _LABEL.fullmatch(name)
        else "its name has more than 200 characters, or one that a migration file does not take"
    )


def told_groups(
    groups: Sequence[SurveyedGroup], surveyed: Iterable[tuple[SurveyedCheckpoint, Positions]], old: Snapshot | None
) -> tuple[tuple[SurveyedGroup, ...], tuple[SurveyedCheckpoint, ...]]:
    """Return the groups and checkpoints with the group that the job of each checkpoint commits to.

    It is known if exactly one group has the checkpoint's positions as offsets, unless all are at the ends of their
    logs, like those of everybody who has read everything. Consumers that stopped at the same time as the job may be
    there too: a group with subscribed consumers belongs to them, and of several groups at these positions none is taken
    for the job's. Other offsets in the same partitions are a hint.
    """
    jobs = {group.name for group in groups if group.left_out is None}
    committed: dict[frozenset[TopicPartition], list[tuple[str, Positions]]] = defaultdict(list)
    for group in old.groups if old is not None else ():
        if group.name in jobs:
            at = group.commits
            committed[frozenset(at)].append((group.name, at))
    consumers = {group.name for group in (old.groups if old is not None else ()) if group.subscribed}
    ends = {at: state.hw for at, state in (old.partitions() if old is not None else {}).items()}
    owners: dict[str, str] = {}
    checkpoints = []
    for checkpoint, positions in surveyed:
        same = committed.get(frozenset(positions), []) if positions and checkpoint.left_out is None else []
        exact = [
            name
            for name, at in same
            if at == positions and any(at[partition] != ends.get(partition) for partition in at)
        ]
        owned = [name for name in exact if name not in consumers]
        sure = owned[0] if len(owned) == 1 else None
        owners |= {} if sure is None else {sure: checkpoint.name}
        hints = () if sure else tuple(name for name, _ in same)
        checkpoints.append(replace(checkpoint, commits_to=sure, may_commit_to=hints))
    return tuple(
        replace(group, left_out=f"the job of checkpoint {owners[group.name]} commits to it, at exactly its positions")
        if group.name in owners
        else group
        for group in groups
    ), tuple(checkpoints)


def without_connectors(
    groups: Sequence[SurveyedGroup], connectors: Iterable[SurveyedConnector]
) -> tuple[SurveyedGroup, ...]:
    """Return the groups with those of sink connectors marked as no jobs of their own."""
    owners = {
        connector.group or f"connect-{connector.connector}": connector.name
        for connector in connectors
        if connector.kind == "sink" and connector.cluster is Cluster.OLD
    }
    return tuple(
        replace(group, left_out=f"it holds the offsets of the connector {owners[group.name]}")
        if group.name in owners and group.left_out is None
        else group
        for group in groups
    )


def with_names(
    connectors: Iterable[SurveyedConnector], checkpoints: Iterable[SurveyedCheckpoint]
) -> tuple[SurveyedConnector, ...]:
    """Return the connectors with unique names; connectors of the old and the new cluster may have one name."""
    names = {checkpoint.name for checkpoint in checkpoints}
    return tuple(replace(connector, name=unused(connector.name[:190], names)) for connector in connectors)


def unused(name: str, names: set[str]) -> str:
    """Return a name that is not in `names`, and add it: the name itself, or with a number as suffix."""
    free = next(
        candidate for candidate in chain((name,), (f"{name}-{number}" for number in count(2))) if candidate not in names
    )
    names.add(free)
    return free
