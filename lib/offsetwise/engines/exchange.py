"""One HTTP request to a service, bounded in time and size. Redirects are not followed, proxies are not used."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Event, Timer
from typing import Final
from urllib.parse import urlsplit

from offsetwise.client_properties.sign_on import SignOn

CONNECT_S: Final = 5.0
ANSWER_S: Final = 95.0
"""A worker of Kafka Connect gives up after 90 seconds itself (`RestServer.DEFAULT_REST_REQUEST_TIMEOUT_MS`)."""
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
_CHUNK_BYTES: Final = 65_536


class UnansweredError(Exception):
    """No complete answer arrived.

    Args:
        reason: Why, as a part of a sentence.
        sent: Whether the request, or a part of it, was sent.
    """

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent


@dataclass(frozen=True, slots=True)
class HttpReply:
    status: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAccess:
    headers: Mapping[str, str]
    tls: ssl.SSLContext | None

    @classmethod
    def of(cls, sign_on: SignOn, *, tls: bool) -> HttpAccess:
        """Return the access with resolved credentials.

        Raises:
            SecretError: A reference cannot be resolved.
            OSError: A certificate or a key cannot be used.
        """
        headers = {**sign_on.header_values(), "Accept": "application/json", "Content-Type": "application/json"}
        if sign_on.user is not None:
            pair = f"{sign_on.secret('user')}:{sign_on.secret('password') or ''}".encode()
            headers["Authorization"] = f"Basic {b64encode(pair).decode('ascii')}"
        if not tls:
            return cls(headers=headers, tls=None)
        context = ssl.create_default_context(cafile=sign_on.ca)
        if sign_on.certificate is not None:
            password = sign_on.secret("key_password")
            context.load_cert_chain(sign_on.certificate, sign_on.key, password=lambda: password or "")
        return cls(headers=headers, tls=context)


def ask(
    address: str,
    method: str,
    path: str,
    access: HttpAccess,
    body: bytes | None = None,
    *,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> HttpReply:
    """Send one request, and return the whole answer.

    Args:
        address: The service, `http` or `https`, host, port, and a path if there is one.
        method: The HTTP method.
        path: Below the address.
        access: The credentials.
        body: JSON, or None.
        max_bytes: The maximum size of an answer.

    Raises:
        UnansweredError: No complete answer arrived in time, or it is too large.
    """
    parts = urlsplit(address)
    connection = (
        HTTPConnection(parts.hostname or "", parts.port, timeout=CONNECT_S)
        if access.tls is None
        else HTTPSConnection(parts.hostname or "", parts.port, timeout=CONNECT_S, context=access.tls)
    )
    sent = False
    try:
        connection.connect()
        connection.sock.settimeout(ANSWER_S)
        sent = True
        with _ending(connection.sock) as ended:
            connection.request(method, f"{parts.path}{path}", body=body, headers=dict(access.headers))
            return _whole(connection.getresponse(), ended, max_bytes)
    except (OSError, HTTPException, ValueError) as error:
        raise UnansweredError(_reason(error), sent=sent) from error
    finally:
        connection.close()


@contextmanager
def _ending(connected: socket) -> Iterator[Event]:
    """Yield an event that is set once the time of one exchange is over."""
    # A timeout of the socket limits a single read; a service that sends a byte now and then is ended by the clock. The
    # socket is kept here, because an answer that ends with the connection takes it out of the connection.
    ended = Event()
    clock = Timer(ANSWER_S, _end, (connected, ended))
    clock.daemon = True
    clock.start()
    try:
        yield ended
    except (OSError, HTTPException, ValueError) as error:
        if ended.is_set():
            raise TimeoutError from error
        raise
    finally:
        clock.cancel()


def _whole(response: HTTPResponse, ended: Event, max_bytes: int) -> HttpReply:
    data = bytearray()
    while chunk := response.read(_CHUNK_BYTES):
        data += chunk
        if len(data) > max_bytes:
            raise ValueError(f"it sends more than {max_bytes:,} bytes")
    if ended.is_set():
        raise TimeoutError
    if response.length:
        raise ValueError(f"its answer ends {response.length:,} bytes before the length that it states")
    return HttpReply(response.status, bytes(data))


def _end(connected: socket, ended: Event) -> None:
    ended.set()
    with suppress(OSError):  # it has ended already
        connected.shutdown(SHUT_RDWR)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, HTTPException):
        return f"its answer breaks off or is no HTTP ({type(error).__name__})"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return (error.strerror or str(error) or type(error).__name__)[:200]
    return str(error)[:200]
