"""The address of a Kafka Connect connector: its workers' REST API, and the credentials.

A connector is named by a URI, `connect+http://HOST:PORT,HOST:PORT/connectors/NAME`, or `connect+https`. The credentials
follow after `?`, secrets as references: only the migration file and the command line have them, and no plan or other
document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode

from offsetwise.client_properties.references import only_reference
from offsetwise.client_properties.sign_on import SignOn

SCHEMES: Final = frozenset({"connect+http", "connect+https"})
"""The schemes of a connector's URI."""
_HOST: Final = r"(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?"
URL: Final = rf"^https?://{_HOST}(/[A-Za-z0-9._~/-]*)?$"
"""The address of one worker."""
_URL: Final = re.compile(rf"(https?)://({_HOST})(/[A-Za-z0-9._~/-]*)?")
_HOSTS: Final = rf"(?P<scheme>https?)://(?P<hosts>{_HOST}(?:,{_HOST})*)"
_QUERY: Final = r"(?:\?(?P<query>[^#]*))?"
_URI: Final = re.compile(rf"connect\+{_HOSTS}(?P<path>(?:/[A-Za-z0-9._~-]+)*)/connectors/(?P<name>[^/?#]+){_QUERY}")
_OF_WORKERS: Final = re.compile(rf"(?:connect\+)?{_HOSTS}(?P<path>(?:/[A-Za-z0-9._~-]+)*?)(?:/connectors)?/?{_QUERY}")
CONNECTOR: Final = r"^[^/\x00-\x1f\x7f]{1,180}$"
"""A connector name that a plan can have as a source."""
_OPTIONS: Final = ("user", "password", "ca", "certificate", "key", "key_password", "folder")
"""Fields of `SignOn` that a URI may have after `?`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorAddress:
    workers: tuple[str, ...]
    """The addresses of the workers, each with the path before `/connectors`; all with one scheme and path."""
    connector: str
    """Its name; empty for the workers alone."""
    sign_on: SignOn = field(default_factory=SignOn, repr=False)

    @classmethod
    def parse(cls, uri: str) -> Self:
        """Parse a URI.

        Raises:
            ValueError: It has another form.
            ConfigError: It has a plain secret, which is not shown.
        """
        match, sign_on = _matched(_URI, uri, "connect+http://HOST:PORT,HOST:PORT/connectors/NAME")
        name = unquote(match["name"])
        if not re.match(CONNECTOR, name):
            raise ValueError("expected the name of a connector without slashes and control characters")
        return cls(workers=_workers(match), connector=name, sign_on=sign_on)

    @classmethod
    def parse_workers(cls, text: str) -> Self:
        """Parse the addresses of workers, `http://HOST:PORT,HOST:PORT`, with credentials after `?`.

        Raises:
            ValueError: As for `parse`.
            ConfigError: As for `parse`.
        """
        match, sign_on = _matched(_OF_WORKERS, text, "http://HOST:PORT,HOST:PORT or https of workers of Kafka Connect")
        return cls(workers=_workers(match), connector="", sign_on=sign_on)

    @property
    def uri(self) -> str:
        """The URI in documents: without credentials."""
        scheme, _, path = _parts(self.workers[0])
        hosts = ",".join(_parts(worker)[1] for worker in self.workers)
        workers = f"connect+{scheme}://{hosts}{path}"
        return f"{workers}/connectors/{quote(self.connector, safe='')}" if self.connector else workers

    @property
    def stated(self) -> Mapping[str, str]:
        return {name: value for name in _OPTIONS if (value := getattr(self.sign_on, name)) is not None}

    @property
    def root(self) -> str:
        return f"{self.uri}?{urlencode(self.stated)}" if self.stated else self.uri


def _matched(pattern: re.Pattern[str], text: str, expected: str) -> tuple[re.Match[str], SignOn]:
    match = pattern.fullmatch(text)
    sign_on = None if match is None else _sign_on(match)
    if match is None or sign_on is None:
        raise ValueError(f"expected {expected}")
    return match, sign_on


def _workers(match: re.Match[str]) -> tuple[str, ...]:
    return tuple(f"{match['scheme']}://{host}{match['path']}" for host in match["hosts"].split(","))


def _sign_on(match: re.Match[str]) -> SignOn | None:
    """Return the credentials after `?`; None if there is an unknown option.

    Raises:
        ConfigError: A plain secret.
    """
    pairs = parse_qsl(match["query"] or "", keep_blank_values=True)
    options: dict[str, Any] = dict(pairs)
    if len(options) != len(pairs) or not options.keys() <= {*_OPTIONS}:
        return None
    for name in options.keys() & {"password", "key_password"}:
        only_reference(f"connect.{name}", options[name])
    return SignOn(**options)


def is_connector(uri: str) -> bool:
    return uri.partition("://")[0] in SCHEMES


def one_cluster(workers: tuple[str, ...]) -> bool:
    return len({(scheme, path) for scheme, _, path in map(_parts, workers)}) == 1


def _parts(worker: str) -> tuple[str, str, str]:
    match = _URL.fullmatch(worker)
    if match is None:
        raise ValueError("expected http://HOST:PORT or https://HOST:PORT of a worker")
    return match[1], match[2], (match[3] or "").rstrip("/")
