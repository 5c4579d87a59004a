"""Remedies of what clusters and streams answer, and of properties that Spark's Kafka source has no equal for."""

from __future__ import annotations

from offsetwise.config import load_migration
from offsetwise.model import Cluster
from offsetwise.streams.reader import read_cluster
from tests.plugins.kinesis.streams import Stream, lease
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_properties import PEM, SASL, SERVER, TLS, java, without

# Properties without an equal in Java.
FAMILY, VERIFIED = "broker.address.family", "enable.ssl.certificate.verification"
java(
    "Remove it, or list addresses",
    "to_java",
    "family_of_addresses",
    lambda _: SERVER | {FAMILY: "v4"},
    lambda _: {"bootstrap.servers": "127.0.0.1:9092"},
)
java(
    "Give the broker's CA certificate",
    "_java_trust",
    "certificate_not_verified",
    lambda _: TLS | {VERIFIED: "false"},
    lambda scene: TLS | {"ssl.ca.location": str(scene.write("ca.pem", PEM))},
)
java(
    "Use SCRAM, PLAIN or a client certificate",
    "_java_sasl",
    "login_by_token",
    lambda _: without(SASL, "sasl.username", "sasl.password") | {"sasl.mechanism": "OAUTHBEARER"},
    lambda _: SASL | {"sasl.mechanism": "SCRAM-SHA-512"},
)


@walk("plugins/kinesis/stream/reader.py::_missing", "Check the stream's name and the region")
def stream_that_is_mistyped(scene: Scene) -> Steps:
    stream: Stream = scene.request.getfixturevalue("stream")
    path = stream.migration(scene.folder, lease(0, "5"))
    names = ["chian"]
    return Steps(
        lambda: read_cluster(load_migration(path), Cluster.OLD, topics=tuple(names), groups=()).problems,
        lambda: names.__setitem__(0, "chain"),
    )
