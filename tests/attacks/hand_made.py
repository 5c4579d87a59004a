"""A client of the console that is no browser: it sends what it likes, and sees everything that the server sends."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

XSRF = "_streamlit_xsrf"
WAIT_S = 120
AGAIN = ForwardMsg.FINISHED_EARLY_FOR_RERUN


@dataclass(frozen=True, slots=True)
class Answer:
    """What an HTTP request got."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def one(self, name: str) -> str:
        """Return the only value of a header; empty if there is none."""
        (value,) = self.all(name) or [""]
        return value


def ask(
    address: str,
    path: str,
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = (),
    host: str | None = None,
    body: bytes = b"",
) -> Answer:
    """Send one request exactly as it is said here, and follow nothing."""
    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=WAIT_S)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for each in (host if host is not None else url.netloc).split("|"):
            connection.putheader("Host", each)
        for name, value in headers:
            connection.putheader(name, value)
        if body or method == "PUT":
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())
    finally:
        connection.close()


@dataclass(slots=True)
class Jar:
    """The cookies of a browser."""

    cookies: dict[str, str] = field(default_factory=dict)

    def take(self, answer: Answer) -> None:
        """Keep what an answer sets, and drop what it deletes."""
        for each in answer.all("set-cookie"):
            name, _, value = each.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
            if "max-age=0" in each.lower():
                del self.cookies[name]

    @property
    def header(self) -> tuple[str, str]:
        """The cookies as they are sent."""
        return "Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def copy(self) -> Jar:
        """Return what somebody has who copied them."""
        return Jar(dict(self.cookies))


def visitor(address: str, *, host: str | None = None) -> Jar:
    """Return the cookies that everybody gets."""
    jar = Jar()
    jar.take(ask(address, "/_stcore/health", host=host))
    return jar


def sign_in_address(cookie_secret: str, provider: str = "default") -> str:
    """Return where the button Sign in leads, as `st.login` makes it."""
    told = {"provider": provider, "exp": int(time.time()) + 120}
    return f"/auth/login?provider={jwt.encode({'alg': 'HS256'}, told, OctKey.import_key(cookie_secret))}"


def sign_in(address: str, cookie_secret: str, who: str) -> Jar:
    """Sign in at the provider, and give the cookies."""
    jar = visitor(address)
    back = consent(address, cookie_secret, who, jar)
    jar.take(ask(address, back, headers=[jar.header]))
    assert "_streamlit_user" in jar.cookies
    return jar


def consent(address: str, cookie_secret: str, who: str, jar: Jar) -> str:
    """Go to the provider and be somebody there; give where the provider sends the browser, not gone to yet."""
    there = ask(address, sign_in_address(cookie_secret), headers=[jar.header])
    assert there.status == 302, there
    jar.take(there)
    to = urlsplit(there.one("location"))
    back = urlsplit(ask(f"http://{to.netloc}", f"{to.path}?{to.query}&as={who}").one("location"))
    return f"{back.path}?{back.query}"


@dataclass(slots=True)
class Page:
    """A session, and what the server has sent of its page."""

    socket: ClientConnection
    session: str = ""
    elements: list[Element] = field(default_factory=list)
    answers: list[ForwardMsg] = field(default_factory=list)

    def send(self, message: BackMsg) -> None:
        """Send a message."""
        self.socket.send(message.SerializeToString())

    def run(self, path: str = "", query: str = "", *, press: str = "", typed: Mapping[str, str] | None = None) -> None:
        """Open a page, or press a button by its id, with what is typed by field; keep what comes until it has run."""
        message = BackMsg()
        message.rerun_script.page_name = path
        message.rerun_script.query_string = query
        if press:
            pressed = message.rerun_script.widget_states.widgets.add()
            pressed.id, pressed.trigger_value = press, True
        for name, text in (typed or {}).items():
            filled = message.rerun_script.widget_states.widgets.add()
            filled.id, filled.string_value = name, text
        self.elements.clear()
        self.send(message)
        while (got := self._next()).WhichOneof("type") != "script_finished" or got.script_finished == AGAIN:
            pass

    def beat(self) -> list[ForwardMsg]:
        """Wait until the server has read everything sent so far; give what it answered meanwhile."""
        self.answers.clear()
        self.send(BackMsg(app_heartbeat=True))
        while self._next().WhichOneof("type") != "heartbeat_ack":
            pass
        return list(self.answers)

    def _next(self) -> ForwardMsg:
        content = self.socket.recv(timeout=WAIT_S)
        assert isinstance(content, bytes)
        message = ForwardMsg()
        message.ParseFromString(content)
        self.answers.append(message)
        match message.WhichOneof("type"):
            case "new_session":
                self.session = message.new_session.initialize.session_id
            case "delta" if message.delta.WhichOneof("type") == "new_element":
                self.elements.append(message.delta.new_element)
        return message

    @property
    def kinds(self) -> set[str]:
        """The kinds of elements on the page."""
        return {str(each.WhichOneof("type")) for each in self.elements}

    @property
    def words(self) -> str:
        """All that the page says, as it was sent."""
        return "\n".join(str(each) for each in self.elements)


@contextmanager
def session(
    address: str,
    jar: Jar | None = None,
    *,
    origin: str | None = "",
    host: str | None = None,
    xsrf: str | None = None,
    resume: str = "",
    headers: Mapping[str, str] | None = None,
) -> Iterator[Page]:
    """Connect as a page does. The server refuses by closing with 403.

    Args:
        address: Of the console.
        jar: Whose cookies are sent; nobody's unless told.
        origin: Where the page says it is from; the console itself unless told, None to say nothing.
        host: The Host header, if it is not the address.
        xsrf: The token that is sent as the second subprotocol, if it is not that of the cookies.
        resume: The session asked for, as the third subprotocol.
        headers: More of them.
    """
    jar = visitor(address) if jar is None else jar
    token = jar.cookies.get(XSRF, "") if xsrf is None else xsrf
    protocols = ["streamlit", token or "none", *([resume] if resume else [])]
    url = urlsplit(address)
    sent = [jar.header, *(headers or {}).items()]
    with connect(
        f"ws://{host or url.netloc}/_stcore/stream",
        sock=socket.create_connection((url.hostname, url.port), WAIT_S),
        origin=None if origin is None else Origin(origin or address),
        subprotocols=[Subprotocol(each) for each in protocols],
        additional_headers=sent,
        open_timeout=WAIT_S,
        max_size=None,
        proxy=None,
    ) as opened:
        yield Page(opened)
