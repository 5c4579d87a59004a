"""Remedies of client properties and of Spark's settings: the property that is named is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from offsetwise.client_properties import resolve, to_java
from offsetwise.client_properties.checking import check
from offsetwise.client_properties.property_files import given_cluster
from offsetwise.client_properties.spark import check_command_line, own_properties
from offsetwise.client_properties.spark_allowed import check_allowed, check_server
from tests.remedies.walk import Scene, Steps, corrected, edited, walk

SERVER = {"bootstrap.servers": "broker:9092"}
SASL = SERVER | {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "me",
    "sasl.password": "${PASSWORD}",
}
TLS = SERVER | {"security.protocol": "ssl"}
Properties = dict[str, str]


def replaced(scope: str, words: str, name: str, before: Properties, after: Properties) -> None:
    corrected(
        f"client_properties/{scope}",
        words,
        name,
        lambda: check(before, where="source.properties"),
        lambda: check(after, where="source.properties"),
    )


def without(properties: Properties, *names: str) -> Properties:
    return {name: value for name, value in properties.items() if name not in names}


replaced("checking.py::check", "Add bootstrap.servers", "no_servers", {}, SERVER)
VALUE = "checking.py::_check_value"
TEXT = "checking.py::_check_text"
ME = {"client.id": "me"}
replaced(TEXT, "Give the text of a PEM", "no_pem", TLS | {"ssl.ca.pem": "x"}, TLS | {"ssl.ca.location": "/ca.pem"})
replaced(TEXT, "or remove the property", "empty_value", SERVER | {"client.id": ""}, SERVER)
replaced(VALUE, "Use one of these values", "unknown_protocol", SERVER | {"security.protocol": "tls"}, TLS)
WAIT = "reconnect.backoff.ms"
replaced(VALUE, "Give a whole number", "no_number", SERVER | {WAIT: "1s"}, SERVER | {WAIT: "1000"})
VERIFY = "enable.ssl.certificate.verification"
replaced(VALUE, "Write true or false", "no_boolean", TLS | {VERIFY: "yes"}, TLS | {VERIFY: "true"})
replaced(VALUE, 'Write "host:port"', "no_port", {"bootstrap.servers": "broker"}, SERVER)
TOGETHER = "checking.py::_check_together"
replaced(TOGETHER, "Keep sasl.mechanism", "mechanism_twice", SASL | {"sasl.mechanisms": "PLAIN"}, SASL)
PROTOCOL = "security.protocol"
replaced(TOGETHER, "or remove the sasl properties", "sasl_without_protocol", without(SASL, PROTOCOL), SASL)
replaced(
    TOGETHER,
    "or remove the ssl properties",
    "tls_without_protocol",
    SERVER | {"ssl.ca.location": "/ca.pem"},
    TLS | {"ssl.ca.location": "/ca.pem"},
)
BOTH = {"ssl.key.location": "/key.pem", "ssl.key.pem": "${KEY}"}
replaced(TOGETHER, "Remove one of them", "key_twice", TLS | BOTH, TLS | without(BOTH, "ssl.key.pem"))
replaced(
    TOGETHER,
    "Raise reconnect.backoff.max.ms",
    "backoff",
    SERVER | {WAIT: "20000"},
    SERVER | {WAIT: "20000", "reconnect.backoff.max.ms": "20000"},
)
replaced(TOGETHER, "Add ", "no_password", without(SASL, "sasl.password"), SASL)
corrected(
    "client_properties/references.py::only_reference",
    "Write ${NAME}",
    "secret_written_out",
    lambda: check(SASL | {"sasl.password": "secret"}, where="source.properties"),
    lambda: check(SASL, where="source.properties"),
)


replaced(VALUE, "Write the value itself", "reference_of_no_credential", SERVER | {"client.id": "${ME}"}, SERVER | ME)


@walk("client_properties/checking.py::_check_text", "beginning with https://")
def token_from_a_file(_: Scene) -> Steps:
    name = "sasl.oauthbearer.token.endpoint.url"
    oidc = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "${PASSWORD}",
    }
    before = SERVER | {PROTOCOL: "sasl_ssl"} | oidc
    return Steps(
        lambda: check(before | {name: "FILE:///token"}, where="source.properties"),
        lambda: None,
        lambda: check(before | {name: "https://id.example/token"}, where="source.properties"),
    )


def resolved(scene: Scene, properties: Properties) -> object:
    return resolve(properties, where="source.properties", folder=str(scene.folder))


@walk("client_properties/references.py::follow", "If the value is meant for this cluster")
def variable_not_listed(scene: Scene) -> Steps:
    scene.patch.setenv("PASSWORD", "not-a-secret")
    scene.patch.setenv("OFFSETWISE_SECRETS", "OTHER")
    return Steps(lambda: resolved(scene, SASL), lambda: scene.patch.setenv("OFFSETWISE_SECRETS", "OTHER:PASSWORD"))


@walk("client_properties/references.py::_read_secret", "add its folder")
def secret_outside(scene: Scene) -> Steps:
    outside = scene.write("elsewhere/password", "not-a-secret")
    properties = SASL | {"sasl.password": f"file:{outside}"}
    return Steps(
        lambda: resolve(properties, where="source.properties", folder=str(scene.folder / "mine")),
        lambda: scene.patch.setenv("OFFSETWISE_SECRETS", str(outside.parent)),
    )


@walk("client_properties/references.py::follow", "in the environment that starts Offsetwise")
def variable_not_set(scene: Scene) -> Steps:
    scene.patch.delenv("PASSWORD", raising=False)
    return Steps(
        lambda: resolve(SASL, where="source.properties"), lambda: scene.patch.setenv("PASSWORD", "not-a-secret")
    )


@walk("client_properties/references.py::_text_of", "Correct the path")
def secret_file_missing(scene: Scene) -> Steps:
    path = scene.folder / "password"
    properties = SASL | {"sasl.password": f"file:{path}"}
    return Steps(lambda: resolved(scene, properties), lambda: scene.write("password", "not-a-secret\n"))


@walk("client_properties/references.py::_text_of", "Write the value into the file")
def secret_file_empty(scene: Scene) -> Steps:
    properties = SASL | {"sasl.password": f"file:{scene.write('password', '')}"}
    return Steps(lambda: resolved(scene, properties), lambda: scene.write("password", "not-a-secret\n"))


JVM = "spark.executor.extraJavaOptions"
for words, name, value in (
    ("Write the value out", "reference_in_an_option_of_a_jvm", "${OPTIONS}"),
    ("Take -D", "secret_in_an_option_of_a_jvm", "-Djavax.net.ssl.keyStorePassword=x"),
):
    corrected(
        "client_properties/spark.py::check_command_line",
        words,
        name,
        lambda value=value: check_command_line({JVM: value}),  # type: ignore[misc]
        lambda: check_command_line({JVM: "-Dconfig=/etc/spark.properties"}),
    )


def java(
    words: str, function: str, name: str, before: Callable[[Scene], Properties], after: Callable[[Scene], Properties]
) -> None:
    @walk(f"client_properties/java.py::{function}", words, name=name)
    def _(scene: Scene) -> Steps:
        given = before(scene)

        def follow() -> None:
            given.clear()
            given.update(after(scene))

        return Steps(lambda: to_java(given, where="source.properties"), follow)


PEM = "-----BEGIN CERTIFICATE-----\n"
PKCS8 = "-----BEGIN PRIVATE KEY-----\n"
ENCRYPTED = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"


def keyed(scene: Scene, key: str, **more: str) -> Properties:
    return TLS | {
        "ssl.certificate.location": str(scene.write("certificate.pem", PEM)),
        "ssl.key.location": str(scene.write("key.pem", key)),
        **{name.replace("_", "."): value for name, value in more.items()},
    }


java(
    "a certificate and its key",
    "_java_key",
    "certificate_without_key",
    lambda scene: without(keyed(scene, PKCS8), "ssl.key.location"),
    lambda scene: keyed(scene, PKCS8),
)
java(
    "Convert it: openssl pkcs8",
    "_java_key",
    "key_of_pkcs1",
    lambda scene: keyed(scene, "-----BEGIN RSA PRIVATE KEY-----\n"),
    lambda scene: keyed(scene, PKCS8),
)
java(
    "Add ssl.key.password",
    "_java_key",
    "encrypted_key",
    lambda scene: keyed(scene, ENCRYPTED),
    lambda scene: keyed(scene, ENCRYPTED, ssl_key_password="x"),
)
java(
    "Convert it to PEM",
    "_pem",
    "certificate_of_der",
    lambda scene: TLS | {"ssl.ca.location": str(scene.write("ca", "\x30"))},
    lambda scene: TLS | {"ssl.ca.location": str(scene.write("ca", PEM))},
)

GIVEN = "client_properties/property_files.py::"


def given(path: Path) -> object:
    return given_cluster(str(path), prefix="OLD", option="--old")


FILE = "bootstrap.servers=broker:9092\n"
edited(
    GIVEN + "_check_text",
    "Write the value itself",
    "configuration_provider",
    given,
    FILE + "client.id=${vault:a}\n",
    FILE + "client.id=me\n",
)
edited(
    GIVEN + "_check_text",
    "Save the file as UTF-8",
    "half_a_character",
    given,
    FILE + "client.id=\\ud83d\n",
    FILE + "client.id=😀\n",
)
edited(GIVEN + "given_cluster", "Give another file", "too_large", given, FILE + "#" * 2**20, FILE)


@walk(GIVEN + "_given_address", "Give an address such as")
def neither_address_nor_file(scene: Scene) -> Steps:
    path = scene.folder / "client.properties"
    return Steps(lambda: given(path), lambda: scene.write("client.properties", FILE))


@walk(GIVEN + "given_cluster", "that the user who runs Offsetwise may read")
def a_folder(scene: Scene) -> Steps:
    file = scene.write("client.properties", FILE)
    return Steps(lambda: given(scene.folder), lambda: None, lambda: given(file))


SPARK = "client_properties/spark.py::own_properties"


@walk(SPARK, "or unset it")
def own_file_missing(scene: Scene) -> Steps:
    scene.patch.setenv("OFFSETWISE_SPARK_CONF", str(scene.folder / "spark.conf"))
    return Steps(own_properties, lambda: scene.patch.delenv("OFFSETWISE_SPARK_CONF"))


@walk(SPARK, "Take the line out")
def own_file_with_a_master(scene: Scene) -> Steps:
    scene.patch.setenv("OFFSETWISE_SPARK_CONF", str(scene.write("spark.conf", "spark.master yarn\nspark.jars /a.jar")))
    return Steps(own_properties, lambda: scene.write("spark.conf", "spark.jars /a.jar"))


ALLOWED_OF_SPARK = "client_properties/spark_allowed.py::"


@walk(ALLOWED_OF_SPARK + "check_allowed", "it in a file of your own")
def code_of_spark(scene: Scene) -> Steps:
    def follow() -> None:
        scene.patch.setenv("OFFSETWISE_SPARK_CONF", str(scene.write("spark.conf", "spark.plugins a.Plugin")))

    return Steps(lambda: check_allowed({"spark.plugins": "a.Plugin"}), follow, own_properties)


corrected(
    ALLOWED_OF_SPARK + "check_allowed",
    "Correct the value",
    "size_of_spark",
    lambda: check_allowed({"spark.driver.memory": "much"}),
    lambda: check_allowed({"spark.driver.memory": "2g"}),
)


@walk(ALLOWED_OF_SPARK + "check_server", "If you trust the server")
def unknown_spark_server(scene: Scene) -> Steps:
    return Steps(
        lambda: check_server("spark.remote", "sc://spark.example/;use_ssl=true"),
        lambda: scene.patch.setenv("OFFSETWISE_SPARK_SERVERS", "sc://spark.example:15002"),
    )
