"""The client properties that a migration file may set.

Names and meanings: librdkafka `CONFIGURATION.md`. All others are rejected, because some properties run code or write
files (`plugin.library.paths`, `sasl.kerberos.kinit.cmd`), and a file that configures a read-only tool must not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    TEXT = "a text"
    SERVERS = "a list of host:port"
    NUMBER = "a number of milliseconds"
    BOOLEAN = "true or false"
    PATH = "the path of a file"
    PEM = "PEM text"
    URL = "an http or https address"
    SECRET = "a secret"  # noqa: S105 - the name of a kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    kind: Kind = Kind.TEXT
    java: str | None = None
    """The Java client's name if the value is taken as it is; None if `to_java` has a rule or nothing to do."""
    values: tuple[str, ...] = ()
    """The allowed values, lower case; empty for any."""
    least: int = 0
    most: int = 86_400_000
    """The maximum of a number: librdkafka rejects values outside the range."""
    credential: bool = False
    """Whether it is a part of a credential that is not secret by itself."""

    @property
    def may_refer(self) -> bool:
        """Whether the value may be a reference, which is sent to whatever cluster the file names."""
        return self.credential or self.kind in (Kind.SECRET, Kind.PEM)


ALLOWED: Final[dict[str, Property]] = {
    "bootstrap.servers": Property(kind=Kind.SERVERS, java="bootstrap.servers"),
    "broker.address.family": Property(values=("any", "v4", "v6")),
    "client.dns.lookup": Property(
        java="client.dns.lookup", values=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
    ),
    "client.id": Property(java="client.id"),
    "client.rack": Property(java="client.rack"),
    "connections.max.idle.ms": Property(kind=Kind.NUMBER, java="connections.max.idle.ms"),
    "enable.ssl.certificate.verification": Property(kind=Kind.BOOLEAN),
    "metadata.max.age.ms": Property(kind=Kind.NUMBER, java="metadata.max.age.ms", least=1),
    "reconnect.backoff.max.ms": Property(kind=Kind.NUMBER, java="reconnect.backoff.max.ms", most=3_600_000),
    "reconnect.backoff.ms": Property(kind=Kind.NUMBER, java="reconnect.backoff.ms", most=3_600_000),
    "retry.backoff.ms": Property(kind=Kind.NUMBER, java="retry.backoff.ms", least=1, most=300_000),
    "sasl.mechanism": Property(values=("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")),
    "sasl.mechanisms": Property(values=("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")),
    "sasl.oauthbearer.client.id": Property(credential=True),
    "sasl.oauthbearer.client.secret": Property(kind=Kind.SECRET),
    "sasl.oauthbearer.method": Property(values=("oidc",)),
    "sasl.oauthbearer.scope": Property(),
    "sasl.oauthbearer.token.endpoint.url": Property(kind=Kind.URL, credential=True),
    "sasl.password": Property(kind=Kind.SECRET),
    "sasl.username": Property(credential=True),
    "security.protocol": Property(values=("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")),
    "socket.connection.setup.timeout.ms": Property(
        kind=Kind.NUMBER, java="socket.connection.setup.timeout.ms", least=1_000
    ),
    "socket.keepalive.enable": Property(kind=Kind.BOOLEAN),
    "socket.timeout.ms": Property(kind=Kind.NUMBER, java="request.timeout.ms", least=10, most=300_000),
    "ssl.ca.location": Property(kind=Kind.PATH),
    "ssl.ca.pem": Property(kind=Kind.PEM),
    "ssl.certificate.location": Property(kind=Kind.PATH),
    "ssl.certificate.pem": Property(kind=Kind.PEM),
    "ssl.endpoint.identification.algorithm": Property(values=("https", "none")),
    "ssl.key.location": Property(kind=Kind.PATH),
    "ssl.key.password": Property(kind=Kind.SECRET),
    "ssl.key.pem": Property(kind=Kind.SECRET),
    "ssl.keystore.location": Property(kind=Kind.PATH),
    "ssl.keystore.password": Property(kind=Kind.SECRET),
}

_RUNS_CODE = "it makes the client run or load code"
_OURS = "Offsetwise sets it itself, so that reading leaves no trace"
_CALLBACK = "it is a function of a program and cannot be in a file"

