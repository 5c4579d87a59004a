from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from offsetwise.client_properties import GivenCluster, servers
from offsetwise.client_properties.connectors import CONNECTOR, ConnectorAddress
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Cluster, Snapshot
from offsetwise.plugins.connect.engine.findings import connector_running
from offsetwise.plugins.connect.engine.listing import ListedConnector, listed_connectors
from offsetwise.plugins.connect.engine.reading import STOPPED, observe
from offsetwise.plugins.connect.engine.workers import Workers
from offsetwise.progress import Progress
from offsetwise.survey.results import SurveyedConnector, Trouble
from offsetwise.wording import many

MOST: Final = 1_000
"""Maximum number of connectors of one Connect cluster."""
Side = Callable[[Workers, ListedConnector], tuple[Cluster | None, str]]
"""Returns which cluster a connector reads, and the evidence for it."""


def surveyed_connectors(
    addresses: Sequence[ConnectorAddress],
    given: Mapping[Cluster, GivenCluster],
    snapshots: Mapping[Cluster, Snapshot | None],
    problems: list[Trouble],
    progress: Progress,
) -> tuple[SurveyedConnector, ...]:
    """List the connectors of workers, and read the offsets of each stopped sink.

    Errors are added to `problems`; the other addresses are read nevertheless.
    """
    ids = {snapshot.cluster_id: side for side, snapshot in snapshots.items() if snapshot is not None}
    brokers = {side: servers(cluster.properties) for side, cluster in given.items()}

    def side_of(workers: Workers, connector: ListedConnector) -> tuple[Cluster | None, str]:
        if connector.brokers is not None:
            named = {name.strip() for name in connector.brokers.split(",")}
            side = next((side for side, known in brokers.items() if named & known), None)
            return side, f"it states the brokers {connector.brokers[:200]}"
        side = None if workers.cluster_id is None else ids.get(workers.cluster_id)
        return side, f"its workers are on Kafka cluster {workers.cluster_id or 'without an id'}"

    results: list[SurveyedConnector] = []
    for number, address in enumerate(addresses):
        progress("read the connectors", number, len(addresses))
        try:
            results += _of_workers(address, side_of, problems)
        except OffsetwiseError as error:
            problems.append(Trouble(problem=error.problem, fix=error.fix))
    if addresses:
        progress("read the connectors", len(addresses), len(addresses))
    return tuple(results)


def _of_workers(address: ConnectorAddress, side_of: Side, problems: list[Trouble]) -> Iterator[SurveyedConnector]:
    workers = Workers.of(address)
    connectors = listed_connectors(workers)
    if not connectors:
        problems.append(
            Trouble(
                problem=f"{address.uri}: expected connectors, found none on these workers.",
                fix="Check the address: each Connect cluster (`group.id` of its workers) has connectors of its own.",
            )
        )
    if len(connectors) > MOST:
        problems.append(
            Trouble(
                problem=f"{address.uri}: {many(len(connectors), 'connector')}, of which the first {MOST:,} were read.",
                fix="Name the others by hand, each below `connect`: name, url and connector.",
            )
        )
    for connector in connectors[:MOST]:
        side, evidence = side_of(workers, connector)
        known = SurveyedConnector(
            name=connector.address.connector,
            connector=connector.address.connector,
            urls=address.workers,
            sign_on=tuple((name, value) for name, value in address.stated.items() if name != "folder"),
            cluster=side,
            kind="sink" if connector.is_sink else "source",
            state=connector.state,
            topics=connector.topics,
            evidence=evidence,
        )
        yield _read(known, connector)


def _read(known: SurveyedConnector, connector: ListedConnector) -> SurveyedConnector:
    name = known.connector
    if not connector.is_sink:
        why = "CONNECTOR_SOURCE: a source connector has no positions in Kafka, and is not moved"
        return replace(known, left_out=why)
    if connector.error:
        return replace(known, left_out=connector.error)
    if known.cluster is None:
        return replace(known, left_out=f"{known.evidence}, which is not known to be one of the two clusters")
    if re.match(CONNECTOR, name) is None:
        return replace(known, left_out="its name has a slash, a control character or more than 180 characters")
    if connector.state != STOPPED or connector.tasks:
        state = connector.state if connector.state != STOPPED else f"STOPPED and has {many(connector.tasks, 'task')}"
        return replace(known, problems=_running(name, state))
    try:
        read = observe(connector.address)
    except OffsetwiseError as error:
        return replace(known, left_out=error.problem)
    if read.not_stopped:
        return replace(known, problems=_running(name, read.not_stopped), group=read.group)
    known = replace(known, partitions=len(read.offsets), group=read.group)
    if not read.offsets and known.cluster is Cluster.OLD:
        return replace(known, left_out="it is stopped and has committed nothing, so there is no position to move")
    return known


def _running(name: str, state: str) -> tuple[str, ...]:
    return tuple(f"{problem.code}: {problem.message}" for problem in connector_running(name, state))
