"""The positions of a DynamicKafkaSource on the old cluster of the migration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from offsetwise.digits import whole_number
from offsetwise.findings.target_position import no_position
from offsetwise.model import (
    BOUNDED,
    NOWHERE,
    Checkpoint,
    CheckpointSource,
    MarkedPosition,
    Problem,
    SourcePosition,
)
from offsetwise.ports.stream import is_of_several_clusters, kind_of_one_cluster
from offsetwise.wording import many

_Topics = Mapping[str, Mapping[str, str]]
"""By topic and partition: an offset, or another start."""
_TAKE_ANOTHER: Final = "Start from another checkpoint or savepoint, or take a new one of the running job."


def on_cluster(read: Checkpoint, cluster: str | None) -> Checkpoint:
    """Return a checkpoint whose sources of several clusters have the positions on one of them.

    Args:
        read: The checkpoint as it was read.
        cluster: The DynamicKafkaSource's id of the old cluster; None if it is not stated. A source without such a
            cluster is unchanged, and is neither compared nor edited.
    """
    if cluster is None:
        return read
    sources: list[CheckpointSource] = []
    problems = list(read.problems)
    for source in read.sources:
        by_cluster = json.loads(source.raw) if is_of_several_clusters(source.kind) and source.raw else {}
        if cluster not in by_cluster:
            sources.append(source)
            continue
        sources.append(_converted(source, cluster, by_cluster))
        problems += _problems(source, by_cluster[cluster])
    return replace(read, sources=tuple(sources), problems=tuple(problems))


def _converted(source: CheckpointSource, cluster: str, by_cluster: Mapping[str, _Topics]) -> CheckpointSource:
    others = {name: its for name, its in by_cluster.items() if name != cluster}
    starts = sorted(_starts(by_cluster[cluster]))
    return replace(
        source,
        kind=kind_of_one_cluster(source.kind),
        cluster=cluster,
        raw=json.dumps(others, sort_keys=True),
        positions=tuple(
            SourcePosition(topic=topic, partition=partition, offset=offset)
            for topic, partition, start in starts
            if (offset := whole_number(start)) is not None
        ),
        marked=tuple(
            MarkedPosition(topic=topic, partition=partition, starts_at=start)
            for topic, partition, start in starts
            if whole_number(start) is None
        ),
    )


def _starts(topics: _Topics) -> Iterator[tuple[str, int, str]]:
    for topic, partitions in topics.items():
        for partition, start in partitions.items():
            yield topic, int(partition), start.removesuffix(BOUNDED)


def _problems(source: CheckpointSource, topics: _Topics) -> Iterator[Problem]:
    starts = [(f"{topic}-{partition}", start) for topic, its in topics.items() for partition, start in its.items()]
    unread = [name for name, start in starts if start == NOWHERE]
    chosen = [name for name, start in starts if whole_number(start.removesuffix(BOUNDED)) is None and start != NOWHERE]
    bounded = [name for name, start in starts if start.endswith(BOUNDED)]
    if unread:
        yield no_position.problem(
            f"Source {source.id!r} has handed out {_several(unread)}, and no reader keeps a position: after a restore "
            "nobody would read it.",
            fix=_TAKE_ANOTHER,
        )
    if chosen:
        yield no_position.problem(
            f"Source {source.id!r} has no offset for {_several(chosen)}: where it begins is chosen when the job "
            "starts, and is not translated.",
        )
    if bounded:
        yield no_position.problem(
            f"Source {source.id!r} is bounded: {_several(bounded)} ends on the old cluster at an end that is not "
            "translated.",
            fix="Let the bounded job finish on the old cluster.",
        )


def _several(names: list[str]) -> str:
    return names[0] + (f" and {many(len(names) - 1, 'more partition')}" if len(names) > 1 else "")
