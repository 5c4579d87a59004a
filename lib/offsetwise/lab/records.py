"""The records of the reference migration, the same in every lab.

One order per partition and tick; everything else uses the same ticks. Every value except the identical ones of `beats`
contains a unique serial, so that tests can identify records on both clusters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

START_MS: Final = 1_740_988_800_000
"""2025-03-03 08:00 UTC. Fixed, and in the past for any clock."""
TICK_MS: Final = 1_500
ORDERS_PARTITIONS: Final = 2
SECOND_PARTITION_LESS: Final = 20
"""By how many records `orders-1` is shorter than `orders-0`, at every step."""
PAYMENTS_PARTITIONS: Final = 2
PAYMENTS_PER_TRANSACTION: Final = 10
ABORTED_EVERY: Final = 4
PROFILES: Final = 40
ONCE_EVERY: Final = 5
"""Every fifth profile is written once and so survives compaction."""
BEATS_PER_RUN: Final = 60
"""How many consecutive records are identical, timestamp included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRecord:
    topic: str
    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTransaction:
    records: tuple[SampleRecord, ...]
    aborted: bool


def plain(first: int, end: int) -> Iterator[SampleRecord]:
    for tick in range(first, end):
        for partition in range(ORDERS_PARTITIONS):
            number = tick - partition * SECOND_PARTITION_LESS
            if number >= 0:
                yield _record("orders", partition, tick, number, key=f"customer-{number % 37}", amount=number % 90 + 10)
        profile = f"customer-{tick}" if tick % ONCE_EVERY == 0 else f"customer-{tick % PROFILES}"
        yield _record("profiles", 0, tick, tick, key=profile, visits=tick)
        if tick % 2 == 0:
            yield _record("clicks", 0, tick, tick // 2, key=None, page=f"/item/{tick % 11}")
        if tick % 3 == 0:
            yield _record("audit", 0, tick, tick // 3, key=None, action="login" if tick % 2 else "logout")
        if tick % BEATS_PER_RUN == 0:
            yield _record("beats", 0, tick, tick // BEATS_PER_RUN, key="sensor", state="checked")
        run_ms = _time(tick - tick % BEATS_PER_RUN) + 1
        yield SampleRecord(topic="beats", partition=0, timestamp_ms=run_ms, key=b"sensor", value=b'{"state": "alive"}')


def transactions(first: int, end: int) -> Iterator[SampleTransaction]:
    for tick in range(first, end):
        if tick % PAYMENTS_PER_TRANSACTION == 0:
            numbers = range(tick, tick + PAYMENTS_PER_TRANSACTION)
            number = tick // PAYMENTS_PER_TRANSACTION
            yield SampleTransaction(
                records=tuple(
                    _record(
                        "payments",
                        number % PAYMENTS_PARTITIONS,
                        tick,
                        number,
                        key=f"order-{number}",
                        cents=number * 7 % 5000,
                    )
                    for number in numbers
                ),
                aborted=number % ABORTED_EVERY == ABORTED_EVERY - 1,
            )


def _record(topic: str, partition: int, tick: int, number: int, *, key: str | None, **body: str | int) -> SampleRecord:
    value = {"serial": f"{topic}-{partition}-{number:05}", **body}
    return SampleRecord(
        topic=topic,
        partition=partition,
        timestamp_ms=_time(tick) + partition,
        key=None if key is None else key.encode(),
        value=json.dumps(value).encode(),
    )


def _time(tick: int) -> int:
    return START_MS + tick * TICK_MS
