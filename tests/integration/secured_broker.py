"""A cluster of two brokers with a plain, a SASL and a TLS listener, and ACLs: for tests that stop and refuse things.

`python -m tests.integration.secured_broker` fetches the newest Kafka and an old one, as `make proof` does, so that no
test needs a network.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offsetwise.lab.brokers import LOG_CONFIGURATION, cluster_id, configuration, free_ports, jvm
from offsetwise.lab.jars import KAFKA_VERSION, kafka_jars
from offsetwise.lab.processes import Process, is_alive, start, stop
from tests.gates import of_all

USERS: Final = {"reader": 'pass"word\\1', "stranger": "stranger-secret"}
_CERTIFICATE: Final = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
    "-addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout key.pem -out ca.pem"
)
_START_LIMIT_S: Final = 180
NEWEST_KAFKA: Final = "4.4.0"
"""The newest release that Maven Central has whole; its command line tools are not among it."""
KAFKAS: Final = (KAFKA_VERSION, NEWEST_KAFKA)
TRIED_KAFKAS: Final = of_all(KAFKAS, KAFKAS[:1])
"""Of tests of which the release changes nothing that is known."""
OLD_KAFKA: Final = "2.8.2"
"""The newest before 3.0, whose brokers do not list transactions."""


@dataclass(frozen=True, slots=True)
class SecuredCluster:
    """Two brokers; the ports are those of the first."""

    folder: Path
    plain_port: int
    sasl_port: int
    tls_port: int
    first: Process
    second: Process

    @property
    def plain(self) -> str:
        """The plain listener of broker 1, where everybody is a super user."""
        return f"127.0.0.1:{self.plain_port}"

    @property
    def ca(self) -> str:
        """The certificate that the TLS listener shows, which is its own CA."""
        return str(self.folder / "ca.pem")

    @contextmanager
    def paused(self, process: Process) -> Iterator[None]:
        """Let a broker stand still, with its connections open."""
        os.kill(process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process.pid, signal.SIGCONT)


@contextmanager
def old_broker(folder: Path) -> Iterator[str]:
    """Run one broker of `OLD_KAFKA` inside the block; give its address."""
    port, controller_port = free_ports(2)
    properties = folder / "server.properties"
    properties.write_text(configuration(folder, port=port, controller_port=controller_port), encoding="utf-8")

    def command(main_class: str, *arguments: str) -> list[str]:
        return jvm(folder, main_class, *arguments, str(properties), heap="320m", version=OLD_KAFKA)

    subprocess.run(
        command("kafka.tools.StorageTool", "format", "-t", cluster_id(), "-c"), check=True, capture_output=True
    )
    process = start(command("kafka.Kafka"), log=folder / "old.log")
    try:
        wait_for_port(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        stop(process, grace_s=0)


@contextmanager
def secured_cluster(folder: Path, version: str = KAFKA_VERSION) -> Iterator[SecuredCluster]:
    """Run the cluster inside the block, of one of `KAFKAS`."""
    (folder / "log4j2.properties").write_text(LOG_CONFIGURATION, encoding="utf-8")
    subprocess.run(_CERTIFICATE.split(), cwd=folder, check=True, capture_output=True)
    (folder / "broker.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    plain, sasl, tls, second, second_sasl, second_tls, controller = free_ports(7)
    _write(folder, 1, (plain, sasl, tls), controller)
    _write(folder, 2, (second, second_sasl, second_tls), controller)
    identity = cluster_id()
    for node in (1, 2):
        format_command = jvm(
            *(folder, "kafka.tools.StorageTool", "format", "-t", identity, "-c", _properties(folder, node)),
            version=version,
        )
        subprocess.run(format_command, check=True, capture_output=True)
    processes = [
        start(
            jvm(folder, "kafka.Kafka", _properties(folder, node), heap="320m", version=version),
            log=folder / f"{node}.log",
        )
        for node in (1, 2)
    ]
    try:
        for process, port in zip(processes, (plain, second), strict=True):
            wait_for_port(process, port)
        yield SecuredCluster(folder, plain, sasl, tls, *processes)
    finally:
        for process in processes:
            if is_alive(process):
                os.kill(process.pid, signal.SIGCONT)
                stop(process, grace_s=0)


def _properties(folder: Path, node: int) -> str:
    return str(folder / f"{node}.properties")


def _write(folder: Path, node: int, ports: tuple[int, int, int], controller_port: int) -> None:
    protocols = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL")
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in zip(protocols, ports, strict=True))
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    quoted = {name: secret.replace("\\", "\\\\").replace('"', '\\"') for name, secret in USERS.items()}
    # A properties file takes one level of backslashes away, the JAAS parser the next.
    users = " ".join(f'user_{name}="{secret}"' for name, secret in quoted.items()).replace("\\", "\\\\")
    controller = f",CONTROLLER://127.0.0.1:{controller_port}" if node == 1 else ""
    lines = (
        f"process.roles={'broker,controller' if node == 1 else 'broker'}",
        f"node.id={node}",
        f"controller.quorum.voters=1@127.0.0.1:{controller_port}",
        f"listeners={listeners}{controller}",
        f"advertised.listeners={listeners}",
        "controller.listener.names=CONTROLLER",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name=PLAINTEXT",
        "sasl.enabled.mechanisms=PLAIN",
        f"listener.name.sasl_plaintext.plain.sasl.jaas.config={module} required {users};",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={folder / 'broker.pem'}",
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:ANONYMOUS",
        f"log.dirs={folder / str(node)}",
        "auto.create.topics.enable=true",
        "log.retention.ms=-1",
        "broker.session.timeout.ms=6000",
        "offsets.topic.num.partitions=1",
        "offsets.topic.replication.factor=1",
        "transaction.state.log.num.partitions=1",
        "transaction.state.log.replication.factor=1",
        "transaction.state.log.min.isr=1",
        "",
    )
    Path(_properties(folder, node)).write_text("\n".join(lines), encoding="utf-8")


def wait_for_port(process: Process, port: int) -> None:
    """Wait until a broker listens."""
    end = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < end and is_alive(process):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the broker on port {port} did not start")


if __name__ == "__main__":
    for release in (NEWEST_KAFKA, OLD_KAFKA):
        kafka_jars(release)
