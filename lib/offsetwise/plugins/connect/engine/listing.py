"""Lists the connectors of a Connect cluster. Format: `ConnectorsResource.listConnectors`, expanded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from offsetwise.client_properties.connectors import ConnectorAddress
from offsetwise.errors import OffsetwiseError
from offsetwise.plugins.connect.engine.reading import brokers_of, config_of, status_of, unknown_answer
from offsetwise.plugins.connect.engine.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedConnector:
    address: ConnectorAddress
    is_sink: bool
    state: str
    """State in Kafka Connect's terms."""
    tasks: int
    topics: str
    """The topics of a sink, or their pattern, as in its configuration."""
    brokers: str | None
    """Brokers in its own client configuration; None if it reads the workers' cluster."""
    error: str = ""
    """Why it cannot be moved as it is configured, as a sentence; empty if there is no known reason."""


def listed_connectors(workers: Workers) -> tuple[ListedConnector, ...]:
    """Return the connectors of a Connect cluster, sorted by name.

    Raises:
        StorageError: No worker answers, or the answer cannot be used.
    """
    body = workers.listed()
    if not isinstance(body, dict):
        raise unknown_answer(workers.address, "the connectors by name, with info and status,")
    return tuple(_connector(workers.address, str(name), body[name]) for name in sorted(body))


def _connector(workers: ConnectorAddress, name: str, body: Any) -> ListedConnector:
    address = replace(workers, connector=name)
    members: Mapping[str, Any] = body if isinstance(body, dict) else {}
    config = config_of(address, members.get("info"))
    state, tasks, is_sink = status_of(address, members.get("status"))
    brokers, error = None, ""
    try:
        brokers = brokers_of(address, config)
    except OffsetwiseError as found:
        error = found.problem
    return ListedConnector(
        address=address,
        is_sink=is_sink,
        state=state,
        tasks=len(tasks),
        topics=config.get("topics") or config.get("topics.regex") or "",
        brokers=brokers,
        error=error,
    )
