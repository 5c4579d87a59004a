"""Names, addresses and TLS handshakes of brokers, each with its own error messages.

Every function tries all addresses concurrently, in threads that end with the process, and returns within its limit: a
resolver or a broker that does not answer is reported as not answering in time.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from offsetwise.wording import many

T = TypeVar("T")

_MOST_ADDRESSES: Final = 64
_EXPIRES_SOON_DAYS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAddress:
    server: str
    """As in the configuration or the broker's answer: host:port."""
    ip: str
    port: int

    @property
    def host(self) -> str:
        return host_and_port(self.server)[0]

    def __str__(self) -> str:
        return self.server if self.ip == self.host else f"{self.server} ({self.ip})"


def host_and_port(server: str) -> tuple[str, int]:
    """Split a server of bootstrap.servers.

    >>> host_and_port("[::1]:9092")
    ('::1', 9092)
    """
    host, _, port = server.strip().rpartition(":")
    return host.split("://")[-1].strip("[]"), int(port)


def resolve(properties: Mapping[str, str], limit_s: float) -> tuple[tuple[BrokerAddress, ...], tuple[str, ...]]:
    """Return the addresses of all bootstrap servers, and the errors of those that failed."""
    servers = [server.strip() for server in properties["bootstrap.servers"].split(",") if server.strip()]
    family = {"v4": socket.AF_INET, "v6": socket.AF_INET6}.get(
        properties.get("broker.address.family", "any"), socket.AF_UNSPEC
    )

    def addresses(server: str) -> list[BrokerAddress]:
        host, port = host_and_port(server)
        results = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        return [
            BrokerAddress(server=server, ip=ip, port=port)
            for ip in dict.fromkeys(str(entry[4][0]) for entry in results)
        ]

    resolved, wrong = _run_all(servers, addresses, limit_s, _words_of_resolving)
    return tuple(address for broker_addresses in resolved for address in broker_addresses)[:_MOST_ADDRESSES], wrong


def connect(
    addresses: Iterable[BrokerAddress], limit_s: float
) -> tuple[tuple[BrokerAddress, ...], tuple[str, ...], str]:
    """Open and close a connection to each address.

    Returns:
        The addresses that accept one, the errors of the others, and the remedy.
    """
    refused = False

    def opened(address: BrokerAddress) -> BrokerAddress:
        with _open(address, limit_s):
            return address

    def words(address: BrokerAddress, error: Exception) -> str:
        nonlocal refused
        if isinstance(error, ConnectionRefusedError):
            refused = True
            return f"{address} refused the connection: nothing listens there"
        if isinstance(error, TimeoutError):
            return f"{address} did not answer in time"
        return f"{address} cannot be reached ({_said(error)})"

    broker_addresses, wrong = _run_all(list(addresses)[:_MOST_ADDRESSES], opened, limit_s, words)
    if refused:
        return broker_addresses, wrong, "Start the broker, or correct the port in bootstrap.servers."
    return broker_addresses, wrong, "Check that the broker runs, and that no firewall is between."


