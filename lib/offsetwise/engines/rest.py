"""Ask a running job about itself: its address, and single answers as JSON, shared by all engines.

Only GET is sent, to the service that a person named, with the credentials for it in the migration file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn
from urllib.parse import unquote, urlsplit

from offsetwise.client_properties.connectors import URL
from offsetwise.client_properties.sign_on import SignOn
from offsetwise.engines.exchange import MAX_ANSWER_BYTES, HttpAccess, HttpReply, UnansweredError, ask
from offsetwise.errors import MissingError, StorageError, UsageError
from offsetwise.strict_json import parse

OK: Final = 200
_REDIRECTS: Final = range(300, 400)
_REFUSED: Final = (401, 403)
_MISSING: Final = 404
_SHOWN: Final = 200
_MAX_ADDRESS: Final = 2_000
NO_START: Final = "Where the job began is not known."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAddress:
    origin: str
    """Scheme, host and port."""
    path: str
    """Begins with a slash, or empty."""
    fragment: str
    """The text after `#`, where web pages keep their own paths; empty if there is none."""
    query: str

    @classmethod
    def parse(cls, text: str) -> JobAddress:
        """Parse an address of `http` or `https`.

        Raises:
            UsageError: It is none, or contains a user or password, which is not shown.
        """
        require_plain(text)
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            _refuse("http://HOST:PORT or https://HOST:PORT of the engine's REST API", "another form")
        origin = f"{parts.scheme}://{parts.netloc}"
        if parts.scheme not in ("http", "https") or not re.fullmatch(URL, origin) or port == 0:
            _refuse("http://HOST:PORT or https://HOST:PORT of the engine's REST API", repr(text[:_SHOWN]))
        return cls(origin=origin, path=parts.path.rstrip("/"), fragment=parts.fragment, query=parts.query)

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(unquote(name) for name in self.path.split("/") if name)


def require_plain(text: str) -> None:
    """Raise for an address with credentials or with characters that no address has.

    Raises:
        UsageError: It has some; the address is not shown then.
    """
    if len(text) > _MAX_ADDRESS or not text.isprintable() or any(letter.isspace() for letter in text):
        _refuse(f"an address of at most {_MAX_ADDRESS:,} characters without spaces", "another one")
    if "@" in text.partition("://")[2].partition("/")[0]:
        _refuse("an address without user and password", "one with a sign-on in it, which is not shown")


def _refuse(expected: str, actual: str) -> NoReturn:
    raise UsageError(
        f"--job: expected {expected}, found {actual}. Nothing was contacted.",
        fix="Give the address alone, as in --job http://HOST:8081/jobs/ID; state how to sign on under `jobs` in the "
        "migration file: url, user, password, headers, ca, certificate, key.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestService:
    url: str
    """Without a trailing slash."""
    access: HttpAccess
    engine: str
    """The name for people."""

    @classmethod
    def at(cls, url: str, sign_on: SignOn, *, engine: str) -> RestService:
        """Return a service without contacting it.

        Raises:
            SecretError: A reference cannot be resolved.
            StorageError: A certificate or a key cannot be used.
        """
        try:
            access = HttpAccess.of(sign_on, tls=url.startswith("https:"))
        except OSError as error:
            raise StorageError(
                f"{url}: expected certificates that can be used, found {error.strerror or str(error)[:_SHOWN]}. "
                "Nothing was contacted.",
                fix="Correct ca, certificate, key and key_password of the address in the migration file.",
            ) from error
        return cls(url=url, access=access, engine=engine)

    def get(self, path: str) -> Any:
        """Read one resource.

        Args:
            path: Below the address.

        Raises:
            MissingError: It does not exist (HTTP 404).
            StorageError: No answer arrives, or an unusable one.
        """
        return self._read(path, self._request(path, self.access, MAX_ANSWER_BYTES))

    def download(self, path: str, *, max_bytes: int) -> bytes:
        """Read one file.

        Args:
            path: Below the address.
            max_bytes: The maximum size.

        Raises:
            MissingError: It does not exist (HTTP 404).
            StorageError: No answer arrives, a larger one, or an unusable one.
        """
        access = replace(self.access, headers={**self.access.headers, "Accept": "application/octet-stream"})
        reply = self._request(path, access, max_bytes)
        if reply.status != OK:
            raise self._refused(path, reply)
        return reply.body

    def _request(self, path: str, access: HttpAccess, max_bytes: int) -> HttpReply:
        try:
            return ask(self.url, "GET", path, access, max_bytes=max_bytes)
        except UnansweredError as error:
            raise StorageError(
                f"{self.url}: expected an answer of {self.engine} to GET {path}, found none: {error.reason}. "
                f"{NO_START}",
                fix="Check host and port, and that the job runs; then run the same command again.",
            ) from error

    def find(self, path: str, what: str, fix: str) -> Any:
        """Read one resource that a person named.

        Args:
            path: Below the address.
            what: Its noun in a sentence.
            fix: The remedy if it does not exist.

        Raises:
            MissingError: It does not exist.
            StorageError: No answer arrives, or an unusable one.
        """
        try:
            return self.get(path)
        except MissingError as error:
            raise MissingError(
                f"{self.url}: expected {what}, found none with that id (HTTP 404). {NO_START}", fix=fix
            ) from error

    def unlike(self, path: str, expected: str) -> StorageError:
        """Return the error for an answer that the engine cannot have given.

        Args:
            path: The requested path.
            expected: The expected answer.
        """
        return StorageError(
            f"{self.url}: expected {expected} as {self.engine} answers GET {path}, found another answer. {NO_START}",
            fix=f"Check that the address is that of the REST API of {self.engine}.",
        )

    def _read(self, path: str, reply: HttpReply) -> Any:
        if reply.status == OK:
            try:
                return parse(reply.body, fractions=True)
            except (ValueError, RecursionError) as error:
                reason = str(error)[:_SHOWN]
                raise StorageError(
                    f"{self.url}: expected JSON of {self.engine} to GET {path}, found another answer: {reason}. "
                    f"{NO_START}",
                    fix=f"Check that the address is that of the REST API of {self.engine}.",
                ) from error
        raise self._refused(path, reply)

    def _refused(self, path: str, reply: HttpReply) -> StorageError:
        status = f"HTTP {reply.status}"
        if reply.status in _REDIRECTS:
            return StorageError(
                f"{self.url}: expected an answer of {self.engine} to GET {path}, found a redirect ({status}), which is "
                f"not followed. {NO_START}",
                fix="Give the address that it leads to, if you trust it.",
            )
        if reply.status in _REFUSED:
            return StorageError(
                f"{self.url}: expected that {self.engine} lets us read {path}, found {status}. {NO_START}",
                fix="State how to sign on there under `jobs` in the migration file: url, and user with password, "
                "headers, or certificate with key.",
            )
        error_type = MissingError if reply.status == _MISSING else StorageError
        return error_type(
            f"{self.url}: expected an answer of {self.engine} to GET {path}, found {status}. {NO_START}",
            fix="Check the address and the id of the job; where both are right, see the log of the service.",
        )
