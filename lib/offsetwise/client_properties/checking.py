"""Check properties before anything is contacted, and resolve their secrets."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Final

from offsetwise.client_properties.allowed import ALLOWED, FORBIDDEN, ClientProperties, Kind
from offsetwise.client_properties.references import follow, is_reference, only_reference
from offsetwise.digits import whole_number
from offsetwise.errors import ConfigError, ForbiddenPropertyError

_BACKOFF: Final = {"reconnect.backoff.ms": "100", "reconnect.backoff.max.ms": "10000"}
"""librdkafka's defaults."""
SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")

_URL: Final = re.compile(r"https?://[^\s/@?#]+(@[^\s/@?#]+)?([/?#]\S*)?", re.IGNORECASE)
"""librdkafka uses curl, which would also read files of this machine."""


def check(properties: Mapping[str, str], *, where: str) -> None:
    """Raise for forbidden properties, plain secrets, and combinations that cannot work.

    Args:
        properties: librdkafka's names to values or references, nothing resolved.
        where: The key in the migration file, for the message, e.g. `source.properties`.

    Raises:
        ForbiddenPropertyError: A property that is not on the allow-list; the message has its name, and why.
        ConfigError: A value that cannot be right, or a plain secret. Secrets are never shown.
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


def resolve(properties: Mapping[str, str], *, where: str, folder: str | None = None) -> ClientProperties:
    """Replace `${NAME}` and `file:PATH` references by their values.

    Args:
        properties: As for `check`.
        where: As for `check`.
        folder: The folder of the file with the properties; None if they come from no file.

    Raises:
        SecretError: The variable is not set, the file cannot be read or is empty, or the user does not let files of
            others use it.
        ConfigError: As for `check`.
    """
    check(properties, where=where)
    referred = {name for name, value in properties.items() if is_reference(value)}
    resolved = {name: follow(f"{where}.{name}", value, folder) for name, value in properties.items()}
    for name in referred:
        _check_text(name, resolved[name], where)
    return ClientProperties(resolved, referred=referred)


def servers(properties: Mapping[str, str]) -> frozenset[str]:
    """Return the bootstrap servers in lower case, to compare clusters."""
    return frozenset(
        part.strip().lower() for part in properties.get("bootstrap.servers", "").split(",") if part.strip()
    )


def sasl_mechanism(properties: Mapping[str, str]) -> str:
    return properties.get("sasl.mechanism", properties.get("sasl.mechanisms", "")).upper()


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
        only_reference(key, value)
        return
    if is_reference(value):
        if not known.may_refer:
            raise ConfigError(
                f"{key}: expected {known.kind}, found a reference, which only credentials may have: what it leads to "
                "is sent to the cluster, and somebody else may have written this file. Nothing was contacted.",
                fix="Write the value itself.",
            )
        return
    if known.kind is Kind.URL and "@" in value:
        only_reference(key, value)
    _check_text(name, value, where)
    if known.values and value.lower() not in known.values:
        raise ConfigError(
            f"{key}: expected one of {', '.join(known.values)}, found {value[:60]!r}.",
            fix="Use one of these values.",
        )
    number = whole_number(value, known.most)
    if known.kind is Kind.NUMBER and (number is None or number < known.least):
        raise ConfigError(
            f"{key}: expected milliseconds from {known.least} to {known.most}, found {value[:60]!r}.",
            fix="Give a whole number.",
        )
    if known.kind is Kind.BOOLEAN and value.lower() not in ("true", "false"):
        raise ConfigError(f"{key}: expected true or false, found {value[:60]!r}.", fix="Write true or false.")
    if known.kind is Kind.SERVERS:
        for server in value.split(","):
            match = SERVER.fullmatch(server.strip())
            if match is None or not 0 < int(match[2]) < 65536:
                raise ConfigError(
                    f"{key}: expected host:port, found {server.strip()[:80]!r}, so no broker can be contacted.",
                    fix='Write "host:port", several separated by commas.',
                )


def _check_text(name: str, value: str, where: str) -> None:
    known, key = ALLOWED[name], f"{where}.{name}"
    if known.kind is Kind.PEM and "-----BEGIN " not in value:
        raise ConfigError(
            f"{key}: expected {known.kind}, found no '-----BEGIN' line in it.",
            fix="Give the text of a PEM file, or its path under the name that ends with .location.",
        )
    several = known.kind in (Kind.PEM, Kind.SECRET)
    if not several and (not value or any(ord(character) < 32 for character in value)):
        raise ConfigError(
            f"{key}: expected {known.kind}, found {'nothing' if not value else 'control characters'}.",
            fix="Give a value of one line, or remove the property.",
        )
    if known.kind is Kind.URL and not _URL.fullmatch(value):
        raise ConfigError(
            f"{key}: expected {known.kind}, found another text, which is not shown. Nothing was contacted.",
            fix="Write the address of the identity provider, beginning with https://.",
        )


def _check_together(properties: Mapping[str, str], where: str) -> None:
    protocol = properties.get("security.protocol", "plaintext").lower()
    sasl = sorted(name for name in properties if name.startswith("sasl."))
    tls = sorted(name for name in properties if name.startswith(("ssl.", "enable.ssl")))
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
    wait, longest = (whole_number(properties.get(name, usual)) for name, usual in _BACKOFF.items())
    if wait is not None and longest is not None and wait > longest:
        raise ConfigError(
            f"{where}: reconnect.backoff.ms is {wait} and reconnect.backoff.max.ms {longest}, expected the first not "
            "to be longer.",
            fix="Raise reconnect.backoff.max.ms, or lower reconnect.backoff.ms.",
        )
    if protocol.startswith("sasl_"):
        needed = _needed_by(sasl_mechanism(properties))
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
