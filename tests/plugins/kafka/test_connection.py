"""The connection test against real sockets: each way in which a broker can be out of reach has words of its own."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterError, SecretError
from offsetwise.plugins.kafka.stream.client import LOGGER, Client
from offsetwise.plugins.kafka.stream.connection import try_connection
from offsetwise.streams.access import Step, StepName, StepResult
from tests.with_cases import with_cases


def config(bootstrap: str, **properties: str) -> ClusterConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap, **named})


def failed(steps: tuple[Step, ...]) -> Step:
    """The one step that failed; those behind it say so."""
    (found,) = [step for step in steps if step.state is StepResult.FAILED]
    behind = steps[steps.index(found) + 1 :]
    assert all(step.state is StepResult.SKIPPED for step in behind)
    assert all(f"“{found.name}” failed" in step.said for step in behind)
    assert [step.name for step in steps] == list(StepName)
    assert found.fix
    return found


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Accept connections on a port of this machine, and hand each to `answer` in a thread of its own."""
    server = socket.create_server(("127.0.0.1", 0))
    open_: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                accepted, _ = server.accept()
            except OSError:
                return
            open_.append(accepted)
            threading.Thread(target=answered, args=(accepted,), daemon=True).start()

    def answered(accepted: socket.socket) -> None:
        try:
            answer(accepted)
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()
        for each in open_:
            each.close()


def silence(accepted: socket.socket) -> None:
    while accepted.recv(4096):
        pass


