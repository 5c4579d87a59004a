"""Proxies of a cluster's brokers that swallow requests to end a transaction, or their replies."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from offsetwise.lab.brokers import free_ports

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

    bootstrap: str
    fault: Fault | None = None
    ended: list[int] = field(default_factory=list)
    """The versions of the requests to end a transaction that came."""


@contextmanager
def proxied(ports: Sequence[int]) -> Iterator[Proxy]:
    """Stand between clients and the brokers at these ports; the brokers' addresses in answers are those of proxies."""
    own = free_ports(len(ports))
    names = [(_address(port), _address(mine)) for port, mine in zip(ports, own, strict=True)]
    made = Proxy(bootstrap=f"127.0.0.1:{own[0]}")
    ready = threading.Event()
    stopping: list[Callable[[], object]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        stopping.append(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
        servers = [
            await asyncio.start_server(partial(_client, made, port, names), "127.0.0.1", mine)
            for port, mine in zip(ports, own, strict=True)
        ]
        ready.set()
        await stop.wait()
        for server in servers:
            server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield made
    finally:
        stopping[0]()
        thread.join(20)


def _address(port: int) -> bytes:
    return b"127.0.0.1" + struct.pack(">i", port)


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(4)
    return head, await reader.readexactly(struct.unpack(">i", head)[0])


async def _client(
    proxy: Proxy,
    port: int,
    names: list[tuple[bytes, bytes]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    from_broker, to_broker = await asyncio.open_connection("127.0.0.1", port)
    lost: set[int] = set()

    async def up() -> None:
        while True:
            head, body = await _frame(reader)
            key, version, number = struct.unpack(">hhi", body[:8])
            if key == END_TXN:
                proxy.ended.append(version)
                fault, proxy.fault = proxy.fault, None
                if fault is Fault.SWALLOW:
                    continue
                if fault is Fault.LOSE:
                    lost.add(number)
            to_broker.write(head + body)
            await to_broker.drain()

    async def down() -> None:
        while True:
            head, body = await _frame(from_broker)
            if struct.unpack(">i", body[:4])[0] in lost:
                return
            for theirs, ours in names:
                body = body.replace(theirs, ours)
            writer.write(head + body)
            await writer.drain()

    tasks = [asyncio.ensure_future(up()), asyncio.ensure_future(down())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (writer, to_broker):
            each.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
