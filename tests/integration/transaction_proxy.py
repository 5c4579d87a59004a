"""Proxies of a cluster's brokers that swallow requests to end a transaction, or their replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from tests.integration.relay import Request, relayed

END_TXN = 26


class Fault(StrEnum):
    """What happens to the next request to end a transaction."""

    SWALLOW = "swallow"
    """It does not arrive."""
    LOSE = "lose"
    """It arrives, and its reply does not."""


@dataclass
class Proxy:
    """What stands between a client and the brokers."""

    bootstrap: str = ""
    fault: Fault | None = None
    ended: list[int] = field(default_factory=list)
    """The versions of the requests to end a transaction that came."""


@contextmanager
def proxied(ports: Sequence[int]) -> Iterator[Proxy]:
    """Stand between clients and the brokers at these ports; the brokers' addresses in answers are those of proxies."""
    made = Proxy()
    lost: list[Request] = []

    def forwards(request: Request) -> bool:
        if request.api != END_TXN:
            return True
        made.ended.append(request.version)
        fault, made.fault = made.fault, None
        if fault is Fault.LOSE:
            lost.append(request)
        return fault is not Fault.SWALLOW

    def answers(request: Request, answer: bytes) -> bytes | None:
        return None if any(request is each for each in lost) else answer

    with relayed(ports, forwards=forwards, answers=answers) as made.bootstrap:
        yield made
