"""Remedies of clients: of Kafka on a mock cluster of librdkafka's, of Kinesis on a client that refuses first."""

from __future__ import annotations

import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from offsetwise.client_properties import ClientProperties
from offsetwise.client_properties.kafka_python import configuration
from offsetwise.config import ClusterConfig, load_migration
from offsetwise.config.migration import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.plan import exports
from offsetwise.plugins.kafka.stream.client import Client
from offsetwise.plugins.kafka.targets.group.brokers import _reply
from offsetwise.plugins.kinesis.stream import client as kinesis
from offsetwise.plugins.kinesis.stream.matching.search import refuse as refuse_window
from offsetwise.plugins.spark.targets.starting_position.spec import starting_position
from offsetwise.ports.windows import ReadFailure
from offsetwise.streams.reader import transactions_reader
from tests.plugins.kafka.test_connection import closed_port, listening
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.remedies.walk import Scene, Steps, corrected, edited, walk

Call = Callable[[], object]
KAFKA = "plugins/kafka/stream/client.py::"
SERVERS: list[Any] = []
"""What answers as long as the tests run."""


@cache
def broker() -> str:
    """Start a mock cluster, and return its address."""
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "x:1", "log_level": 0})
    SERVERS.append(producer)
    found = producer.list_topics(timeout=60)
    (one,) = found.brokers.values()
    return f"{one.host}:{one.port}"


@cache
def certificates() -> Path:
    folder = Path(SERVERS_FOLDER[0])
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 400 -subj /CN=good -addext subjectAltName=IP:127.0.0.1 "
        "-keyout good.key -out good.pem"
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder


SERVERS_FOLDER: list[str] = []


@cache
def tls_broker() -> str:
    """Put TLS in front of the mock cluster, and return its address, which the cluster then gives as its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates() / "good.pem", certificates() / "good.key")
    host, _, plain = broker().partition(":")
    ports: list[int] = []

    def forward(accepted: socket.socket) -> None:
        with (
            context.wrap_socket(accepted, server_side=True) as secured,
            socket.create_connection((host, int(plain))) as behind,
        ):
            own = struct.pack(">i", int(plain)), struct.pack(">i", ports[0])
            threading.Thread(target=pump, args=(behind, secured, own), daemon=True).start()
            pump(secured, behind)

    stack = ExitStack()
    SERVERS.append(stack)
    ports.append(stack.enter_context(listening(forward)))
    return f"127.0.0.1:{ports[0]}"


def pump(source: socket.socket, sink: socket.socket, renamed: tuple[bytes, bytes] = (b"", b"")) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data.replace(*renamed) if renamed[0] else data)
    except OSError:
        return


@cache
def closing_broker() -> str:
    """Start a listener that closes a connection at the first request, as one of TLS does with another protocol."""

    def close(accepted: socket.socket) -> None:
        accepted.recv(4096)
        accepted.close()

    stack = ExitStack()
    SERVERS.append(stack)
    return f"127.0.0.1:{stack.enter_context(listening(close))}"


def contacted(**properties: str) -> Call:
    """Return the first contact with a cluster."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    config = ClusterConfig(name="old", properties=given)
    return lambda: Client(config, timeout_s=10).contact() and None


def contact(function: str, words: str, name: str, before: Callable[[], Call], then: Callable[[], Call]) -> None:
    @walk(KAFKA + function, words, name=name)
    def _(scene: Scene) -> Steps:
        if not SERVERS_FOLDER:
            SERVERS_FOLDER.append(str(scene.request.getfixturevalue("tmp_path_factory").mktemp("certificates")))
        return Steps(before(), lambda: None, then())


