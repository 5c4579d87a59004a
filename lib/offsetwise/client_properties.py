"""Which Kafka client properties a migration file may set, and what they are called in Java.

One table serves both clients: librdkafka (the cluster reader) takes the names as they are, Spark's Kafka source
gets them mapped to the Java client's. Names and meanings: librdkafka `CONFIGURATION.md`; Apache Kafka consumer
configuration, KIP-651 for PEM; `org.apache.kafka.common.security.JaasConfig` for quoting.

What is not in the table is refused, because some properties run code or write files
(`plugin.library.paths`, `sasl.kerberos.kinit.cmd`), and a file that configures a read-only tool must not.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from offsetwise.errors import ConfigError, ForbiddenPropertyError, SecretError


class Kind(StrEnum):
    """What a property's value may be."""

    TEXT = "a text"
    SERVERS = "a list of host:port"
    NUMBER = "a number of milliseconds"
    BOOLEAN = "true or false"
    PATH = "the path of a file"
    PEM = "PEM text"
    SECRET = "a secret"  # noqa: S105 - the name of a kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One property that a migration file may set."""

    kind: Kind = Kind.TEXT
    java: str | None = None
    """The Java client's name where the value is taken as it is; None where `to_java` has a rule or nothing to do."""
    values: tuple[str, ...] = ()
    """The values allowed, lower case; empty for any."""


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
    "metadata.max.age.ms": Property(kind=Kind.NUMBER, java="metadata.max.age.ms"),
    "reconnect.backoff.max.ms": Property(kind=Kind.NUMBER, java="reconnect.backoff.max.ms"),
    "reconnect.backoff.ms": Property(kind=Kind.NUMBER, java="reconnect.backoff.ms"),
    "retry.backoff.ms": Property(kind=Kind.NUMBER, java="retry.backoff.ms"),
    "sasl.mechanism": Property(values=("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")),
    "sasl.mechanisms": Property(values=("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")),
    "sasl.oauthbearer.client.id": Property(),
    "sasl.oauthbearer.client.secret": Property(kind=Kind.SECRET),
    "sasl.oauthbearer.method": Property(values=("oidc",)),
    "sasl.oauthbearer.scope": Property(),
    "sasl.oauthbearer.token.endpoint.url": Property(),
    "sasl.password": Property(kind=Kind.SECRET),
    "sasl.username": Property(),
    "security.protocol": Property(values=("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")),
    "socket.connection.setup.timeout.ms": Property(kind=Kind.NUMBER, java="socket.connection.setup.timeout.ms"),
    "socket.keepalive.enable": Property(kind=Kind.BOOLEAN),
    "socket.timeout.ms": Property(kind=Kind.NUMBER, java="request.timeout.ms"),
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
_CALLBACK = "it is a function of a program and cannot stand in a file"

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

_ENVIRONMENT: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_MAX_SECRET_BYTES: Final = 1024 * 1024
_UNENCRYPTED_KEY: Final = "-----BEGIN PRIVATE KEY-----"
_ENCRYPTED_KEY: Final = "-----BEGIN ENCRYPTED PRIVATE KEY-----"


class ClientProperties(dict[str, str]):
    """Properties with their secrets resolved. Secrets mask themselves when printed."""

    def __repr__(self) -> str:
        return repr({name: "********" if _secret(name) else value for name, value in self.items()})

    __str__ = __repr__


def check(properties: Mapping[str, str], *, where: str) -> None:
    """Refuse what is not on the allow-list, plain secrets, and combinations that cannot work.

    Args:
        properties: librdkafka's names to values or references, nothing resolved.
        where: The key in the migration file, for the message, e.g. `source.properties`.

    Raises:
        ForbiddenPropertyError: A property that is not on the allow-list; it is named, and why.
        ConfigError: A value that cannot be right, or a secret written out. Secrets are never shown.
    """
    for name, value in properties.items():
        if name not in ALLOWED:
            raise _refused(name, where)
        _check_value(name, value, where)
    if "bootstrap.servers" not in properties:
        raise ConfigError(
            f"{where}: expected bootstrap.servers, found none, so the cluster cannot be contacted.",
            fix='Add bootstrap.servers: "host:port".',
        )
    _check_together(properties, where)


