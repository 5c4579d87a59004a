"""ASGI middleware between the network and Streamlit's server that refuses requests a console does not need.

Streamlit itself answers under any Host, lets every page of this machine connect, clears all caches and writes into the
checkout on request, keeps any upload, and serves every file to anyone with its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit import config, runtime
from streamlit.auth_util import get_origin_from_redirect_uri

from offsetwise.console.server import access, headers, identity, uploads
from offsetwise.console.server.access import Role
from offsetwise.console.server.messages import Messages

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_OPEN: Final = frozenset({"_stcore/health", "_stcore/host-config"})
"""Requests of a browser before there is a page. Their answers contain no personal data."""
_UPLOAD: Final = re.compile(r"_stcore/upload_file/([^/]+)/([^/]+)")
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?")


class Gatekeeper:
    """ASGI middleware around all of Streamlit's.

    Args:
        app: The guarded application.
        address: Address that the server listens on.
    """

    def __init__(self, app: ASGIApp, *, address: str) -> None:
        self._app = app
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(HTTPConnection(scope), receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(HTTPConnection(scope), receive, send)
        else:
            await self._app(scope, receive, send)

    @cached_property
    def _public(self) -> str:
        """The origin that people return to after signing in; known once the server has its port."""
        return get_origin_from_redirect_uri() or ""

    @cached_property
    def _local(self) -> frozenset[str]:
        return local_names(self._address)

    @cached_property
    def _names(self) -> frozenset[str]:
        return names(self._address)

    async def _http(self, connection: HTTPConnection, receive: Receive, send: Send) -> None:
        host = self._host(connection)
        base = config.get_option("server.baseUrlPath").strip("/")
        path = connection.scope["path"].strip("/").removeprefix(base).strip("/")
        upload = _UPLOAD.fullmatch(path)
        refused = self._misled(connection, host) or _closed(connection, path, upload)
        hosts = frozenset({host or "", urlsplit(self._public).netloc} - {""})
        answer = _Answer(send, headers.headers(hosts), secure=self._public.startswith("https:"))
        await (refused or self._app)(connection.scope, receive, answer)
        if upload is not None:
            _count_again(*upload.groups())

    async def _websocket(self, connection: HTTPConnection, receive: Receive, send: Send) -> None:
        # A browser always sends the origin. Streamlit would accept a connection without one.
        if "origin" not in connection.headers or self._misled(connection, self._host(connection)) is not None:
            await WebSocketClose(code=1008)(connection.scope, receive, send)
            return
        messages = Messages(receive, lambda: _may_look(connection))
        try:
            await self._app(connection.scope, messages, send)
        finally:
            messages.close()
            _free()

    def _host(self, connection: HTTPConnection) -> str | None:
        sentences = [header.lower() for header in connection.headers.getlist("host")]
        match = _HOST.fullmatch(sentences[0]) if len(sentences) == 1 else None
        return sentences[0] if match is not None and (match[1] or match[2]) in self._names else None

    def _misled(self, connection: HTTPConnection, host: str | None) -> PlainTextResponse | None:
        """Return a refusal for a request with another host name, or from a page of another origin."""
        if host is None:
            return PlainTextResponse(
                f"This console is called {', '.join(sorted(self._names))}, and was asked for under another name. "
                "Nothing was read. Open it under one of these, or correct auth.redirect_uri in Streamlit's secrets.\n",
                403,
            )
        for origin in connection.headers.getlist("origin"):
            page = urlsplit(origin)
            if origin != self._public and not (page.netloc == host and page.hostname in self._local):
                return PlainTextResponse("This console answers its own pages only. Nothing was read.\n", 403)
        return None


class _Answer:
    """Sends an answer with the console's headers. Behind TLS, its cookies are for TLS only."""

    def __init__(self, send: Send, headers: Iterable[tuple[str, str]], *, secure: bool) -> None:
        self._send = send
        self._headers = headers
        self._secure = secure

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in self._headers:
                headers[name] = value
            if self._secure:
                message["headers"] = [(name, _secure(name, value)) for name, value in headers.raw]
        await self._send(message)


def local_names(address: str) -> frozenset[str]:
    """Return the names of a console on its own machine, without ports: a tunnel has a port of its own.

    Args:
        address: Address that it listens on.
    """
    return LOOPBACK_NAMES | ({address} if access.is_loopback(address) else set())


def names(address: str) -> frozenset[str]:
    return local_names(address) | ({urlsplit(get_origin_from_redirect_uri() or "").hostname or ""} - {""})


def _closed(connection: HTTPConnection, path: str, upload: re.Match[str] | None) -> PlainTextResponse | None:
    if path == "auth/logout":
        identity.sign_out(identity.cookie_claims(connection))
    if upload is not None and connection.scope["method"] == "PUT":
        if not (_may_look(connection) and uploads.offered.takes(*upload.groups())):
            return PlainTextResponse(
                "This session was offered no upload, or has too many files. Nothing was kept.\n", 403
            )
    elif path.startswith("_stcore/") and upload is None and path not in _OPEN:
        return PlainTextResponse("There is nothing here.\n", 404)
    elif path.startswith("media/") and not _may_look(connection):
        return PlainTextResponse("Expected somebody with the role viewer. Nothing was read. Sign in.\n", 403)
    return None


def _may_look(connection: HTTPConnection) -> bool:
    return Role.VIEWER in identity.of(identity.cookie_claims(connection)).roles


def _count_again(session: str, file: str) -> None:
    """Stop counting a file that Streamlit refused or has removed."""
    if not runtime.get_instance().uploaded_file_mgr.get_files(session, [file]):
        uploads.offered.removed(session, file)


def _free() -> None:
    """Free the files of all ended sessions: Streamlit keeps them in case a session returns."""
    here = runtime.get_instance()
    for session in uploads.offered.forget_inactive(here.is_active_session):
        here.uploaded_file_mgr.remove_session_files(session)


def _secure(name: bytes, value: bytes) -> bytes:
    return value + b"; Secure" if name == b"set-cookie" and b"; secure" not in value.lower() else value