contact(
    "diagnose",
    "Check that the broker runs",
    "nobody_answers",
    lambda: contacted(bootstrap_servers=f"127.0.0.1:{closed_port()}"),
    lambda: contacted(bootstrap_servers=broker()),
)
contact(
    "diagnose",
    "Give the CA certificate that signed it",
    "certificate_of_an_unknown_authority",
    lambda: contacted(bootstrap_servers=tls_broker(), security_protocol="ssl"),
    lambda: contacted(
        bootstrap_servers=tls_broker(), security_protocol="ssl", ssl_ca_location=str(certificates() / "good.pem")
    ),
)
contact(
    "diagnose",
    "If this is a plain listener",
    "tls_to_a_plain_listener",
    lambda: contacted(bootstrap_servers=broker(), security_protocol="ssl"),
    lambda: contacted(bootstrap_servers=broker(), security_protocol="plaintext"),
)
contact(
    "_hung_up_on",
    "Set security.protocol",
    "plain_to_a_tls_listener",
    lambda: contacted(bootstrap_servers=closing_broker()),
    lambda: contacted(
        bootstrap_servers=tls_broker(), security_protocol="ssl", ssl_ca_location=str(certificates() / "good.pem")
    ),
)
contact(
    "Client.__init__",
    "Correct the property in the migration file",
    "no_certificate_in_the_file",
    lambda: contacted(bootstrap_servers=tls_broker(), security_protocol="ssl", ssl_ca_location="/no/such/ca.pem"),
    lambda: contacted(
        bootstrap_servers=tls_broker(), security_protocol="ssl", ssl_ca_location=str(certificates() / "good.pem")
    ),
)
for code, words, name in (
    (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Grant DESCRIBE and DESCRIBE_CONFIGS", "user_without_rights"),
    (KafkaError.SASL_AUTHENTICATION_FAILED, "Check sasl.mechanism, sasl.username", "wrong_password"),
):

    @walk(KAFKA + "diagnose", words, name=name)
    def refused(_: Scene, code: int = code) -> Steps:
        client = Client(ClusterConfig(name="old", properties={"bootstrap.servers": broker()}), timeout_s=10)
        answering = client.admin

        class Refusing:
            """The client of a user whom the broker refuses."""

            def list_topics(self, **_: Any) -> Any:
                client.errors.append(KafkaError(code))
                raise KafkaException(KafkaError(code))

            def poll(self, timeout: float) -> int:
                return int(answering.poll(timeout))

        client.admin = Refusing()  # type: ignore[assignment]

        def follow() -> None:
            client.admin = answering
            client.begin_anew(10)

        return Steps(lambda: client.contact() and None, follow)


# The client that asks about transactions.
WIRE = "client_properties/kafka_python.py::configuration"
CLUSTER = ClusterConfig(name="old", properties={"bootstrap.servers": "a.invalid:1"})
PLAIN = {"bootstrap.servers": "a.invalid:1"}


def wired(**properties: str) -> Call:
    given = PLAIN | {name.replace("_", "."): value for name, value in properties.items()}
    return lambda: configuration(CLUSTER, ClientProperties(given)) and None


corrected(
    WIRE,
    "or SCRAM: an entry of its own under `sinks`",
    "key_store_for_transactions",
    wired(ssl_keystore_location="/a.p12"),
    wired(security_protocol="sasl_plaintext", sasl_mechanism="SCRAM-SHA-512", sasl_username="u", sasl_password="p"),
)


@walk(WIRE, "Check the files that the ssl.* properties name")
def no_authority(scene: Scene) -> Steps:
    if not SERVERS_FOLDER:
        SERVERS_FOLDER.append(str(scene.request.getfixturevalue("tmp_path_factory").mktemp("certificates")))
    path = scene.write("ca.pem", "no certificate")
    right = (certificates() / "good.pem").read_text()
    return Steps(wired(security_protocol="ssl", ssl_ca_location=str(path)), lambda: path.write_text(right))


# What a broker answers to a commit.
def committed(scope: str, words: str, name: str, error: Exception) -> None:
    def reply(answer: Future[Any]) -> Call:
        def command() -> None:
            client: Any = SimpleNamespace(deadline=SimpleNamespace(grace_s=lambda: 1))
            found = _reply(client, "etl", 1, answer)
            if isinstance(found, OffsetwiseError):
                raise found

        return command

    refused: Future[Any] = Future()
    refused.set_exception(error)
    done: Future[Any] = Future()
    done.set_result(SimpleNamespace(topic_partitions=[]))
    corrected(f"plugins/kafka/targets/group/checks.py::{scope}", words, name, reply(refused), reply(done))


committed(
    "nothing_committed",
    "Grant READ on the group and its topics",
    "commit_that_is_refused",
    KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)),
)
committed("lost", "it reads the group first", "reply_that_is_lost", TimeoutError())


# Kinesis.
KINESIS = "plugins/kinesis/stream/client.py::"
REGION = ClusterConfig(name="old", stream="kinesis", properties={"region": "us-east-1"})


def described(**_: Any) -> dict[str, Any]:
    return {"StreamDescriptionSummary": {}}


def answering(error: Callable[[], Exception]) -> Steps:
    """Ask a client that refuses, and the same one once the remedy was followed."""
    calls: list[Callable[[], object]] = []

    def call() -> object:
        return calls[-1]()

    def fail() -> object:
        raise error()

    calls.append(fail)
    asked = kinesis.Asking(name="old", where="here", client=None, errors=errors())
    return Steps(lambda: asked.ask("stream 'clicks'", call) and None, lambda: calls.append(dict))


def errors() -> Any:
    from botocore import exceptions as of  # noqa: PLC0415 - of an extra

    return of.ClientError, of.BotoCoreError, (of.ConnectionError, of.HTTPClientError, of.NoCredentialsError)


def by_code(code: str) -> Callable[[], Exception]:
    def made() -> Exception:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - of an extra

        error: Exception = ClientError({"Error": {"Code": code, "Message": "as AWS says it"}}, "GetRecords")
        return error

    return made


def silent() -> Exception:
    from botocore.exceptions import NoCredentialsError  # noqa: PLC0415 - of an extra

    error: Exception = NoCredentialsError()
    return error


