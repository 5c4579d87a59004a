"""How often a websocket may have its script run: the newest of what came too early, and nothing lost beside it."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest
from starlette.types import Message
from streamlit.proto.BackMsg_pb2 import BackMsg

from offsetwise.console.server import messages
from offsetwise.console.server.messages import Messages
from tests.with_cases import with_cases

APART_S = 0.03


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "APART_S", APART_S)


def rerun(page: str) -> Message:
    message = BackMsg()
    message.rerun_script.page_name = page
    return {"type": "websocket.receive", "bytes": message.SerializeToString()}


def heartbeat() -> Message:
    return {"type": "websocket.receive", "bytes": BackMsg(app_heartbeat=True).SerializeToString()}


END: Message = {"type": "websocket.disconnect", "code": 1000}


def kind(message: Message) -> str:
    if message["type"] != "websocket.receive":
        return str(message["type"])
    read = BackMsg()
    read.ParseFromString(message["bytes"])
    return read.rerun_script.page_name if read.WhichOneof("type") == "rerun_script" else str(read.WhichOneof("type"))


async def handed_on(sent: list[tuple[float, Message]], *, may_look: bool) -> list[tuple[float, str]]:
    """Send messages, each so many seconds after the one before; give what came out, and when the next run may be."""
    queue: asyncio.Queue[Message] = asyncio.Queue()
    here = Messages(queue.get, lambda: may_look)

    async def send() -> None:
        for pause_s, message in sent:
            await asyncio.sleep(pause_s)
            queue.put_nowait(message)

    sending = asyncio.ensure_future(send())
    taken: list[tuple[float, str]] = []
    while not taken or taken[-1][1] != END["type"]:
        message = await here()
        taken.append((here._next_s, kind(message)))  # by its own clock: this machine may be slow in between
    await sending
    here.close()
    return taken


@with_cases("seed", range(12))
def test_whatever_comes_no_two_runs_are_closer_and_the_last_is_the_newest(seed: int) -> None:
    chosen = random.Random(seed)
    pauses = [0.0, 0.001, APART_S / 3, APART_S, 1.5 * APART_S]
    sent = [(chosen.choice(pauses), chosen.choice([rerun(str(n)), heartbeat()])) for n in range(40)]
    sent += [(0.0, rerun("last")), (2 * APART_S, END)]

    taken = asyncio.run(handed_on(sent, may_look=False))

    runs = [(at_s, name) for at_s, name in taken if name.isdigit() or name == "last"]
    assert all(after[0] - before[0] >= APART_S for before, after in pairwise(runs))
    assert runs[-1][1] == "last"
    numbers = [int(name) for _, name in runs[:-1]]
    assert numbers == sorted(set(numbers)), "in the order in which they came, each once"
    assert sum(name == "app_heartbeat" for _, name in taken) == sum(kind(each) == "app_heartbeat" for _, each in sent)


def test_whoever_has_a_role_gets_every_run() -> None:
    sent = [(0.0, rerun(str(number))) for number in range(50)] + [(0.0, END)]

    taken = asyncio.run(handed_on(sent, may_look=True))

    assert [name for _, name in taken] == [*map(str, range(50)), END["type"]]


def test_the_end_of_a_connection_waits_for_no_run() -> None:
    taken = asyncio.run(handed_on([(0.0, rerun("1")), (0.0, rerun("2")), (0.0, END)], may_look=False))

    assert [name for _, name in taken] == ["1", END["type"]]


@with_cases("content", [b"", b"\xff\xff", b"\x0a"])
def test_what_is_no_message_is_left_to_streamlit(content: bytes) -> None:
    message: Message = {"type": "websocket.receive", "bytes": content}

    async def first() -> Message:
        queue: asyncio.Queue[Message] = asyncio.Queue()
        queue.put_nowait(message)
        return await Messages(queue.get, lambda: False)()

    assert asyncio.run(first()) is message


def test_what_no_page_sends_is_refused_whoever_sends_it() -> None:
    clearing = {"type": "websocket.receive", "bytes": BackMsg(clear_cache=True).SerializeToString()}

    taken = asyncio.run(handed_on([(0.0, clearing), (0.0, rerun("1")), (0.0, END)], may_look=True))

    assert [name for _, name in taken] == ["1", END["type"]]