def resolve(properties: Mapping[str, str], *, where: str) -> ClientProperties:
    """Replace `${NAME}` and `file:PATH` references by what they lead to.

    Raises:
        SecretError: The variable is not set, or the file cannot be read or is empty.
        ConfigError: As `check`.
    """
    check(properties, where=where)
    resolved = {name: _resolve_one(name, value, where) for name, value in properties.items()}
    for name, value in resolved.items():
        if properties[name] != value and not _secret(name):
            _check_value(name, value, where)
    _check_together(resolved, where)
    return ClientProperties(resolved)


def to_java(properties: Mapping[str, str], *, where: str) -> ClientProperties:
    """Map resolved properties to the Java client's names and values.

    Certificates are handed over as text, so that Spark's executors need no file.

    Raises:
        ConfigError: Something that the Java client has no equal for. Nothing was read.
    """
    made = ClientProperties()
    for name, value in properties.items():
        java = ALLOWED[name].java
        if java is not None:
            made[java] = value
    protocol = properties.get("security.protocol", "plaintext").upper()
    made["security.protocol"] = protocol
    for part in (_java_trust, _java_key, _java_host_check, _java_sasl):
        made.update(part(properties, where))
    if properties.get("broker.address.family", "any") != "any":
        raise _unmappable("broker.address.family", where, "Remove it, or list addresses in bootstrap.servers.")
    return made


def servers(properties: Mapping[str, str]) -> frozenset[str]:
    """Give the bootstrap servers, lower case, so that two clusters can be told apart."""
    return frozenset(
        part.strip().lower() for part in properties.get("bootstrap.servers", "").split(",") if part.strip()
    )


def is_reference(value: str) -> bool:
    """Whether a value refers to an environment variable or a file."""
    return bool(_ENVIRONMENT.fullmatch(value)) or value.startswith("file:")


def _secret(name: str) -> bool:
    known = ALLOWED.get(name)
    return (known is not None and known.kind is Kind.SECRET) or bool(
        re.search(r"password|secret|jaas|keystore\.key|\.pem$", name)
    )


def _refused(name: str, where: str) -> ForbiddenPropertyError:
    reason, fix = FORBIDDEN.get(name, ("", ""))
    if not reason:
        reason = "it is not on the list of properties that a migration file may set"
        near = difflib.get_close_matches(name, ALLOWED, n=1, cutoff=0.8)
        fix = f"Did you mean {near[0]}?" if near else "Remove it. `offsetwise schema migration` lists the allowed ones."
    return ForbiddenPropertyError(
        f"{where}.{name}: expected an allowed client property, but {reason}. Nothing was contacted.", fix=fix
    )


def _check_value(name: str, value: str, where: str) -> None:
    known, key = ALLOWED[name], f"{where}.{name}"
    if known.kind is Kind.SECRET:
        if not is_reference(value):
            raise ConfigError(
                f"{key}: expected a reference to a secret, found it written out, so everybody who reads the "
                "migration file reads the secret.",
                fix="Write ${NAME} for an environment variable, or file:PATH for a file that holds only the secret. "
                "Change the secret if the file was shared.",
            )
        return
    if is_reference(value):
        return
    if known.kind is not Kind.PEM and (not value or any(ord(character) < 32 for character in value)):
        raise ConfigError(
            f"{key}: expected {known.kind}, found {'nothing' if not value else 'control characters'}.",
            fix="Give a value of one line, or remove the property.",
        )
    if known.values and value.lower() not in known.values:
        raise ConfigError(
            f"{key}: expected one of {', '.join(known.values)}, found {value[:60]!r}.", fix="Use one of these values."
        )
    if known.kind is Kind.NUMBER and not (value.isascii() and value.isdigit() and int(value) <= 86_400_000):
        raise ConfigError(
            f"{key}: expected milliseconds from 0 to 86400000, found {value[:60]!r}.", fix="Give a whole number."
        )
    if known.kind is Kind.BOOLEAN and value.lower() not in ("true", "false"):
        raise ConfigError(f"{key}: expected true or false, found {value[:60]!r}.", fix="Write true or false.")
    if known.kind is Kind.SERVERS:
        for server in value.split(","):
            match = _SERVER.fullmatch(server.strip())
            if match is None or not 0 < int(match[2]) < 65536:
                raise ConfigError(
                    f"{key}: expected host:port, found {server.strip()[:80]!r}, so no broker can be contacted.",
                    fix='Write "host:port", several separated by commas.',
                )


