import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from offsetwise.client_properties import ALLOWED, FORBIDDEN, Kind, check, jaas_quote, resolve, servers, to_java
from offsetwise.errors import ConfigError, ForbiddenPropertyError, SecretError
from tests.with_cases import with_cases

OPENSSL = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=me -days 2 -keyout key.pem -out cert.pem"
PLAIN = {"bootstrap.servers": "broker:9092"}
SASL = PLAIN | {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "me",
    "sasl.password": "${SECRET}",
}


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "canary")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        OPENSSL.split(),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


@with_cases("name", sorted(FORBIDDEN))
def test_properties_that_run_code_or_leave_a_trace_are_refused_with_a_reason(name: str) -> None:
    with pytest.raises(ForbiddenPropertyError) as raised:
        check(PLAIN | {name: "x"}, where="source.properties")
    assert f"source.properties.{name}" in raised.value.problem
    assert FORBIDDEN[name][0] in raised.value.problem


@with_cases("name", ["sasl.kerberos.principal", "statistics", "Bootstrap.Servers", "ssl.engine.x", ""])
def test_whatever_is_not_on_the_list_is_refused(name: str) -> None:
    with pytest.raises(ForbiddenPropertyError, match="not on the list"):
        check(PLAIN | {name: "x"}, where="source.properties")


def test_a_misspelt_property_is_answered_with_the_right_one() -> None:
    with pytest.raises(ForbiddenPropertyError, match=r"Did you mean sasl\.username"):
        check(PLAIN | {"sasl.user.name": "x"}, where="source.properties")


def test_no_name_is_both_allowed_and_forbidden() -> None:
    assert not ALLOWED.keys() & FORBIDDEN.keys()


def test_librdkafka_knows_every_allowed_property() -> None:
    samples = {Kind.NUMBER: "1000", Kind.BOOLEAN: "true", Kind.SERVERS: "127.0.0.1:1", Kind.URL: "https://id/token"}
    for name, known in ALLOWED.items():
        if known.kind not in (Kind.PATH, Kind.PEM, Kind.SECRET):
            AdminClient({name: known.values[0] if known.values else samples.get(known.kind, "x")})


@with_cases("name", [name for name, known in ALLOWED.items() if known.kind is Kind.NUMBER])
def test_a_number_is_accepted_exactly_where_librdkafka_takes_it(name: str) -> None:
    known = ALLOWED[name]
    most = PLAIN | {"reconnect.backoff.max.ms": "3600000"}
    for value in (known.least, known.most):
        given = most | {name: str(value)} | ({"reconnect.backoff.ms": "0"} if name.endswith("backoff.max.ms") else {})
        check(given, where="source.properties")
        AdminClient({**given})
    for value in (known.least - 1, known.most + 1):
        with pytest.raises(ConfigError, match=f"expected milliseconds from {known.least} to {known.most}"):
            check(most | {name: str(value)}, where="source.properties")


