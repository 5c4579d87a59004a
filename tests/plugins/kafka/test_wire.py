"""The second client is configured by the properties of the first."""

from __future__ import annotations

import logging
import ssl
import subprocess
from pathlib import Path

import pytest

from offsetwise.client_properties import ClientProperties
from offsetwise.client_properties.kafka_python import configuration, ssl_context
from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterUnreachableError, ConfigError
from offsetwise.lab.brokers import free_ports
from offsetwise.plugins.kafka.stream.client import Deadline
from offsetwise.plugins.kafka.stream.wire import Wire
from tests.with_cases import with_cases

CLUSTER = ClusterConfig(name="third", properties={"bootstrap.servers": "a.invalid:1"})
SERVERS = {"bootstrap.servers": "a.invalid:1, b.invalid:2"}
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -days 2 -subj /CN=reader -passout pass:secret -keyout key.pem -out cert.pem"
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate and its key, which has a password."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(CERTIFICATE.split(), cwd=folder, check=True, capture_output=True)
    return folder


def test_sasl_has_the_names_of_the_second_client() -> None:
    properties = {"security.protocol": "sasl_plaintext", "sasl.mechanisms": "scram-sha-512", "sasl.username": "u"}

    assert configuration(CLUSTER, ClientProperties(SERVERS | properties | {"sasl.password": "p"})) == {
        "bootstrap_servers": ["a.invalid:1", "b.invalid:2"],
        "client_id": "offsetwise",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "u",
        "sasl_plain_password": "p",
    }


@with_cases(
    ("properties", "verified", "named"),
    [
        ({}, True, True),
        ({"ssl.endpoint.identification.algorithm": "none"}, True, False),
        ({"enable.ssl.certificate.verification": "false"}, False, False),
    ],
)
def test_certificates_are_verified_unless_the_properties_say_otherwise(
    properties: dict[str, str], verified: bool, named: bool
) -> None:
    made = ssl_context(ClientProperties(properties))

    assert (made.verify_mode == ssl.CERT_REQUIRED, made.check_hostname) == (verified, named)


def test_only_the_ca_that_is_given_is_trusted_as_a_file_or_as_text(certificate: Path) -> None:
    path = certificate / "cert.pem"
    for properties in ({"ssl.ca.location": str(path)}, {"ssl.ca.pem": path.read_text("utf-8")}):
        made = ssl_context(ClientProperties(properties))
        assert [each["subject"] for each in made.get_ca_certs()] == [((("commonName", "reader"),),)]


def test_a_certificate_of_ones_own_is_taken_as_files_or_as_text_and_its_key_needs_the_password(
    certificate: Path,
) -> None:
    files = {
        "ssl.certificate.location": str(certificate / "cert.pem"),
        "ssl.key.location": str(certificate / "key.pem"),
    }
    text = {
        "ssl.certificate.pem": (certificate / "cert.pem").read_text("utf-8"),
        "ssl.key.pem": (certificate / "key.pem").read_text("utf-8"),
    }
    for properties in (files, text):
        ssl_context(ClientProperties(properties | {"ssl.key.password": "secret"}))
        wrong = ClientProperties(SERVERS | properties | {"ssl.key.password": "wrong", "security.protocol": "ssl"})
        with pytest.raises(ConfigError, match="expected certificates and a key that can be used"):
            configuration(CLUSTER, wrong)


@with_cases("name", ["ssl.keystore.location", "sasl.oauthbearer.method"])
def test_what_the_second_client_cannot_use_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"found {name}") as refused:
        configuration(CLUSTER, ClientProperties(SERVERS | {name: "x"}))

    assert "sinks" in refused.value.fix


def test_no_password_is_logged_however_much_a_program_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    (port,) = free_ports(1)
    properties = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        **{"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "u"},
        "sasl.password": "a-password-nobody-may-read",
    }

    with pytest.raises(ClusterUnreachableError):
        Wire(CLUSTER, ClientProperties(properties), Deadline(1))

    assert "a-password-nobody-may-read" not in caplog.text
