"""What stands between a client and brokers, sees each request and each answer, and may change them."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from offsetwise.lab.brokers import free_ports


@dataclass(frozen=True, slots=True)
class Request:
    """A client's request, by Kafka's numbers."""

    api: int
    version: int
    number: int
    """Which the answer repeats."""


Forwards: TypeAlias = Callable[[Request], bool]
"""Whether a request reaches its broker."""
Answers: TypeAlias = Callable[[Request, bytes], bytes | None]
"""What the client gets for a broker's answer, which begins with the request's number; None to hang up."""


@contextmanager
def relayed(
    ports: Sequence[int], *, forwards: Forwards = lambda _: True, answers: Answers = lambda _, answer: answer
) -> Iterator[str]:
    """Stand between clients and the brokers at these ports; the brokers' addresses in answers are those of relays.

    Yields:
        The first relay's address.
    """
    own = free_ports(len(ports))
    names = [(_address(port), _address(mine)) for port, mine in zip(ports, own, strict=True)]
    ready = threading.Event()
    stopping: list[Callable[[], object]] = []

    def renamed(request: Request, answer: bytes) -> bytes | None:
        for theirs, ours in names:
            answer = answer.replace(theirs, ours)
        return answers(request, answer)

    async def serve() -> None:
        stop = asyncio.Event()
        stopping.append(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
        servers = [
            await asyncio.start_server(partial(_client, port, forwards, renamed), "127.0.0.1", mine)
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
        yield f"127.0.0.1:{own[0]}"
    finally:
        stopping[0]()
        thread.join(20)


def _address(port: int) -> bytes:
    return b"127.0.0.1" + struct.pack(">i", port)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(4)
    return await reader.readexactly(struct.unpack(">i", head)[0])


def _framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


async def _client(
    port: int, forwards: Forwards, answers: Answers, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    from_broker, to_broker = await asyncio.open_connection("127.0.0.1", port)
    sent: dict[int, Request] = {}

    async def up() -> None:
        while True:
            body = await _frame(reader)
            request = Request(*struct.unpack(">hhi", body[:8]))
            sent[request.number] = request
            if forwards(request):
                to_broker.write(_framed(body))
                await to_broker.drain()

    async def down() -> None:
        while True:
            body = await _frame(from_broker)
            answer = answers(sent.pop(struct.unpack(">i", body[:4])[0]), body)
            if answer is None:
                return
            writer.write(_framed(answer))
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
