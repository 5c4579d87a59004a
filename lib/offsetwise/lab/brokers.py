from __future__ import annotations

import secrets
import socket
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final

from offsetwise.lab.jars import KAFKA_VERSION, kafka_jars
from offsetwise.lab.java import find_java

FIRST_PORT: Final = 20_000
LAST_PORT: Final = 32_000
LOG_CONFIGURATION: Final = """\
appenders=stdout
appender.stdout.type=Console
appender.stdout.name=STDOUT
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=WARN
rootLogger.appenderRefs=stdout
rootLogger.appenderRef.stdout.ref=STDOUT
"""
"""All messages go to stdout, and stdout to the service's log file."""


def free_ports(count: int) -> list[int]:
    """Return different loopback ports that nothing listens on at this moment.

    They are below the range from which systems take ports for outgoing connections, so that a broker can use its port
    again when the lab is started the next time.
    """
    results: list[int] = []
    while len(results) < count:
        port = FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT)
        if port not in results and is_free(port):
            results.append(port)
    return results


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def jvm(folder: Path, main_class: str, *arguments: str, heap: str = "512m", version: str = KAFKA_VERSION) -> list[str]:
    return [
        find_java(),
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        "-cp",
        str(kafka_jars(version) / "*"),
        main_class,
        *arguments,
    ]


def configuration(folder: Path, *, port: int, controller_port: int) -> str:
    return "\n".join(
        (
            "process.roles=broker,controller",
            "node.id=1",
            f"controller.quorum.voters=1@127.0.0.1:{controller_port}",
            f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            f"log.dirs={folder / 'data'}",
            "auto.create.topics.enable=false",
            "delete.topic.enable=true",
            "num.partitions=1",
            "default.replication.factor=1",
            "min.insync.replicas=1",
            "offsets.topic.num.partitions=1",
            "offsets.topic.replication.factor=1",
            "transaction.state.log.num.partitions=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms=1000",
            "group.initial.rebalance.delay.ms=0",
            "log.retention.ms=-1",
            "log.retention.check.interval.ms=1000",
            "log.initial.task.delay.ms=1000",
            "log.cleaner.backoff.ms=1000",
            "log.cleaner.dedupe.buffer.size=8388608",
            "log.segment.delete.delay.ms=1000",
            "",
        )
    )


def cluster_id() -> str:
    """Return a new cluster id in Kafka's form: 16 random bytes, base64url, never beginning with a dash."""
    return urlsafe_b64encode(b"\x6f" + uuid.uuid4().bytes[1:]).decode("ascii").rstrip("=")


def format_command(folder: Path) -> list[str]:
    properties = str(folder / "server.properties")
    return jvm(folder, "kafka.tools.StorageTool", "format", "-t", cluster_id(), "-c", properties)


def broker_command(folder: Path) -> list[str]:
    return jvm(folder, "kafka.Kafka", str(folder / "server.properties"))
