"""Workers of Kafka Connect in distributed mode, from Maven Central's jars, with a connector that writes files.

`python -m tests.plugins.connect.live.connect_workers` fetches them, as `make proof` does, so that no test needs a
network.
"""

from __future__ import annotations

import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from offsetwise.errors import OffsetwiseError
from offsetwise.jars import locked_jars
from offsetwise.lab.brokers import LOG_CONFIGURATION, free_ports, jvm
from offsetwise.lab.jars import KAFKA_VERSION
from offsetwise.lab.java import find_java
from offsetwise.lab.processes import start, stop
from tests.plugins.connect.service import certificate

JARS: Final = f"connect-{KAFKA_VERSION}"
"""The set in the lock."""
WANTED: Final = tuple(
    f"org.apache.kafka:{name}:{KAFKA_VERSION}" for name in ("connect-basic-auth-extension", "connect-file")
)
"""What the lab's jars lack; what these two need is among them."""
USER, PASSWORD = "ada", "a secret of the tests"
STORES: Final = "of the stores"
"""The password of a worker's key store and trust store."""
_EXTENSION: Final = "org.apache.kafka.connect.rest.basic.auth.extension"
_UP_S: Final = 90


@dataclass(frozen=True)
class Workers:
    """A Connect cluster."""

    urls: tuple[str, ...]
    """Of its workers; tests ask the first one."""
    folder: Path
    headers: Mapping[str, str] = field(default_factory=dict)
    ca: Path | None = None
    """The certificate of its workers, which they take from clients too; None without TLS."""

    @property
    def url(self) -> str:
        return self.urls[0]

    @property
    def client(self) -> dict[str, str]:
        """Return what a migration file says of a client of secured workers; its key is locked with STORES."""
        key = {"key": str(self.folder / "client.pem"), "key_password": "file:./key-password"}
        return {"user": USER, "password": "file:./password", "ca": str(self.ca), "certificate": str(self.ca)} | key

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask, and again while the workers are rebalancing."""
        request = urllib.request.Request(
            f"{self.url}{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": "application/json", **self.headers},
        )
        tls = None if self.ca is None else ssl.create_default_context(cafile=str(self.ca))
        if tls is not None:
            tls.load_cert_chain(self.folder / "ca.pem", self.folder / "key.pem")
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(request, timeout=30, context=tls) as reply:
                    return json.loads(reply.read() or b"null")
            except urllib.error.HTTPError as error:
                if error.code != 409 or time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def create(self, name: str, topic: str, *, state: str = "RUNNING", **config: str) -> Path:
        """Create a connector that writes each record as a line of a file; another one where `config` says so."""
        out = self.folder / f"{name}.txt"
        out.touch()
        told = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "tasks.max": "1",
            "topics": topic,
            "file": str(out),
        }
        self.ask("POST", "/connectors", {"name": name, "config": told | config, "initial_state": state})
        self.wait(name, state)
        return out

    def change(self, name: str, state: str) -> None:
        """Stop, pause or resume a connector."""
        verb = {"STOPPED": "stop", "PAUSED": "pause", "RUNNING": "resume"}[state]
        self.ask("PUT", f"/connectors/{name}/{verb}")
        self.wait(name, state)

    def wait(self, name: str, state: str, task: str | None = None) -> None:
        """Wait for the state of a connector, and of its only task, which is the same where it is not given."""
        expected = [] if state == "STOPPED" else [task or state]
        status: Any = None
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                status = self.ask("GET", f"/connectors/{name}/status")
            except urllib.error.HTTPError:
                status = {"connector": {"state": "none"}, "tasks": []}
            tasks = [running["state"] for running in status["tasks"]]
            if status["connector"]["state"] == state and tasks == expected:
                return
            time.sleep(0.1)
        raise AssertionError(f"{name} is {status} and not {state}")

    def write(self, name: str, topic: str, offset: int) -> str:
        """Change the offset of partition 0, and return what the worker says."""
        entry = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": offset}}
        return str(self.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": [entry]})["message"])

    def reset(self, name: str) -> None:
        """Take all offsets away."""
        self.ask("DELETE", f"/connectors/{name}/offsets")

    def offsets(self, name: str) -> dict[int, int]:
        told = self.ask("GET", f"/connectors/{name}/offsets")["offsets"]
        return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in told}


@contextmanager
def workers(folder: Path, old: str, new: str) -> Iterator[tuple[Workers, Workers]]:
    """Run a worker on the old Kafka cluster, and two of one Connect cluster, with TLS and sign-on, on the new one."""
    with ExitStack() as stack:
        pair = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        both = (
            _started(stack, folder / "workers-old", old),
            replace(
                _started(stack, folder / "workers-new", new, workers=2, secured=True),
                headers={"Authorization": f"Basic {pair}"},
                ca=folder / "workers-new" / "ca.pem",
            ),
        )
        for cluster in both:
            _until_up(cluster)
        yield both


def _started(stack: ExitStack, folder: Path, bootstrap: str, *, workers: int = 1, secured: bool = False) -> Workers:
    folder.mkdir()
    (folder / "log4j2.properties").write_text(LOG_CONFIGURATION)
    if secured:
        _write_stores(folder)
    ports = free_ports(workers)
    for port in ports:
        command = _command(folder, bootstrap, port, secured=secured)
        stack.callback(stop, start(command, log=folder / f"{port}.log"), grace_s=10)
    urls = tuple(f"https://localhost:{port}" if secured else f"http://127.0.0.1:{port}" for port in ports)
    return Workers(urls, folder)


def _write_stores(folder: Path) -> None:
    """Write the certificate of the workers, as Java reads it and as it trusts it, and who may sign on."""
    certificate(folder)
    key = load_pem_private_key((folder / "key.pem").read_bytes(), None)
    own = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
    locked = BestAvailableEncryption(STORES.encode())
    (folder / "client.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))
    (folder / "key.p12").write_bytes(pkcs12.serialize_key_and_certificates(b"worker", key, own, None, locked))  # type: ignore[arg-type] # of the kinds of keys
    trusted = [pkcs12.PKCS12Certificate(own, b"workers")]
    (folder / "trust.p12").write_bytes(pkcs12.serialize_java_truststore(trusted, locked))
    (folder / "users.properties").write_text(f"{USER}={PASSWORD}\n")
    module = f'{_EXTENSION}.PropertyFileLoginModule required file="{folder / "users.properties"}";'
    (folder / "jaas.conf").write_text(f"KafkaConnect {{ {module} }};\n")


def _command(folder: Path, bootstrap: str, port: int, *, secured: bool) -> list[str]:
    """Write the configuration of a worker, and return its command."""
    stated = {
        f"{kind}.storage.{key}": value
        for kind in ("offset", "config", "status")
        for key, value in (("topic", f"{folder.name}-{kind}s"), ("replication.factor", "1"))
    } | {
        "bootstrap.servers": bootstrap,
        "group.id": folder.name,
        "listeners": f"http://127.0.0.1:{port}",
        "plugin.discovery": "service_load",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
    }
    options = []
    if secured:
        stated |= _secured(folder, port)
        options = [f"-Djava.security.auth.login.config={folder / 'jaas.conf'}"]
    properties = folder / f"{port}.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in stated.items()))
    main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
    java, *rest = jvm(folder, main_class, str(properties), heap="256m")
    rest[rest.index("-cp") + 1] += f":{jars() / '*'}"
    return [java, *options, *rest]


def _secured(folder: Path, port: int) -> dict[str, str]:
    """Return what makes a worker ask who it is, over TLS by certificate too, also of another worker of its cluster."""
    return {
        "listeners.https.ssl.client.auth": "required",
        "rest.extension.classes": f"{_EXTENSION}.BasicAuthSecurityRestExtension",
        "listeners": f"https://127.0.0.1:{port}",
        "rest.advertised.host.name": "localhost",
        "listeners.https.ssl.keystore.location": str(folder / "key.p12"),
        "listeners.https.ssl.keystore.type": "PKCS12",
        "listeners.https.ssl.keystore.password": STORES,
        "listeners.https.ssl.key.password": STORES,
        "listeners.https.ssl.truststore.location": str(folder / "trust.p12"),
        "listeners.https.ssl.truststore.type": "PKCS12",
        "listeners.https.ssl.truststore.password": STORES,
    }


def _until_up(cluster: Workers) -> None:
    """Wait until every worker answers: each does once it has joined, and the last one joins with all others."""
    end = time.monotonic() + _UP_S
    for url in cluster.urls:
        while True:
            try:
                replace(cluster, urls=(url,)).ask("GET", "/connectors")
                break
            except OSError:
                if time.monotonic() > end:
                    raise AssertionError([log.read_text()[-4_000:] for log in cluster.folder.glob("*.log")]) from None
                time.sleep(0.2)


def jars() -> Path:
    """Return the folder of what the lab's jars lack."""
    return locked_jars(JARS, java=find_java)


def main() -> None:
    """Fetch the jars."""
    try:
        jars()
    except OffsetwiseError as error:
        sys.exit(f"What the tests of Kafka Connect run could not be fetched. No test was run. {error}")


if __name__ == "__main__":
    main()