def _check_together(properties: Mapping[str, str], where: str) -> None:
    protocol = properties.get("security.protocol", "plaintext").lower()
    sasl = sorted(name for name in properties if name.startswith("sasl."))
    tls = sorted(name for name in properties if name.startswith(("ssl.", "enable.ssl")))
    if is_reference(protocol):
        return
    if "sasl.mechanism" in properties and "sasl.mechanisms" in properties:
        raise ConfigError(
            f"{where}: expected one mechanism, found sasl.mechanism and sasl.mechanisms, two names of one property.",
            fix="Keep sasl.mechanism.",
        )
    if sasl and not protocol.startswith("sasl_"):
        raise ConfigError(
            f"{where}: {sasl[0]} is set, but security.protocol is {protocol}, so it would be ignored.",
            fix="Set security.protocol to sasl_ssl or sasl_plaintext, or remove the sasl properties.",
        )
    if tls and protocol not in ("ssl", "sasl_ssl"):
        raise ConfigError(
            f"{where}: {tls[0]} is set, but security.protocol is {protocol}, so it would be ignored.",
            fix="Set security.protocol to ssl or sasl_ssl, or remove the ssl properties.",
        )
    for stem in ("ssl.ca", "ssl.certificate", "ssl.key"):
        if f"{stem}.location" in properties and f"{stem}.pem" in properties:
            raise ConfigError(
                f"{where}: expected one of {stem}.location and {stem}.pem, found both.", fix="Remove one of them."
            )
    if protocol.startswith("sasl_"):
        needed = _needed_by(_mechanism(properties))
        missing = [name for name in needed if name not in properties]
        if missing:
            raise ConfigError(
                f"{where}: security.protocol is {protocol}, but {' and '.join(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} missing, so the broker would refuse.",
                fix=f"Add {', '.join(missing)}.",
            )


def _needed_by(mechanism: str) -> tuple[str, ...]:
    if not mechanism:
        return ("sasl.mechanism",)
    if mechanism == "OAUTHBEARER":
        return (
            "sasl.oauthbearer.method",
            "sasl.oauthbearer.client.id",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.token.endpoint.url",
        )
    return ("sasl.username", "sasl.password")


def _mechanism(properties: Mapping[str, str]) -> str:
    return properties.get("sasl.mechanism", properties.get("sasl.mechanisms", "")).upper()


def _resolve_one(name: str, value: str, where: str) -> str:
    variable = _ENVIRONMENT.fullmatch(value)
    if variable:
        found = os.environ.get(variable[1], "")
        if not found:
            raise SecretError(
                f"{where}.{name}: expected the environment variable {variable[1]}, found it "
                f"{'empty' if variable[1] in os.environ else 'not set'}, so the cluster cannot be contacted.",
                fix=f"Set {variable[1]} in the environment that starts Offsetwise.",
            )
        return found
    if value.startswith("file:"):
        return _read_text(Path(value.removeprefix("file:").removeprefix("//")), f"{where}.{name}")
    return value


