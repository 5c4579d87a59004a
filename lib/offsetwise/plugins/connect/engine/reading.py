"""Reads one connector: its state, before and after its offsets, and what is reliable of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from offsetwise.client_properties.connectors import ConnectorAddress
from offsetwise.errors import CheckpointError, OutsideRootsError, StorageError
from offsetwise.model import Checkpoint, CheckpointSource, Problem, SourcePosition
from offsetwise.plugins.connect.engine.details import ConnectDetails
from offsetwise.plugins.connect.engine.findings import connector_running, connector_source
from offsetwise.plugins.connect.engine.offsets import Offsets, entries_of, request_body, sink_offsets
from offsetwise.plugins.connect.engine.workers import Workers, away_sentence
from offsetwise.wording import many

STOPPED: Final = "STOPPED"
_SINK: Final = "sink"
_STATES: Final = frozenset({STOPPED, "RUNNING", "PAUSED", "FAILED", "UNASSIGNED", "RESTARTING"})
_NAMED: Final = 4
_GROUP: Final = "consumer.override.group.id"
_SERVERS: Final = "override.bootstrap.servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    uri: str
    name: str
    workers: Workers
    is_sink: bool
    not_stopped: str
    """Evidence that it is not stopped, such as its state; empty if it is stopped."""
    offsets: Offsets
    """Offsets of a stopped sink; otherwise empty."""
    entries: tuple[Any, ...]
    """Offset entries of a source, as reported."""
    group: str
    """The consumer group that stores the offsets of a sink."""
    elsewhere: str | None
    """Brokers in the connector's own client configuration; None if it reads the workers' cluster."""


def read_connector(uri: str, engine: str, *, roots: Sequence[str] | None = None) -> Checkpoint:
    """Read a connector.

    Args:
        uri: `connect+http://HOST:PORT,HOST:PORT/connectors/NAME`.
        engine: Name of the engine in files.
        roots: The connectors that may be read, each with its credentials; None if a person named the URI.

    Raises:
        OutsideRootsError: It is not one of the roots.
        StorageError: No worker answers, or the answer cannot be used.
        CheckpointError: Its offsets cannot be used, or it has none.
    """
    connector = observe(_address(uri, roots))
    if connector.is_sink and not connector.not_stopped and not connector.offsets:
        raise CheckpointError(
            f"{connector.uri}: expected offsets, found none: the connector is stopped and has committed nothing. No "
            "position was used.",
            fix="Let the connector read and commit (offset.flush.interval.ms) before it is stopped; or let it begin on "
            "the new workers without offsets, where its consumer's auto.offset.reset says: earliest, unless stated.",
        )
    return Checkpoint(
        uri=connector.uri,
        engine=engine,
        job_id=connector.name,
        restart=_restart(connector),
        sources=(_source(connector),),
        problems=tuple(_problems(connector)),
        pins=((connector.name, _digest(connector)),),
        details=ConnectDetails(),
    )


def observe(address: ConnectorAddress) -> Connector:
    """Read a connector's state and offsets from its workers; the state is read before and after the offsets.

    Raises:
        StorageError: No worker answers, or the answer cannot be used; `MissingError` if there is no such connector.
        CheckpointError: An offset cannot be used.
    """
    workers = Workers.of(address)
    workers.require_connector()
    config = config_of(address, workers.get())
    is_sink, not_stopped = _state(address, workers.get("/status"))
    answer = workers.get("/offsets") if not is_sink or not not_stopped else {"offsets": []}
    if not not_stopped:
        _, later = _state(address, workers.get("/status"))
        not_stopped = later and f"{later} now, and was stopped a moment ago"
    try:
        offsets = sink_offsets(answer) if is_sink and not not_stopped else {}
        entries = () if is_sink else tuple(entries_of(answer))
    except ValueError as error:
        raise CheckpointError(
            f"{address.uri}: expected the offsets of a connector as Kafka Connect tells them; {error}. No position was "
            "used.",
            fix="Ask the worker yourself, GET /connectors/NAME/offsets, and correct the offset that is named: PATCH "
            "/connectors/NAME/offsets.",
        ) from error
    return Connector(
        uri=address.uri,
        name=address.connector,
        workers=workers,
        is_sink=is_sink,
        not_stopped=not_stopped,
        offsets=offsets,
        entries=entries,
        group=config.get(_GROUP) or f"connect-{address.connector}",
        elsewhere=brokers_of(address, config),
    )


def _address(uri: str, roots: Sequence[str] | None) -> ConnectorAddress:
    root = uri if roots is None else next((root for root in roots if root.partition("?")[0] == uri), None)
    if root is None:
        raise OutsideRootsError(
            f"{uri[:300]!r}: expected a connector that the migration file names, found another one. Nothing was read.",
            fix="Name it under `connect` in the migration file: name, urls, and connector.",
        )
    try:
        return ConnectorAddress.parse(root)
    except ValueError as error:
        raise StorageError(
            f"{uri.partition('?')[0][:300]!r}: {error}, found another form. Nothing was read.",
            fix="Write connect+http://HOST:PORT/connectors/NAME, several workers with a comma between them.",
        ) from error


def config_of(address: ConnectorAddress, body: Any) -> Mapping[str, str]:
    """Return the configuration of a connector.

    Raises:
        StorageError: It is another answer.
    """
    config = body.get("config") if isinstance(body, dict) else None
    if not isinstance(config, dict) or body.get("name") != address.connector:
        raise unknown_answer(address, "name and config")
    return {key: value for key, value in config.items() if isinstance(value, str)}


def brokers_of(address: ConnectorAddress, config: Mapping[str, str]) -> str | None:
    """Return the brokers in a connector's own configuration; workers read its offsets as in `Worker.adminConfigs`.

    Raises:
        CheckpointError: It reads other brokers than those with its offsets.
    """
    consumer, admin = (config.get(f"{client}.{_SERVERS}") for client in ("consumer", "admin"))
    if consumer != admin:
        raise CheckpointError(
            f"{address.uri}: expected one Kafka cluster, found consumer.{_SERVERS} {consumer or 'not stated'} and "
            f"admin.{_SERVERS} {admin or 'not stated'}: the connector reads the one, and its workers tell and change "
            "offsets on the other. No position was used.",
            fix="State both alike in the connector's configuration; or move its group instead: --group connect-NAME, "
            "while the connector is STOPPED.",
        )
    return consumer


def status_of(address: ConnectorAddress, body: Any) -> tuple[str, list[Any], bool]:
    """Return the state of a connector, its tasks as reported, and whether it is a sink.

    Raises:
        StorageError: It is not an answer to `GET /connectors/NAME/status`.
    """
    connector = body.get("connector") if isinstance(body, dict) else None
    state = connector.get("state") if isinstance(connector, dict) else None
    tasks = body.get("tasks") if isinstance(body, dict) else None
    kind = body.get("type") if isinstance(body, dict) else None
    if state not in _STATES or not isinstance(tasks, list) or kind not in (_SINK, "source"):
        raise unknown_answer(address, "state, tasks and type")
    return str(state), tasks, kind == _SINK


def _state(address: ConnectorAddress, body: Any) -> tuple[bool, str]:
    state, tasks, is_sink = status_of(address, body)
    if state != STOPPED:
        return is_sink, state
    return is_sink, f"{STOPPED} and still has {many(len(tasks), 'task')}" if tasks else ""


def unknown_answer(address: ConnectorAddress, expected: str) -> StorageError:
    return StorageError(
        f"{address.uri}: expected {expected} of a connector as Kafka Connect tells them, found another answer. Nothing "
        "was read.",
        fix="Ask the worker yourself, GET /connectors/NAME/status: an address of a proxy or of another service answers "
        "otherwise than a worker.",
    )


def _source(connector: Connector) -> CheckpointSource:
    if not connector.is_sink:
        return CheckpointSource(
            index=0, id=connector.name, kind="other", raw=json.dumps(connector.entries, ensure_ascii=False)
        )
    positions = tuple(
        SourcePosition(topic=at.topic, partition=at.partition, offset=offset)
        for at, offset in connector.offsets.items()
    )
    return CheckpointSource(index=0, id=connector.name, kind="kafka", positions=positions)


def _problems(connector: Connector) -> Iterator[Problem]:
    if not connector.is_sink:
        yield from connector_source(connector.name, len(connector.entries))
    elif connector.not_stopped:
        yield from connector_running(connector.name, connector.not_stopped)


def _restart(connector: Connector) -> str:
    away = away_sentence(connector.workers)
    if not connector.is_sink:
        return f"Source connector {connector.name}: it goes on in another system, after its own offsets.{away}"
    if connector.not_stopped:
        return f"Connector {connector.name} is {connector.not_stopped}: where it goes on is unknown.{away}"
    shown = [f"{at} at {offset:,}" for at, offset in connector.offsets.items()]
    more = [f"and {many(len(shown) - _NAMED, 'more partition')}"] if len(shown) > _NAMED else []
    return f"Connector {connector.name} is STOPPED and goes on with {', '.join([*shown[:_NAMED], *more])}.{away}"


def _digest(connector: Connector) -> str:
    data = (
        request_body(dict(connector.offsets))
        if connector.is_sink
        else json.dumps(connector.entries, sort_keys=True).encode()
    )
    return hashlib.sha256(data + connector.not_stopped.encode()).hexdigest()