@with_cases(
    ("properties", "said"),
    [
        pytest.param({}, "expected bootstrap.servers", id="no-servers"),
        pytest.param({"bootstrap.servers": "broker"}, "expected host:port", id="no-port"),
        pytest.param({"bootstrap.servers": "broker:99999"}, "expected host:port", id="port-too-high"),
        pytest.param({"bootstrap.servers": "PLAINTEXT://broker:9092"}, "expected host:port", id="listener-name"),
        pytest.param(PLAIN | {"client.id": "a\nb"}, "control characters", id="control-character"),
        pytest.param(PLAIN | {"client.id": ""}, "found nothing", id="empty"),
        pytest.param(PLAIN | {"security.protocol": "tls"}, "expected one of plaintext", id="protocol"),
        pytest.param(PLAIN | {"socket.timeout.ms": "1s"}, "expected milliseconds", id="number"),
        pytest.param(PLAIN | {"socket.keepalive.enable": "yes"}, "expected true or false", id="boolean"),
        pytest.param(PLAIN | {"sasl.username": "me"}, "would be ignored", id="sasl-on-plaintext"),
        pytest.param(PLAIN | {"ssl.ca.location": "ca.pem"}, "would be ignored", id="tls-on-plaintext"),
        pytest.param(PLAIN | {"security.protocol": "sasl_ssl"}, "sasl.mechanism is missing", id="no-mechanism"),
        pytest.param(SASL | {"sasl.mechanisms": "PLAIN"}, "two names of one property", id="mechanism-twice"),
        pytest.param(SASL | {"sasl.mechanism": "GSSAPI"}, "expected one of plain", id="kerberos"),
        pytest.param(
            SASL | {"ssl.ca.location": "a", "ssl.ca.pem": "-----BEGIN CERTIFICATE-----"}, "found both", id="ca-twice"
        ),
        pytest.param(SASL | {"sasl.password": "canary"}, "expected a reference", id="plain-secret"),
        pytest.param(SASL | {"ssl.ca.pem": "ca.pem"}, "expected PEM text, found no '-----BEGIN' line", id="pem-path"),
        pytest.param(PLAIN | {"reconnect.backoff.ms": "10001"}, "expected the first not to be longer", id="backoff"),
    ],
)
def test_values_that_cannot_work_are_refused_before_anything_is_contacted(
    properties: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        check(properties, where="source.properties")
    assert "canary" not in str(raised.value)


def test_references_lead_to_the_environment_and_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("from file\n", encoding="utf-8")
    monkeypatch.setenv("WHO", "other")
    given = SASL | {"sasl.username": "${WHO}", "sasl.password": f"file:{tmp_path}/password"}
    made = resolve(given, where="source", folder=str(tmp_path))
    assert made["sasl.username"] == "other"
    assert made["sasl.password"] == "from file"


def test_what_a_reference_leads_to_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHO", "two\nlines")
    with pytest.raises(ConfigError, match="found control characters"):
        resolve(SASL | {"sasl.username": "${WHO}"}, where="source")
    with pytest.raises(ConfigError, match="no '-----BEGIN' line") as raised:
        resolve(SASL | {"ssl.ca.pem": "${SECRET}"}, where="source")
    assert "canary" not in str(raised.value)


@with_cases("reference", ["${NOT_SET_ANYWHERE}", "file:/not/here"])
def test_a_reference_that_leads_nowhere_names_itself(reference: str) -> None:
    with pytest.raises(SecretError, match=r"source\.sasl\.password"):
        resolve(SASL | {"sasl.password": reference}, where="source")


def test_resolved_secrets_mask_themselves() -> None:
    made = to_java(resolve(SASL, where="source"), where="source")
    assert "canary" in made["sasl.jaas.config"]
    assert "canary" not in f"{made} {made!r}"


def test_sasl_becomes_a_jaas_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", 'a"b\\c')
    made = to_java(resolve(SASL, where="source"), where="source")
    assert made["security.protocol"] == "SASL_SSL"
    assert made["sasl.mechanism"] == "SCRAM-SHA-512"
    assert made["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="a\\"b\\\\c";'
    )


@with_cases(
    ("text", "quoted"), [("", '""'), ('"', '"\\""'), ("\\", '"\\\\"'), ("a;b' c", '"a;b\' c"'), ("\n", '"\\n"')]
)
def test_jaas_values_cannot_end_their_quotes(text: str, quoted: str) -> None:
    assert jaas_quote(text) == quoted


def test_certificates_are_handed_to_java_as_pem_text(certificate: Path) -> None:
    given = PLAIN | {
        "security.protocol": "ssl",
        "ssl.ca.location": str(certificate / "cert.pem"),
        "ssl.certificate.location": str(certificate / "cert.pem"),
        "ssl.key.location": str(certificate / "key.pem"),
        "ssl.endpoint.identification.algorithm": "none",
    }
    made = to_java(resolve(given, where="source"), where="source")
    assert made["ssl.truststore.type"] == made["ssl.keystore.type"] == "PEM"
    assert made["ssl.truststore.certificates"].startswith("-----BEGIN CERTIFICATE-----")
    assert made["ssl.keystore.key"].startswith("-----BEGIN PRIVATE KEY-----")
    assert made["ssl.endpoint.identification.algorithm"] == ""
    assert "PRIVATE" not in repr(made)


def test_timeouts_get_the_java_clients_names() -> None:
    made = to_java(PLAIN | {"socket.timeout.ms": "5000", "client.id": "x"}, where="source")
    assert (made["request.timeout.ms"], made["client.id"]) == ("5000", "x")


KEY = "-----BEGIN ENCRYPTED PRIVATE KEY-----"
CERTIFICATE = "-----BEGIN CERTIFICATE-----"
TLS = PLAIN | {"security.protocol": "ssl"}
BY_A_RULE = {
    "sasl.mechanism": (SASL, "sasl.mechanism"),
    "sasl.mechanisms": (
        PLAIN
        | {"security.protocol": "sasl_ssl", "sasl.mechanisms": "PLAIN", "sasl.username": "a", "sasl.password": "b"},
        "sasl.mechanism",
    ),
    "sasl.password": (SASL, "sasl.jaas.config"),
    "sasl.username": (SASL, "sasl.jaas.config"),
    "security.protocol": (SASL, "security.protocol"),
    "ssl.ca.location": (TLS | {"ssl.ca.location": "cert.pem"}, "ssl.truststore.certificates"),
    "ssl.ca.pem": (TLS | {"ssl.ca.pem": CERTIFICATE}, "ssl.truststore.certificates"),
    "ssl.certificate.location": (
        TLS | {"ssl.certificate.location": "cert.pem", "ssl.key.location": "key.pem"},
        "ssl.keystore.certificate.chain",
    ),
    "ssl.certificate.pem": (
        TLS | {"ssl.certificate.pem": CERTIFICATE, "ssl.key.location": "key.pem"},
        "ssl.keystore.certificate.chain",
    ),
    "ssl.endpoint.identification.algorithm": (
        TLS | {"ssl.endpoint.identification.algorithm": "https"},
        "ssl.endpoint.identification.algorithm",
    ),
    "ssl.key.location": (
        TLS | {"ssl.certificate.location": "cert.pem", "ssl.key.location": "key.pem"},
        "ssl.keystore.key",
    ),
    "ssl.key.password": (
        TLS | {"ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": KEY, "ssl.key.password": "x"},
        "ssl.key.password",
    ),
    "ssl.key.pem": (
        TLS | {"ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": KEY, "ssl.key.password": "x"},
        "ssl.keystore.key",
    ),
    "ssl.keystore.location": (TLS | {"ssl.keystore.location": "me.p12"}, "ssl.keystore.location"),
    "ssl.keystore.password": (
        TLS | {"ssl.keystore.location": "me.p12", "ssl.keystore.password": "x"},
        "ssl.keystore.password",
    ),
}
REFUSED = {
    "broker.address.family": {"broker.address.family": "v4"},
    "enable.ssl.certificate.verification": {"enable.ssl.certificate.verification": "false"},
} | {name: {"sasl.mechanism": "OAUTHBEARER", name: "x"} for name in ALLOWED if name.startswith("sasl.oauthbearer.")}
ALWAYS = {"socket.keepalive.enable"}
"""What the Java client does anyway."""


def test_every_allowed_property_reaches_java_or_is_refused(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(certificate)
    for name, known in ALLOWED.items():
        if known.java is not None:
            assert to_java(PLAIN | {name: "7"}, where="source")[known.java] == "7", name
    for name, (given, java) in BY_A_RULE.items():
        assert name in given
        assert java in to_java(given, where="source"), name
    for name, given in REFUSED.items():
        with pytest.raises(ConfigError, match="no equal"):
            to_java(TLS | given, where=name)

    one_to_one = {name for name, known in ALLOWED.items() if known.java is not None}
    assert one_to_one | BY_A_RULE.keys() | REFUSED.keys() | ALWAYS == ALLOWED.keys()


@with_cases(
    ("extra", "said"),
    [
        pytest.param({"enable.ssl.certificate.verification": "false"}, "no equal", id="no-verification"),
        pytest.param({"broker.address.family": "v4"}, "no equal", id="address-family"),
        pytest.param({"ssl.certificate.pem": "-----BEGIN CERTIFICATE-----"}, "only one of them", id="no-key"),
        pytest.param(
            {
                "ssl.certificate.pem": "-----BEGIN CERTIFICATE-----",
                "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----",
            },
            "openssl pkcs8",
            id="pkcs1-key",
        ),
        pytest.param(
            {
                "ssl.certificate.pem": "-----BEGIN CERTIFICATE-----",
                "ssl.key.pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----",
            },
            "ssl.key.password is missing",
            id="encrypted-key",
        ),
        pytest.param({"sasl.mechanism": "OAUTHBEARER"}, "no equal", id="oauth"),
        pytest.param({"ssl.ca.location": "/not/here.pem"}, "expected a readable file", id="ca-missing"),
    ],
)
def test_what_java_has_no_equal_for_is_refused_before_anything_is_read(extra: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        to_java(PLAIN | {"security.protocol": "ssl"} | extra, where="source")


def test_servers_are_compared_without_case_and_order() -> None:
    assert servers({"bootstrap.servers": "B:1, a:2"}) == servers({"bootstrap.servers": "a:2,b:1"})