def web_page(accepted: socket.socket) -> None:
    accepted.recv(4096)
    accepted.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    accepted.close()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and one for another host, each its own CA, with keys."""
    folder = tmp_path_factory.mktemp("certificates")
    for name, subject, valid_days in (("good", "IP:127.0.0.1", 400), ("elsewhere", "DNS:elsewhere.test", 400)):
        command = (
            f"openssl req -x509 -newkey rsa:2048 -nodes -days {valid_days} -subj /CN={name} "
            f"-addext subjectAltName={subject} -keyout {name}.key -out {name}.pem"
        )
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder


@contextmanager
def tls_listener(certificates: Path, name: str) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")

    def shake_hands(accepted: socket.socket) -> None:
        with context.wrap_socket(accepted, server_side=True) as secured:
            silence(secured)

    with listening(shake_hands) as port:
        yield port


def test_a_name_that_leads_nowhere_fails_to_resolve() -> None:
    step = failed(try_connection(config("no-such-host.invalid:9092")))
    assert step.name is StepName.RESOLVE
    assert "no-such-host.invalid:9092" in step.said
    assert "bootstrap.servers" in step.fix


def test_a_port_where_nothing_listens_refuses() -> None:
    step = failed(try_connection(config(f"127.0.0.1:{closed_port()}")))
    assert step.name is StepName.CONNECT
    assert "refused the connection" in step.said


def test_one_dead_server_of_two_is_named_and_does_not_end_the_test() -> None:
    dead = closed_port()
    with listening(silence) as port:
        steps = try_connection(config(f"127.0.0.1:{dead},127.0.0.1:{port}"), timeout_s=1)
    connect = steps[1]
    assert connect.state is StepResult.OK
    assert f"127.0.0.1:{dead} refused" in connect.said
    assert connect.fix
    assert failed(steps).name is StepName.METADATA


@with_cases(
    ("properties", "step"),
    [
        ({}, StepName.METADATA),
        ({"security_protocol": "ssl"}, StepName.TLS),
        (
            {
                "security_protocol": "sasl_plaintext",
                "sasl_mechanism": "PLAIN",
                "sasl_username": "reader",
                "sasl_password": "${CONNECTION_PASSWORD}",
            },
            StepName.AUTHENTICATE,
        ),
    ],
    ids=["plaintext", "tls", "sasl"],
)
def test_a_broker_that_accepts_and_never_answers_ends_the_test_in_time(
    properties: dict[str, str], step: StepName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONNECTION_PASSWORD", "canary")
    with listening(silence) as port:
        began = time.monotonic()
        steps = try_connection(config(f"127.0.0.1:{port}", **properties), timeout_s=1)
        took = time.monotonic() - began
    found = failed(steps)
    assert found.name is step
    assert "accepted the connection" in found.said
    assert took < 3
    assert "canary" not in str(steps)


def test_an_answer_that_comes_after_20_seconds_is_not_waited_for_beyond_the_limit() -> None:
    def slow(accepted: socket.socket) -> None:
        accepted.recv(4096)
        threading.Event().wait(20)

    with listening(slow) as port:
        began = time.monotonic()
        found = failed(try_connection(config(f"127.0.0.1:{port}"), timeout_s=1))
        assert time.monotonic() - began < 3
    assert "did not answer within 1 s" in found.said


def test_something_that_is_no_broker_is_told_apart() -> None:
    with listening(web_page) as port:
        found = failed(try_connection(config(f"127.0.0.1:{port}"), timeout_s=2))
    assert found.name is StepName.METADATA
    assert "not as a Kafka broker" in found.said


def test_tls_to_a_plain_listener_names_the_protocol() -> None:
    with listening(web_page) as port:
        found = failed(try_connection(config(f"127.0.0.1:{port}", security_protocol="ssl"), timeout_s=5))
    assert found.name is StepName.TLS
    assert "the handshake failed" in found.said
    assert "security.protocol" in found.fix


def test_a_certificate_of_an_unknown_ca_is_shown_with_its_names(certificates: Path) -> None:
    with tls_listener(certificates, "good") as port:
        found = failed(try_connection(config(f"127.0.0.1:{port}", security_protocol="ssl"), timeout_s=5))
    assert found.name is StepName.TLS
    assert "self-signed certificate" in found.said
    assert "CN=good for 127.0.0.1, issued by CN=good" in found.said
    assert "ssl.ca.location" in found.fix


def test_a_certificate_for_another_host_says_so(certificates: Path) -> None:
    with tls_listener(certificates, "elsewhere") as port:
        ca = str(certificates / "elsewhere.pem")
        found = failed(
            try_connection(config(f"127.0.0.1:{port}", security_protocol="ssl", ssl_ca_location=ca), timeout_s=5)
        )
    assert found.name is StepName.TLS
    assert "certificate is not valid for '127.0.0.1'" in found.said
    assert "host name" in found.fix


def test_a_good_certificate_is_described_and_the_test_goes_on(certificates: Path) -> None:
    with tls_listener(certificates, "good") as port:
        ca = str(certificates / "good.pem")
        steps = try_connection(config(f"127.0.0.1:{port}", security_protocol="ssl", ssl_ca_location=ca), timeout_s=1)
    tls = steps[2]
    assert tls.state is StepResult.OK
    assert "TLSv1.3, certificate of CN=good for 127.0.0.1, valid until 20" in tls.said
    assert not tls.fix
    assert failed(steps).name is StepName.METADATA


def test_certificates_that_cannot_be_read_are_named() -> None:
    with listening(silence) as port:
        wrong = config(f"127.0.0.1:{port}", security_protocol="ssl", ssl_ca_location="/nowhere/ca.pem")
        found = failed(try_connection(wrong, timeout_s=1))
    assert found.name is StepName.TLS
    assert "cannot be used" in found.said
    assert "ssl.ca.location" in found.fix


def test_every_step_is_reported_as_it_begins_and_ends() -> None:
    told: list[tuple[str, int, int]] = []
    try_connection(
        config(f"127.0.0.1:{closed_port()}"), progress=lambda step, done, total: told.append((step, done, total))
    )
    assert told == [("resolve", 0, 1), ("resolve", 1, 1), ("connect", 0, 1), ("connect", 1, 1)]


def test_a_secret_that_is_not_there_is_an_error_before_anything_is_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    wanting = config(
        "127.0.0.1:1",
        security_protocol="sasl_plaintext",
        sasl_mechanism="PLAIN",
        sasl_username="reader",
        sasl_password="${NOT_THERE}",
    )
    with pytest.raises(SecretError):
        try_connection(wanting)


def test_what_librdkafka_says_of_a_secret_is_masked_in_errors_and_logs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOKEN_URL", "http://me:canary@127.0.0.1:1/canary")
    monkeypatch.setenv("CLIENT_SECRET", "canary-of-the-client")
    secured = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}
    oidc = {"method": "oidc", "client.id": "me", "client.secret": "${CLIENT_SECRET}"}
    oidc |= {"token.endpoint.url": "${TOKEN_URL}"}
    named = secured | {f"sasl.oauthbearer.{name}": value for name, value in oidc.items()}
    cluster = ClusterConfig(name="old", properties={"bootstrap.servers": "127.0.0.1:1", **named})
    with caplog.at_level("DEBUG", LOGGER.name):
        client = Client(cluster, timeout_s=3)
        with pytest.raises(ClusterError) as caught:
            client.contact()

    assert any("Failed to retrieve OIDC token" in line for line in client.log.lines)
    assert "canary" not in f"{caught.value} {client.log.lines} {caplog.text}"


def test_a_user_behind_a_reference_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHO", "canary")
    monkeypatch.setenv("SECRET", "canary-too")
    secured = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.password": "${SECRET}"}
    with listening(lambda accepted: accepted.close()) as port:
        servers = {"bootstrap.servers": f"127.0.0.1:{port}", "sasl.username": "${WHO}"}
        cluster = ClusterConfig(name="old", properties=servers | secured)
        steps = try_connection(cluster, timeout_s=5)

    assert "canary" not in repr(steps)
