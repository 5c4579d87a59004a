"""Sends requests that change a Kafka cluster only over a connection whose broker has just confirmed the cluster's id.

A name in `bootstrap.servers`, and the address of any broker behind it, may lead elsewhere from one connection to the
next: to an old cluster while a name server still answers with it, or through a load balancer. So the cluster id from
another connection proves nothing about this one. Here the broker is asked for it on the very connection that carries
the change, before and after; and during a change that connection is never reopened: if it breaks, what was sent has no
answer, and nothing more is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka import errors
from kafka.protocol.metadata import MetadataRequest

from offsetwise.plugins.kafka.stream.wire import Wire
from offsetwise.transactions.observed import UnsupportedBrokerError


class UnsentError(Exception):
    """There is no connection to the broker. Nothing was sent."""


class OtherClusterError(Exception):
    """The connection leads to another cluster. Nothing was sent over it.

    Args:
        cluster_id: The cluster id that the broker returned.
    """

    def __init__(self, cluster_id: str | None) -> None:
        super().__init__(cluster_id)
        self.cluster_id = cluster_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    responses: tuple[Any | None, ...]
    """In the order of the requests. None if there was no answer: it may have arrived nevertheless."""
    after: str | None
    """The cluster id returned on the connection after them; None if it broke before."""


def send(wire: Wire, node: int, requests: Sequence[Any], cluster_id: str | None) -> Responses:
    """Send requests to one broker, one after another, over a connection to the reviewed cluster.

    Args:
        wire: The client.
        node: The broker's id.
        requests: The requests that change something.
        cluster_id: Id of the reviewed cluster.

    Raises:
        OtherClusterError: The connection leads to another one. Nothing was sent.
        UnsentError: There is no connection. Nothing was sent.
        UnsupportedBrokerError: The broker does not support such a request. Nothing was sent.
    """
    timeout_ms = max(int(wire.deadline.left_s() * 1000), 1)

    async def sent() -> Responses:
        try:
            connection = wire.manager.get_connection(node)
            actual_id = (await connection.send_request(_identify(), request_timeout_ms=timeout_ms)).cluster_id
        except errors.KafkaError as error:
            raise UnsentError(str(error)) from error
        if actual_id is None or actual_id != cluster_id:
            raise OtherClusterError(actual_id)
        waiting: deque[Any] = deque()
        responses: list[Any | None] = []
        for request in requests:
            while connection.paused and waiting:  # it accepts a limited number of requests in flight
                responses.append(await _answer(waiting.popleft()))
            waiting.append(connection.send_request(request, request_timeout_ms=timeout_ms))
        while waiting:
            responses.append(await _answer(waiting.popleft()))
        last = await _answer(connection.send_request(_identify(), request_timeout_ms=timeout_ms))
        return Responses(responses=tuple(responses), after=None if last is None else last.cluster_id)

    try:
        answered: Responses = wire.manager.run(sent)
    except errors.UnsupportedVersionError as error:
        raise UnsupportedBrokerError(str(error)) from error
    return answered


def _identify() -> Any:
    return MetadataRequest(topics=[], allow_auto_topic_creation=False, min_version=2)


async def _answer(future: Any) -> Any | None:
    try:
        return await future
    except errors.UnsupportedVersionError:
        raise
    except errors.KafkaError:
        return None
