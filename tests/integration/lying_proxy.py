"""Proxies of a broker whose answers are changed, by what they say and not by their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from kafka.protocol.consumer import FetchResponse, ListOffsetsResponse
from kafka.protocol.metadata import MetadataResponse

from tests.integration.relay import Request, relayed

CLASSES = {each.API_KEY: each for each in (FetchResponse, ListOffsetsResponse, MetadataResponse)}
METADATA, LIST_OFFSETS, FETCH = (each.API_KEY for each in (MetadataResponse, ListOffsetsResponse, FetchResponse))
Lie: TypeAlias = Callable[[Any], None]
"""Changes an answer: kafka-python's message of it."""


@contextmanager
def lying(bootstrap: str, lies: Mapping[int, Lie]) -> Iterator[str]:
    """Stand between clients and a broker, and change its answers.

    Args:
        bootstrap: The broker's address.
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

    with relayed([int(bootstrap.rpartition(":")[2])], answers=answers) as address:
        yield address
