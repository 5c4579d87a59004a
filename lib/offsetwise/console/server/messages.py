"""The messages that a page may send over its websocket, and how often it may rerun its script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from google.protobuf.message import DecodeError
from starlette.types import Message, Receive
from streamlit.logger import get_logger
from streamlit.proto.BackMsg_pb2 import BackMsg

MESSAGES: Final = frozenset({"rerun_script", "stop_script", "app_heartbeat", "file_urls_request"})
"""Messages that a page sends over its websocket, by Streamlit's names."""
OPERATIONS: Final = frozenset({"deferred_file", "dataframe_chunk"})
"""Payloads of its `backend_operation_request`: a deferred download, and further rows of a table."""
APART_S: Final = 2.0
"""Minimum time between two script runs of a person without a role; of the requests in between, the newest is run."""
_RERUN: Final = "rerun_script"
_LOG: Final = get_logger(__name__)


class Messages:
    """The messages of one websocket, without those no page sends, and with few reruns for people without a role.

    A run takes the server's time whoever asks for it, and nothing else limits how often a websocket asks.

    Args:
        receive: Returns the next message.
        may_look: Returns whether the sender has a role now.
    """

    def __init__(self, receive: Receive, may_look: Callable[[], bool]) -> None:
        self._receive = receive
        self._may_look = may_look
        self._coming: asyncio.Task[Message] | None = None
        self._waiting: Message | None = None
        """The newest rerun that came too early."""
        self._next_s = 0.0
        """When the next rerun may be passed on, on the loop's clock."""

    async def __call__(self) -> Message:
        while True:
            message = await self._next()
            if message is None:
                message, self._waiting = self._waiting, None
                if message is not None:
                    return self._run(message)
                continue
            kind, refused = _read(message.get("bytes") or b"")
            if refused is not None:
                _LOG.warning("A message that no page of the console sends was refused: %s", refused)
            elif kind != _RERUN or self._may_look():
                return message
            elif self._left_s() == 0:
                self._waiting = None
                return self._run(message)
            else:
                self._waiting = message

    def close(self) -> None:
        if self._coming is not None:
            self._coming.cancel()

    async def _next(self) -> Message | None:
        """Return the next message; None if a waiting rerun is due first."""
        # Kept from call to call: cancelling a pending receive may lose its message.
        self._coming = self._coming or asyncio.ensure_future(_received(self._receive))
        await asyncio.wait({self._coming}, timeout=None if self._waiting is None else self._left_s())
        if not self._coming.done():
            return None
        message, self._coming = self._coming.result(), None
        return message

    def _left_s(self) -> float:
        return max(self._next_s - asyncio.get_running_loop().time(), 0.0)

    def _run(self, message: Message) -> Message:
        self._next_s = asyncio.get_running_loop().time() + APART_S
        return message


async def _received(receive: Receive) -> Message:
    return await receive()


def _read(content: bytes) -> tuple[str | None, str | None]:
    """Return the kind of a message, and what it requests if no page requests that, else None.

    Anything that is not a message is left to Streamlit.
    """
    message = BackMsg()
    try:
        message.ParseFromString(content)
    except DecodeError:
        return None, None
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        operation = message.backend_operation_request.WhichOneof("payload")
        return kind, None if operation in OPERATIONS else f"{kind}, {operation}"
    return kind, None if kind is None or kind in MESSAGES else kind