FORBIDDEN: Final[dict[str, tuple[str, str]]] = {
    "allow.auto.create.topics": (_OURS, "Remove it; reading never creates a topic."),
    "debug": ("it writes connection details, secrets among them, to the log", "Remove it."),
    "enable.auto.commit": (_OURS, "Remove it; reading never commits."),
    "group.id": (_OURS, "Remove it; name the groups to read under `groups`."),
    "interceptor.classes": (_RUNS_CODE, "Remove it."),
    "isolation.level": ("it belongs to the job, not to a cluster", "Set `isolation_level` at the top level."),
    "log_cb": (_CALLBACK, "Remove it."),
    "metadata.broker.list": ("it is an old name", "Use bootstrap.servers."),
    "oauthbearer_token_refresh_cb": (_CALLBACK, "Use sasl.oauthbearer.method: oidc."),
    "oauth_cb": (_CALLBACK, "Use sasl.oauthbearer.method: oidc."),
    "plugin.library.paths": (_RUNS_CODE, "Remove it."),
    "sasl.client.callback.handler.class": (_RUNS_CODE, "Remove it."),
    "sasl.jaas.config": ("it makes Java load any class it names", "Use sasl.mechanism, sasl.username, sasl.password."),
    "sasl.kerberos.kinit.cmd": (
        "it is a shell command that the client runs",
        "Remove it; use SCRAM or TLS client certificates, Kerberos is not supported.",
    ),
    "sasl.login.callback.handler.class": (_RUNS_CODE, "Remove it."),
    "sasl.oauthbearer.config": ("it makes unsigned tokens", "Use sasl.oauthbearer.method: oidc."),
    "ssl.engine.factory.class": (_RUNS_CODE, "Remove it."),
    "ssl.engine.id": (_RUNS_CODE, "Remove it."),
    "ssl.engine.location": (_RUNS_CODE, "Remove it."),
    "ssl.keystore.type": ("it is the Java client's name", "Use ssl.certificate.location with ssl.key.location (PEM)."),
    "ssl.providers": (_RUNS_CODE, "Remove it."),
    "ssl.truststore.location": ("it is the Java client's name", "Use ssl.ca.location with a PEM file."),
    "ssl.truststore.password": ("it is the Java client's name", "Use ssl.ca.location with a PEM file."),
    "ssl.truststore.type": ("it is the Java client's name", "Use ssl.ca.location with a PEM file."),
    "statistics.interval.ms": (_OURS, "Remove it."),
    "stats_cb": (_CALLBACK, "Remove it."),
}


SENSITIVE_NAMES: Final = (
    r"(password|passwd|passphrase|[._-]pass|secret|(secret|session|api)[._-]?(access[._-]?)?key|token|credentials?"
    r"|[._-]sas|authorization|keystore\.key|client-provided-key|\.pem)$"
    r"|jaas|private[._-]key|encryption[._-]key|account\.key\."
    r"|fs\.azure\.sas\.(?!token\.(provider|renew)|expiry)"
    r"|oauth2?\.(client\.secret|user\.password|refresh\.token|credential)\b(?!\.endpoint)"
)
"""The pattern of names of secret properties, ignoring case: of both Kafka clients, of Spark, and of Hadoop's S3A, ABFS
and GCS, also for single buckets or accounts (Hadoop's `hadoop.security.sensitive-config-keys`, `ConfigurationKeys` of
hadoop-azure, `CONFIGURATION.md` of the GCS connector). Both Python and Java use this pattern."""

_SECRET: Final = re.compile(SENSITIVE_NAMES, re.IGNORECASE)
_MASK: Final = "********"
_SHORTEST: Final = 4
"""The minimum length of a secret that is masked in any text: a user named `me` would hide half of it."""
_KNOWN: Final[set[str]] = set()
"""Every resolved secret: messages of clients may contain one in a log, an error or a file."""


class ClientProperties(dict[str, str]):
    """Properties with their secrets resolved. Secrets mask themselves when printed.

    Args:
        values: The properties.
        referred: The names of those whose value came from a reference: they are secrets too, whatever their names.
    """

    def __init__(self, values: Mapping[str, str] | None = None, *, referred: Iterable[str] = ()) -> None:
        super().__init__(values or {})
        self.referred: Final = frozenset(referred)
        _KNOWN.update(value for value in self._hidden() if len(value) >= _SHORTEST)

    def __repr__(self) -> str:
        return repr({name: _MASK if self.hides(name) else value for name, value in self.items()})

    __str__ = __repr__

    def hides(self, name: str) -> bool:
        return name in self.referred or is_secret(name)

    def masked(self, text: str) -> str:
        """Return a text, such as a message of Spark, without any value that must never be shown."""
        return _without(self._hidden(), text)

    def _hidden(self) -> set[str]:
        return {value for name, value in self.items() if self.hides(name) and value}


def masked(text: str) -> str:
    return _without(tuple(_KNOWN), text)


def _without(values: Iterable[str], text: str) -> str:
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, _MASK)
    return text


def is_secret(name: str) -> bool:
    """Return whether a property's value must never be shown, by its name in either client, in Spark or in Hadoop."""
    known = ALLOWED.get(name)
    return (known is not None and known.kind is Kind.SECRET) or bool(_SECRET.search(name))
