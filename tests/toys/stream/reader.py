"""Reads a shelf of tapes: one file of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from offsetwise.config import ClusterConfig
from offsetwise.model import Cluster, PartitionState, Snapshot, TopicPartition, TopicState
from offsetwise.ports.log_observations import SeenLog
from tests.toys.stream.spec import RELABELLED, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """What one shelf said."""

    whole: Snapshot

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def cluster_id(self) -> str | None:
        return self.whole.cluster_id

    def snapshot(
        self,
        topics: Collection[str] | None,
        groups: Collection[str] | None,  # noqa: ARG002 - there are none
        *,
        if_there: Collection[str] = (),  # noqa: ARG002 - a tape that is not there is left out
    ) -> Snapshot:
        kept = tuple(each for each in self.whole.topics if topics is None or each.name in topics)
        return replace(self.whole, topics=kept)


def read_whole(
    cluster: Cluster,
    config: ClusterConfig,
    *,
    topics: tuple[str, ...] | None,  # noqa: ARG001 - it is one file
    groups: tuple[str, ...] | None,  # noqa: ARG001 - there are none
    mirror: bool = True,  # noqa: ARG001 - tapes have none
    timeout_s: float = 20,  # noqa: ARG001 - a file answers at once
) -> Shelf:
    body = json.loads(Path(config.properties["shelf"]).read_text())
    tapes = tuple(
        TopicState(
            name=name,
            id=f"{body['id']}-{name}",
            partitions=tuple(
                PartitionState(partition=number, log_start=parse(first), hw=parse(end), lso=parse(end))
                for number, (first, end) in enumerate(sides)
            ),
            config=((RELABELLED, str(body[RELABELLED])),),
        )
        for name, sides in body["tapes"].items()
    )
    now = datetime.now(UTC).isoformat()
    return Shelf(
        whole=Snapshot(
            cluster=cluster, name=config.name, alias=config.alias, cluster_id=body["id"], taken_at=now, topics=tapes
        )
    )


def log_ranges(config: ClusterConfig, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, SeenLog]:
    found = read_whole(Cluster.OLD, config, topics=None, groups=None).whole.partitions()
    logs = {key: found[key] for key in partitions if key in found}
    return {key: SeenLog(log_start=log.log_start, hw=log.hw, lso=log.lso) for key, log in logs.items()}
