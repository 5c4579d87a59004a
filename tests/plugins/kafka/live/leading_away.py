"""A proxy of a broker that from one moment on leads to another broker, as a name that is answered otherwise does."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from offsetwise.lab.brokers import free_ports

OFFSET_COMMIT, FIND_COORDINATOR, END_TXN, DELETE_GROUPS = 8, 10, 26, 42
"""Kafka's numbers of requests."""


@dataclass
class LeadingAway:
    """What stands between a client and one of two brokers of the same number."""

    bootstrap: str
    reviewed: int
    """The port of the broker that it leads to at first."""
    other: int
    leads_away: bool = False
    when: Callable[[int], bool] | None = None
    """Whether to lead away now, by the number of a request that is about to be passed on."""
    cuts: bool = True
    """Whether connections that are there break at that moment; else they go on to where they led."""
    requests: list[int] = field(default_factory=list)
    """The numbers of all requests, in the order in which they came."""
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def again(self, when: Callable[[int], bool] | None = None, *, cuts: bool = True) -> None:
        """Lead to the reviewed broker, until a request says otherwise."""
        self.leads_away, self.when, self.cuts = False, when, cuts
        self.requests.clear()

    def after(self, number: int) -> Callable[[int], bool]:
        """Return what leads away when so many requests have been passed on."""
        return lambda _key: len(self.requests) > number


@contextmanager
def leading_away(reviewed: str, other: str) -> Iterator[LeadingAway]:
    """Stand before the brokers at two addresses; the addresses in their answers are the proxy's."""
    (own,) = free_ports(1)
    ports = [int(each.rsplit(":", 1)[1]) for each in (reviewed, other)]
    proxy = LeadingAway(bootstrap=f"127.0.0.1:{own}", reviewed=ports[0], other=ports[1])
    ready, stopping = threading.Event(), list[Callable[[], object]]()

    async def serve() -> None:
        stop = asyncio.Event()
        stopping.append(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
        server = await asyncio.start_server(partial(_client, proxy, own), "127.0.0.1", own)
        ready.set()
        await stop.wait()
        server.close()
        for each in list(proxy.writers):
            each.transport.abort()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield proxy
    finally:
        stopping[0]()
        thread.join(20)


def _address(port: int) -> bytes:
    return b"127.0.0.1" + struct.pack(">i", port)


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(4)
    return head, await reader.readexactly(struct.unpack(">i", head)[0])


async def _client(proxy: LeadingAway, own: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    port = proxy.other if proxy.leads_away else proxy.reviewed
    from_broker, to_broker = await asyncio.open_connection("127.0.0.1", port)
    proxy.writers |= {writer, to_broker}

    async def up() -> None:
        while True:
            head, body = await _frame(reader)
            (key,) = struct.unpack(">h", body[:2])
            proxy.requests.append(key)
            if not proxy.leads_away and proxy.when is not None and proxy.when(key):
                proxy.leads_away = True
                if proxy.cuts:
                    for each in list(proxy.writers):
                        each.transport.abort()
                    return
            to_broker.write(head + body)
            await to_broker.drain()

    async def down() -> None:
        while True:
            head, body = await _frame(from_broker)
            for each in (proxy.reviewed, proxy.other):
                body = body.replace(_address(each), _address(own))
            writer.write(head + body)
            await writer.drain()

    tasks = [asyncio.ensure_future(up()), asyncio.ensure_future(down())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (writer, to_broker):
            each.transport.abort()
            proxy.writers.discard(each)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
