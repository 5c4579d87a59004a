"""Property files of either client are read, and their secrets go nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.client_properties import check, given_cluster
from offsetwise.client_properties.property_files import GivenCluster, parse
from offsetwise.client_properties.references import follow, lent
from offsetwise.errors import ConfigError, SecretError
from tests.with_cases import with_cases

JAAS = "org.apache.kafka.common.security"
CASES = {
    "plain, Java": (
        f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={JAAS}.plain.PlainLoginModule"
        ' required \\\n  username="ada" password="pa\\\\"ss\\\\\\\\w";\n',
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ada",
            "sasl.password": "${OLD_SASL_PASSWORD}",
        },
        {"OLD_SASL_PASSWORD": 'pa"ss\\w'},
        (),
    ),
    "scram, librdkafka": (
        "security.protocol=sasl_plaintext\nsasl.mechanisms=SCRAM-SHA-512\nsasl.username=ada\nsasl.password=a\\b=c\n",
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "ada",
            "sasl.password": "${OLD_SASL_PASSWORD}",
        },
        {"OLD_SASL_PASSWORD": "a\\b=c"},
        (),
    ),
    "oauth, Java": (
        f"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=https://id/token\n"
        f"sasl.login.callback.handler.class={JAAS}.oauthbearer.OAuthBearerLoginCallbackHandler\n"
        f"sasl.jaas.config={JAAS}.oauthbearer.OAuthBearerLoginModule required clientId='app' clientSecret='s3cret';\n",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://id/token",
            "sasl.oauthbearer.client.id": "app",
            "sasl.oauthbearer.client.secret": "${OLD_SASL_OAUTHBEARER_CLIENT_SECRET}",
            "sasl.oauthbearer.method": "oidc",
        },
        {"OLD_SASL_OAUTHBEARER_CLIENT_SECRET": "s3cret"},
        ("sasl.login.callback.handler.class",),
    ),
    "stores of PEM, Java": (
        "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\nssl.keystore.type=PEM\n"
        "ssl.keystore.location=/me.pem\nssl.key.password=s3cret\nssl.endpoint.identification.algorithm=\n",
        {
            "security.protocol": "SSL",
            "ssl.ca.location": "/ca.pem",
            "ssl.certificate.location": "/me.pem",
            "ssl.key.location": "/me.pem",
            "ssl.key.password": "${OLD_SSL_KEY_PASSWORD}",
            "ssl.endpoint.identification.algorithm": "none",
        },
        {"OLD_SSL_KEY_PASSWORD": "s3cret"},
        (),
    ),
    "stores of Java's own": (
        "security.protocol=SSL\nssl.truststore.location=/t.jks\nssl.truststore.password=s3cret\n"
        "ssl.keystore.location=/k.jks\nssl.keystore.password=s3cret\nssl.key.password=s3cret\n",
        {"security.protocol": "SSL"},
        {},
        ("ssl.truststore.location", "ssl.keystore.location"),
    ),
    "a store of PKCS#12": (
        "security.protocol=SSL\nssl.keystore.location=/k.p12\nssl.keystore.password=s3cret\nssl.key.password=s3cret\n",
        {
            "security.protocol": "SSL",
            "ssl.keystore.location": "/k.p12",
            "ssl.keystore.password": "${OLD_SSL_KEYSTORE_PASSWORD}",
        },
        {"OLD_SSL_KEYSTORE_PASSWORD": "s3cret"},
        (),
    ),
    "keys as text": (
        "security.protocol=SSL\nssl.keystore.certificate.chain=-----BEGIN CERTIFICATE-----\\n\\\n  c\\n\n"
        "ssl.keystore.key=-----BEGIN PRIVATE KEY-----\\n\\\n  s3cret\\n\n",
        {
            "security.protocol": "SSL",
            "ssl.certificate.pem": "${OLD_SSL_CERTIFICATE_PEM}",
            "ssl.key.pem": "${OLD_SSL_KEY_PEM}",
        },
        {
            "OLD_SSL_CERTIFICATE_PEM": "-----BEGIN CERTIFICATE-----\nc\n",
            "OLD_SSL_KEY_PEM": "-----BEGIN PRIVATE KEY-----\ns3cret\n",
        },
        (),
    ),
    "references stay": (
        "security.protocol=sasl_ssl\nsasl.mechanism=PLAIN\nsasl.username=${env:WHO}\nsasl.password=${MY_SECRET}\n",
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "${WHO}",
            "sasl.password": "${MY_SECRET}",
        },
        {},
        (),
    ),
    "other settings": (
        "# mine\n! too\n\nclient.id : me\nrequest.timeout.ms=7000\ngroup.id=g\nkey.deserializer=x\nacks=1\n",
        {"client.id": "me", "socket.timeout.ms": "7000"},
        {},
        ("group.id", "key.deserializer", "acks"),
    ),
    "spaces at line ends": (
        "security.protocol=SSL \r\nclient.id= me\t\r\n",
        {"security.protocol": "SSL", "client.id": "me"},
        {},
        (),
    ),
    "a secret with what Unicode takes for line ends": (
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=ada\n"
        "sasl.password=x\u0085s3cret\u2028s3cret\x0cs3cret\n",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ada",
            "sasl.password": "${OLD_SASL_PASSWORD}",
        },
        {"OLD_SASL_PASSWORD": "x\u0085s3cret\u2028s3cret\x0cs3cret"},
        (),
    ),
    "a key without marks at its line ends": (
        "security.protocol=SSL\nssl.key.pem=-----BEGIN PRIVATE KEY-----\nMIIs3cret/+\ns3cret==\ns3cretx\n",
        {"security.protocol": "SSL", "ssl.key.pem": "${OLD_SSL_KEY_PEM}"},
        {"OLD_SSL_KEY_PEM": "-----BEGIN PRIVATE KEY-----"},
        ("3 lines",),
    ),
    "a character as Java's two escapes": (
        f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={JAAS}.plain.PlainLoginModule required "
        'username="ada" password="\\uD83D\\uDE00";\n',
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ada",
            "sasl.password": "${OLD_SASL_PASSWORD}",
        },
        {"OLD_SASL_PASSWORD": "\N{GRINNING FACE}"},
        (),
    ),
}


def given(tmp_path: Path, text: str, encoding: str = "utf-8") -> GivenCluster:
    (tmp_path / "old.properties").write_bytes(f"bootstrap.servers=broker:9092\n{text}".encode(encoding))
    return given_cluster(str(tmp_path / "old.properties"), prefix="OLD", option="--old")


@with_cases(("text", "properties", "secrets", "left_out"), CASES.values(), ids=CASES)
def test_a_file_becomes_properties_with_references(
    text: str, properties: dict[str, str], secrets: dict[str, str], left_out: tuple[str, ...], tmp_path: Path
) -> None:
    made = given(tmp_path, text)

    assert made.properties == {"bootstrap.servers": "broker:9092", **properties}
    assert made.secrets == secrets
    assert tuple(name for name, _ in made.left_out) == left_out
    assert not any(secret in repr(made) for secret in secrets.values())
    assert "s3cret" not in repr(made)
    check(made.properties, where="--old")


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    made = given(tmp_path, "security.protocol=ssl\nssl.ca.location=ca.pem\n")

    assert made.properties["ssl.ca.location"] == str(tmp_path / "ca.pem")


def test_a_password_inside_an_address_is_a_secret(tmp_path: Path) -> None:
    made = given(tmp_path, "sasl.oauthbearer.token.endpoint.url=https://me:s3cret@id/token\n")

    assert made.secrets == {"OLD_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL": "https://me:s3cret@id/token"}
    assert "s3cret" not in str(made.properties)


def test_a_login_that_is_not_known_is_left_out_without_its_values(tmp_path: Path) -> None:
    text = (
        'sasl.mechanism=GSSAPI\nsasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required keyTab="s3cret";'
    )
    made = given(tmp_path, text)

    assert [name for name, _ in made.left_out] == ["sasl.jaas.config"]
    assert "s3cret" not in repr(made)


def test_text_of_latin_1_is_read(tmp_path: Path) -> None:
    assert given(tmp_path, "client.id=M\u00fcller\n", "latin-1").properties["client.id"] == "Müller"


def test_the_mark_that_windows_puts_first_belongs_to_no_name(tmp_path: Path) -> None:
    (tmp_path / "old.properties").write_bytes(b"\xef\xbb\xbfbootstrap.servers=broker:9092\r\n")

    made = given_cluster(str(tmp_path / "old.properties"), prefix="OLD", option="--old")

    assert made == GivenCluster(properties={"bootstrap.servers": "broker:9092"})


@with_cases(
    ("value", "told"),
    [
        ("${file:/etc/s3cret.properties:password}", "found a reference to a configuration provider of Kafka"),
        ("\\uD83Ds3cret", "found half of a character"),
    ],
)
def test_what_no_client_could_sign_in_with_is_refused_and_not_shown(value: str, told: str, tmp_path: Path) -> None:
    login = f'sasl.jaas.config={JAAS}.plain.PlainLoginModule required username="ada" password="{value}";'

    with pytest.raises(ConfigError, match=rf"old.properties: sasl.password: .*{told}") as refused:
        given(tmp_path, login)

    assert "s3cret" not in f"{refused.value.problem} {refused.value.fix}"


def test_escapes_are_javas_unless_librdkafka_wrote_the_file() -> None:
    assert parse("client.id=a\\u0041\\t\\\\") == {"client.id": "aA\t\\"}
    assert parse("client.id=a\\u0041\nsasl.username=x") == {"client.id": "a\\u0041", "sasl.username": "x"}
    assert parse("a\\ b=c") == {"a b": "c"}


@with_cases("address", ["broker:9092", "a:1,b:2", "[::1]:9092"])
def test_an_address_is_taken_as_it_is(address: str) -> None:
    assert given_cluster(address, prefix="OLD", option="--old") == GivenCluster(
        properties={"bootstrap.servers": address}
    )


@with_cases("neither", ["", "broker", "broker:9092,", "nowhere.properties", "/"])
def test_what_is_neither_address_nor_file_is_refused(neither: str) -> None:
    with pytest.raises(ConfigError, match="--old"):
        given_cluster(neither, prefix="OLD", option="--old")


def test_a_password_inside_what_is_no_address_is_not_shown() -> None:
    with pytest.raises(ConfigError, match="found 'broker:9092' after an @") as refused:
        given_cluster("ada:s3cret@broker:9092", prefix="OLD", option="--old")

    assert "s3cret" not in f"{refused.value.problem} {refused.value.fix}"


def test_what_is_lent_is_seen_inside_the_block_only() -> None:
    with lent({"OLD_SASL_PASSWORD": "s3cret"}):
        assert follow("key", "${OLD_SASL_PASSWORD}") == "s3cret"
    with pytest.raises(SecretError):
        follow("key", "${OLD_SASL_PASSWORD}")
