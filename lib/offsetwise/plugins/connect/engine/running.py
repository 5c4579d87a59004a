"""A running connector as its workers report it: its state, its tasks, and its committed offsets.

Format of the answers: `ConnectorStateInfo` and `ConnectorOffsets` of Kafka Connect. The committed offsets of a running
connector are not positions to move, since it has written more than that; they show its progress.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from offsetwise.client_properties.connectors import CONNECTOR, ConnectorAddress
from offsetwise.client_properties.sign_on import SignOn
from offsetwise.engines.rest import JobAddress
from offsetwise.errors import CheckpointError, UsageError
from offsetwise.plugins.connect.engine.offsets import Offsets, sink_offsets
from offsetwise.plugins.connect.engine.reading import brokers_of, config_of, status_of
from offsetwise.plugins.connect.engine.workers import Workers

RUNNING: Final = "RUNNING"
_PATH: Final = re.compile(r"(.*)/connectors/([^/]+)(?:/status|/offsets|/config|/tasks)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningConnector:
    name: str
    state: str
    tasks: Mapping[str, int]
    """Number of tasks by state."""
    is_sink: bool
    offsets: Offsets
    """Committed offsets of a sink."""
    cluster_id: str | None
    """Id of the Kafka cluster that it reads; None if it has brokers of its own, or its workers do not report it."""


def parse_address(text: str) -> ConnectorAddress:
    """Parse the address of a connector in the REST API of a worker, `http://HOST:PORT/connectors/NAME`.

    Raises:
        UsageError: It is another address.
    """
    address = JobAddress.parse(text)
    match = _PATH.fullmatch(address.path)
    name = "" if match is None else unquote(match[2])
    if match is None or not re.match(CONNECTOR, name):
        raise UsageError(
            f"--job: expected the address of a connector, found one that ends with {text[-60:]!r}. Nothing was "
            "contacted.",
            fix="Give http://HOST:PORT/connectors/NAME of a worker.",
        )
    return ConnectorAddress(workers=(f"{address.origin}{match[1]}",), connector=name, sign_on=SignOn())


def read_running(address: ConnectorAddress) -> RunningConnector:
    """Read a running connector from its workers.

    Raises:
        SecretError: A reference to a credential cannot be resolved.
        StorageError: No worker answers, or the answer cannot be used; `MissingError` if there is no such connector.
        CheckpointError: Its offsets cannot be used.
    """
    workers = Workers.of(address)
    elsewhere = brokers_of(address, config_of(address, workers.get()))
    state, tasks, is_sink = status_of(address, workers.get("/status"))
    try:
        offsets = sink_offsets(workers.get("/offsets")) if is_sink else {}
    except ValueError as error:
        raise CheckpointError(
            f"{address.uri}: expected the offsets of a connector as Kafka Connect reports them; {error}. Where it "
            "began is not known.",
            fix="Ask the worker yourself: GET /connectors/NAME/offsets.",
        ) from error
    return RunningConnector(
        name=address.connector,
        state=state,
        tasks=Counter(str(task.get("state") if isinstance(task, dict) else None)[:40] for task in tasks),
        is_sink=is_sink,
        offsets=offsets,
        cluster_id=workers.cluster_id if elsewhere is None else None,
    )