def odd() -> Exception:
    from botocore.exceptions import DataNotFoundError  # noqa: PLC0415 - of an extra

    error: Exception = DataNotFoundError(data_path="endpoints")
    return error


for function, refusal, words, name in (
    ("Asking._refused", "AccessDeniedException", "Grant kinesis:DescribeStreamSummary", "may_not_read"),
    ("Asking._refused", "ResourceNotFoundException", "Check the stream's name, the region", "no_such_stream"),
    ("Asking._refused", "InvalidArgumentException", "Find out which stream the position", "number_of_another_stream"),
    ("Asking._refused", "LimitExceededException", "Other readers use up the quota", "quota_used_up"),
    ("Asking._refused", "KMSDisabledException", "Try again; where it stays so", "other_refusal"),
):
    walk(KINESIS + function, words, name=name)(lambda _, refusal=refusal: answering(by_code(refusal)))  # type: ignore[misc]
walk(KINESIS + "Asking.ask", "Check the network, the endpoint", name="no_credentials")(lambda _: answering(silent))
walk(KINESIS + "Asking.ask", "Check region and endpoint", name="no_such_data")(lambda _: answering(odd))


@walk(KINESIS + "access_of", "Give the environment credentials")
def no_credentials_at_all(scene: Scene) -> Steps:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        scene.patch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        scene.patch.setenv(name, str(scene.folder / "none"))
    scene.patch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def follow() -> None:
        scene.patch.setenv("AWS_ACCESS_KEY_ID", "test")
        scene.patch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")

    return Steps(lambda: kinesis.access_of(REGION) and None, follow)


@walk(KINESIS + "_session", "Install it: pip install 'offsetwise[kinesis]'")
def boto3_not_installed(scene: Scene) -> Steps:
    installed = sys.modules.get("boto3")
    scene.patch.setitem(sys.modules, "boto3", None)

    def install() -> None:
        if installed is None:
            scene.patch.delitem(sys.modules, "boto3")
        else:
            scene.patch.setitem(sys.modules, "boto3", installed)

    return Steps(lambda: kinesis._session(REGION) and None, install)


@walk(KINESIS + "_named", "Correct them in the migration file")
def unknown_profile(_: Scene) -> Steps:
    wrong = REGION.model_copy(update={"properties": {"region": "us-east-1", "profile": "nobody"}})
    return Steps(lambda: kinesis._session(wrong) and None, lambda: None, lambda: kinesis._session(REGION) and None)


SPEC = "plugins/kinesis/stream/spec.py::_check"
STREAM = "target: {{name: new, stream: kinesis, properties: {{{}}}}}\n"
SOURCE = "name: a\nsource: {name: old, stream: kinesis, properties: {region: us-east-1}}\n"
edited(
    SPEC,
    "Name the region and nothing secret",
    "no_region",
    load_migration,
    SOURCE + STREAM.format(""),
    SOURCE + STREAM.format("region: eu-west-1"),
)
edited(
    SPEC,
    "Write it as http://HOST:PORT",
    "endpoint_with_a_user",
    load_migration,
    SOURCE + STREAM.format("region: eu-west-1, endpoint: 'http://me:x@host:1'"),
    SOURCE + STREAM.format("region: eu-west-1, endpoint: 'http://host:1'"),
)

SEARCH = "plugins/kinesis/stream/matching/search.py::refuse"
for failure, words in (
    (ReadFailure.REFUSED, "Grant kinesis:GetShardIterator"),
    (ReadFailure.BUSY, "Other readers use up the quota"),
    (ReadFailure.SILENT, "Check the network, and that whatever reads"),
):

    @walk(SEARCH, words, name=f"window_{failure.value}".lower())
    def window(_: Scene, failure: ReadFailure = failure) -> Steps:
        task: Any = SimpleNamespace(partition=0, topic="clicks")

        def read(failed: ReadFailure | None) -> object:
            return refuse_window(task, SimpleNamespace(failure=failed, message="it was refused"))  # type: ignore[func-returns-value,arg-type]

        return Steps(lambda: read(failure), lambda: None, lambda: read(None))


corrected(
    "streams/reader.py::transactions_reader",
    "Name the cluster that the job's sinks write to",
    "transactions_of_kinesis",
    lambda: transactions_reader(REGION) and None,
    lambda: (
        Migration.model_validate(
            {
                "name": "a",
                "source": REGION.model_dump(),
                "target": REGION.model_dump() | {"name": "new", "alias": "new"},
                "sinks": [{"name": "out", "properties": PLAIN}],
                "checkpoints": [{"name": "a", "uri": "b", "job": {"sink_cluster": "out"}}],
            }
        )
        and None
    ),
)
SHARDS = shard_plan(DATA / CHAIN, stream="chain")
corrected(
    "position.py::offset_of",
    "Use a target, an export or a command that takes",
    "offset_of_a_shard",
    lambda: exports.planned_offsets(SHARDS, "etl") and None,
    lambda: starting_position(SHARDS) and None,
)