def handshake(
    addresses: Iterable[BrokerAddress], properties: Mapping[str, str], limit_s: float
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Perform a TLS handshake with each address, with the given properties.

    Returns:
        What was agreed, the errors, and the remedies.
    """
    fixes: list[str] = []
    try:
        context = _context(properties)
    except (OSError, ValueError) as error:
        return (
            (),
            (f"the certificates of the migration file cannot be used: {_said(error)}",),
            ("Check ssl.ca.location, ssl.certificate.location, ssl.key.location and ssl.key.password: PEM files.",),
        )

    def agreed(address: BrokerAddress) -> str:
        with _open(address, limit_s) as raw, context.wrap_socket(raw, server_hostname=address.host) as secured:
            message, fix = _agreed(secured, address)
            if fix:
                fixes.append(fix)
            return message

    def words(address: BrokerAddress, error: Exception) -> str:
        problem, fix = _words_of_tls(error)
        fixes.append(fix)
        if isinstance(error, ssl.SSLCertVerificationError):
            problem += _shown(address, limit_s)
        return f"{address}: {problem}"

    results, wrong = _run_all(list(addresses), agreed, limit_s, words)
    return results, wrong, tuple(fixes)


def _run_all(
    subjects: list[Any], ask: Callable[[Any], T], limit_s: float, words: Callable[[Any, Exception], str]
) -> tuple[tuple[T, ...], tuple[str, ...]]:
    """Call `ask` for all subjects concurrently, and return results and errors in the order of the subjects."""
    answers: dict[int, T] = {}
    complaints: dict[int, str] = {}

    def run_one(index: int) -> None:
        try:
            answers[index] = ask(subjects[index])
        except (OSError, ValueError) as error:
            complaints[index] = words(subjects[index], error)

    # Not a pool: its threads would keep the process alive until the slowest resolver times out.
    threads = [threading.Thread(target=run_one, args=(index,), daemon=True) for index in range(len(subjects))]
    end = time.monotonic() + limit_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end + 0.2 - time.monotonic()))
    late = [index for index in range(len(subjects)) if index not in answers and index not in complaints]
    complaints |= {index: words(subjects[index], TimeoutError(f"{limit_s:.0f}")) for index in late}
    return (
        tuple(answers[index] for index in sorted(answers.copy()) if index not in late),
        tuple(complaints[index] for index in sorted(complaints.copy())),
    )


def _open(address: BrokerAddress, limit_s: float) -> socket.socket:
    return socket.create_connection((address.ip, address.port), timeout=limit_s)


def _words_of_resolving(server: str, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"{server}: the name was not resolved in time"
    return f"{server}: no address is known for this name ({_said(error)})"


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    authorities = properties.get("ssl.ca.location")
    folder = authorities is not None and Path(authorities).is_dir()
    context = ssl.create_default_context(
        cafile=None if folder else authorities,
        capath=authorities if folder else None,
        cadata=properties.get("ssl.ca.pem"),
    )
    if properties.get("ssl.endpoint.identification.algorithm", "https").lower() == "none":
        context.check_hostname = False
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if "ssl.certificate.location" in properties:
        # librdkafka accepts key and certificate as text too; those are tried by the step that authenticates.
        context.load_cert_chain(
            properties["ssl.certificate.location"],
            properties.get("ssl.key.location"),
            properties.get("ssl.key.password", ""),
        )
    return context


def _agreed(secured: ssl.SSLSocket, address: BrokerAddress) -> tuple[str, str]:
    certificate = secured.getpeercert()
    if not certificate:
        return f"{address} speaks {secured.version()}; its certificate was not verified", ""
    until = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), tz=UTC)
    days = (until - datetime.now(UTC)).days
    message = (
        f"{address} speaks {secured.version()}, certificate of {_names(certificate)}, valid until {until:%Y-%m-%d}"
    )
    if days < _EXPIRES_SOON_DAYS:
        return (
            f"{message}, {many(days, 'day')} from now",
            "Renew the broker's certificate before it expires.",
        )
    return message, ""


def _names(certificate: Mapping[str, Any]) -> str:
    subject = _name(certificate.get("subject", ()))
    hosts = [value for _, value in certificate.get("subjectAltName", ())]
    return f"{subject} for {', '.join(hosts[:6])}" if hosts else subject


def _name(parts: Iterable[Iterable[tuple[str, str]]]) -> str:
    short = {"commonName": "CN", "organizationName": "O", "organizationalUnitName": "OU", "countryName": "C"}
    return ", ".join(f"{short.get(key, key)}={value}" for part in parts for key, value in part) or "no name"


def _shown(address: BrokerAddress, limit_s: float) -> str:
    """Describe the untrusted certificate that a broker shows; empty if it cannot be read."""
    try:
        anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        anything.check_hostname = False
        anything.verify_mode = ssl.CERT_NONE
        with _open(address, limit_s) as raw, anything.wrap_socket(raw) as secured:
            shown = secured.getpeercert(binary_form=True) or b""
        # OpenSSL names only a certificate that it verified: the shown one is its own trust anchor here.
        itself = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        itself.check_hostname = False
        itself.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        itself.load_verify_locations(cadata=shown)
        with _open(address, limit_s) as raw, itself.wrap_socket(raw) as secured:
            certificate: Mapping[str, Any] = secured.getpeercert() or {}
    except (OSError, ValueError):
        return ""
    if not certificate:
        return ""
    return f"; it shows the certificate of {_names(certificate)}, issued by {_name(certificate.get('issuer', ()))}"


def _words_of_tls(error: Exception) -> tuple[str, str]:
    if isinstance(error, ssl.SSLCertVerificationError):
        if "expired" in error.verify_message:
            return f"the certificate is refused: {error.verify_message}", "Renew the broker's certificate."
        if "not valid for" in error.verify_message:
            return (
                f"the certificate is refused: {error.verify_message}",
                "Use a host name in bootstrap.servers that the certificate was issued for.",
            )
        return (
            f"the certificate is refused: {error.verify_message}",
            "Give the CA certificate that signed it in ssl.ca.location.",
        )
    if isinstance(error, TimeoutError):
        return (
            "the broker accepted the connection and did not answer the handshake in time",
            "Check that this port is a TLS listener, and that the broker is not overloaded.",
        )
    return (
        f"the handshake failed ({_said(error)})",
        "If this is a plain listener, set security.protocol to plaintext or sasl_plaintext, or use the TLS listener's "
        "port; if it asks for a client certificate, set ssl.certificate.location and ssl.key.location.",
    )


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return str(getattr(error, "strerror", None) or error)[:200]
