from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from offsetwise.findings import Fact, Stage, finding
from offsetwise.findings.case import MigrationCase
from offsetwise.model import AnyPosition, Severity, TopicPartition
from offsetwise.model.clusters import has_members
from offsetwise.wording import many

NAME: Final = "connect"
_NAMED: Final = 4


@finding(
    code="CONNECTOR_RUNNING",
    severity=Severity.BLOCKS,
    title="The connector is not stopped, so its offsets are unknown",
    remedy="Stop the connector (PUT /connectors/NAME/stop), wait until its status is STOPPED without tasks, and read "
    "again.",
    rank=1200,
    stage=Stage.READER,
)
def connector_running(connector: str, state: str) -> Iterator[str]:
    """A connector is not STOPPED, or has tasks left.

    Args:
        connector: Its name.
        state: Its state, or other evidence that it is not stopped.
    """
    yield (
        f"Connector {connector} is {state}: what it has written to its sink and not committed yet, nobody tells, so "
        "its offsets are not used."
    )


@finding(
    code="CONNECTOR_SOURCE",
    severity=Severity.BLOCKS,
    title="A source connector has no positions in Kafka",
    remedy="Move a source connector with its own offsets: read them with GET /connectors/NAME/offsets, and PATCH them "
    "to the connector on the new workers.",
    rank=1210,
    stage=Stage.READER,
)
def connector_source(connector: str, partitions: int) -> Iterator[str]:
    yield (
        f"Connector {connector} is a source: its offsets, of {many(partitions, 'partition')}, say how far it has read "
        "another system, and no position in a topic. They are shown and not moved."
    )


@finding(
    code="CONNECTOR_GROUP",
    severity=Severity.BLOCKS,
    title="The connector's group on the old cluster says something else than its workers",
    remedy="Stop the connector and every task of it; or correct `source`, or `job.commits_to`, where the connector "
    "reads another cluster or with another group.",
    rank=1220,
    stage=Stage.MIGRATION,
    engine=NAME,
    needs={Fact.COMMITS},
)
def connector_group(case: MigrationCase) -> Iterator[str]:
    group = case.committed
    if group is None or group.error is not None:
        return
    if has_members(group.state):
        yield (
            f"Group {group.name} on {case.old.name} is {group.state}: it has members, so a task of the connector still "
            "reads and commits."
        )
    here = {row.topic_partition: row.old_offset for row in case.rows if row.old_offset is not None}
    there: Mapping[TopicPartition, AnyPosition] = dict(group.commits)
    apart = [at for at in sorted(here) if there.get(at) != here[at]]
    if apart:
        rows = [
            f"{at} at {here[at]:,}, there {f'{there[at]:,}' if at in there else 'nothing'}" for at in apart[:_NAMED]
        ]
        more = f", and {many(len(apart) - _NAMED, 'more partition')}" if len(apart) > _NAMED else ""
        yield (
            f"The workers tell other offsets than group {group.name} has on {case.old.name}: {'; '.join(rows)}{more}. "
            "The connector went on, or it reads another cluster."
        )