def _read_text(path: Path, key: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_SECRET_BYTES + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SecretError(
            f"{key}: expected a readable file at {path}, but {why}, so the cluster cannot be contacted.",
            fix="Correct the path, or make the file readable for the user who runs Offsetwise.",
        ) from None  # the decoding error carries the bytes of the secret
    if not text.strip() or len(content) > _MAX_SECRET_BYTES:
        raise SecretError(
            f"{key}: expected a text of at most {_MAX_SECRET_BYTES} bytes in {path}, "
            f"found {'nothing' if not text.strip() else 'more'}.",
            fix="Write the value into the file.",
        )
    return text.removesuffix("\n").removesuffix("\r")


def _unmappable(name: str, where: str, fix: str) -> ConfigError:
    return ConfigError(
        f"{where}.{name}: Spark reads records with the Java client, which has no equal for this setting, "
        "so records cannot be compared. Nothing was read.",
        fix=fix,
    )


def _java_trust(properties: Mapping[str, str], where: str) -> dict[str, str]:
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        raise _unmappable(
            "enable.ssl.certificate.verification", where, "Give the broker's CA certificate in ssl.ca.location."
        )
    pem = _pem(properties, "ssl.ca", where)
    return {} if pem is None else {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}


def _java_key(properties: Mapping[str, str], where: str) -> dict[str, str]:
    if "ssl.keystore.location" in properties:
        made = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": properties["ssl.keystore.location"]}
        if "ssl.keystore.password" in properties:
            made["ssl.keystore.password"] = properties["ssl.keystore.password"]
        return made
    certificate, key = _pem(properties, "ssl.certificate", where), _pem(properties, "ssl.key", where)
    if certificate is None and key is None:
        return {}
    if certificate is None or key is None:
        missing = "ssl.certificate.location" if certificate is None else "ssl.key.location"
        raise ConfigError(
            f"{where}: expected a client certificate with its key, found only one of them; {missing} is missing.",
            fix=f"Add {missing}.",
        )
    encrypted = _ENCRYPTED_KEY in key
    if not encrypted and _UNENCRYPTED_KEY not in key:
        raise ConfigError(
            f"{where}.ssl.key: expected a PKCS#8 key ('{_UNENCRYPTED_KEY}'), found another form, "
            "which the Java client does not read. Nothing was read.",
            fix="Convert it: openssl pkcs8 -topk8 -in key.pem -out key.pkcs8.pem",
        )
    if encrypted and "ssl.key.password" not in properties:
        raise ConfigError(
            f"{where}: the client key is encrypted and ssl.key.password is missing, so it cannot be used.",
            fix="Add ssl.key.password as a reference.",
        )
    made = {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": certificate, "ssl.keystore.key": key}
    return made | ({"ssl.key.password": properties["ssl.key.password"]} if encrypted else {})


def _java_host_check(properties: Mapping[str, str], where: str) -> dict[str, str]:
    del where
    algorithm = properties.get("ssl.endpoint.identification.algorithm")
    if algorithm is None:
        return {}
    return {"ssl.endpoint.identification.algorithm": "" if algorithm.lower() == "none" else "https"}


def _java_sasl(properties: Mapping[str, str], where: str) -> dict[str, str]:
    mechanism = _mechanism(properties)
    if not mechanism:
        return {}
    rules: dict[str, Callable[[Mapping[str, str], str], dict[str, str]]] = {
        "PLAIN": lambda given, _: _password_login("plain.PlainLoginModule", given),
        "SCRAM-SHA-256": lambda given, _: _password_login("scram.ScramLoginModule", given),
        "SCRAM-SHA-512": lambda given, _: _password_login("scram.ScramLoginModule", given),
        "OAUTHBEARER": _no_oauth,
    }
    return {"sasl.mechanism": mechanism} | rules[mechanism](properties, where)


def _password_login(module: str, properties: Mapping[str, str]) -> dict[str, str]:
    username, password = jaas_quote(properties["sasl.username"]), jaas_quote(properties["sasl.password"])
    return {
        "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required "
        f"username={username} password={password};"
    }


def _no_oauth(properties: Mapping[str, str], where: str) -> dict[str, str]:
    # The login handler's class moved between kafka-clients 3 and 4, and both ask for a list of allowed URLs in a JVM
    # property of every executor, which a source option cannot set.
    del properties
    raise _unmappable("sasl.mechanism", where, "Use SCRAM, PLAIN or a client certificate, or compare without content.")


def jaas_quote(text: str) -> str:
    r"""Quote a value for `sasl.jaas.config`, whose parser is Java's StreamTokenizer.

    >>> print(jaas_quote('pa"ss\\word'))
    "pa\"ss\\word"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for character, written in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        escaped = escaped.replace(character, written)
    return f'"{escaped}"'


def _pem(properties: Mapping[str, str], stem: str, where: str) -> str | None:
    inline = properties.get(f"{stem}.pem")
    if inline is not None:
        return inline
    location = properties.get(f"{stem}.location")
    if location is None:
        return None
    text = _read_text(Path(location), f"{where}.{stem}.location")
    if "-----BEGIN " not in text:
        raise ConfigError(
            f"{where}.{stem}.location: expected a PEM file at {location}, found no '-----BEGIN' line in it, "
            "so the Java client cannot use it. Nothing was read.",
            fix="Convert it to PEM with openssl.",
        )
    return text
