"""Proxies of brokers whose answers are changed, by what they say and not by their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

from kafka.protocol.admin.groups import DeleteGroupsResponse, DescribeGroupsResponse, ListGroupsResponse
from kafka.protocol.admin.transactions import DescribeProducersResponse, DescribeTransactionsResponse
from kafka.protocol.consumer import FetchResponse, ListOffsetsResponse
from kafka.protocol.consumer.group import OffsetCommitResponse, OffsetFetchResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer.transaction import EndTxnResponse

from tests.integration.relay import Request, relayed

CLASSES: Final[dict[int, Any]] = {
    each.API_KEY: each
    for each in (
        *(DeleteGroupsResponse, DescribeGroupsResponse, DescribeProducersResponse, DescribeTransactionsResponse),
        *(EndTxnResponse, FetchResponse, FindCoordinatorResponse, ListGroupsResponse, ListOffsetsResponse),
        *(MetadataResponse, OffsetCommitResponse, OffsetFetchResponse),
    )
}
METADATA, LIST_OFFSETS, FETCH = (each.API_KEY for each in (MetadataResponse, ListOffsetsResponse, FetchResponse))
OFFSET_FETCH, OFFSET_COMMIT = (each.API_KEY for each in (OffsetFetchResponse, OffsetCommitResponse))
DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS = (
    each.API_KEY for each in (DeleteGroupsResponse, DescribeGroupsResponse, ListGroupsResponse)
)
FIND_COORDINATOR, END_TXN = FindCoordinatorResponse.API_KEY, EndTxnResponse.API_KEY
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS = DescribeProducersResponse.API_KEY, DescribeTransactionsResponse.API_KEY
Lie: TypeAlias = Callable[[Any], None]
"""Changes an answer: kafka-python's message of it."""
_NUMBERS: Final = (-(2**63), -(2**31), -5, -1, 0, 1, 7, 1_000_000, 2**31 - 1, 2**63 - 1)


@contextmanager
def lying(bootstrap: str | Sequence[int], lies: Mapping[int, Lie]) -> Iterator[str]:
    """Stand between clients and brokers, and change their answers.

    Args:
        bootstrap: The broker's address, or the ports of several.
        lies: By Kafka's number of the request; may be changed while clients are connected.

    Yields:
        The address to connect to.
    """

    def answers(request: Request, answer: bytes) -> bytes:
        lie = lies.get(request.api)
        if lie is None:
            return answer
        message = CLASSES[request.api].decode(answer, version=request.version, header=True)
        lie(message)
        return bytes(message.encode(header=True))

    ports = [int(bootstrap.rpartition(":")[2])] if isinstance(bootstrap, str) else bootstrap
    with relayed(ports, answers=answers) as address:
        yield address


def any_lie(chosen: Random) -> Lie:
    """Return what changes one part of each answer: a number, a name, or how much a list holds."""

    def lie(message: Any) -> None:
        changes = list(_changes(message, message.version, chosen))
        if changes:
            chosen.choice(changes)()

    return lie


def _changes(part: Any, version: int, chosen: Random) -> Iterator[Callable[[], None]]:
    for name, field in part.fields.items():
        value = getattr(part, name)
        if name == "throttle_time_ms" or value is None or not field.for_version_q(version):
            continue
        others = _others(value, field.type_str)
        if others:
            yield partial(setattr, part, name, chosen.choice(others))
        for item in value if isinstance(value, list) else ():
            if hasattr(item, "fields"):
                yield from _changes(item, version, chosen)


def _others(value: Any, kind: str) -> Sequence[Any]:
    """Return what a broker might say in the place of a value."""
    if isinstance(value, list):
        return [[], [*value, *value], value[1:], value[::-1]]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [number for number in _NUMBERS if number != value and _fits(number, kind)]
    return ["", f"x{value}", value[:-1]] if isinstance(value, str) else []


def _fits(number: int, kind: str) -> bool:
    bits = int(kind.removeprefix("u").removeprefix("int"))
    lowest = 0 if kind.startswith("u") else -(1 << (bits - 1))
    return lowest <= number < 1 << (bits - 1)
