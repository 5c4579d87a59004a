"""Workers of Kafka Connect on loopback: a real HTTP server that answers as one does, or badly."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

KAFKA = "id-of-new"
FAILED = "Connectors must be in the STOPPED state before their offsets can be modified."


@dataclass
class Connector:
    """One connector of a Connect cluster."""

    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    state: str = "STOPPED"
    tasks: int = 0
    kind: str = "sink"
    config: dict[str, str] = field(default_factory=dict)
    entries: list[Any] | None = None
    """What GET offsets lists in the place of `offsets`, as a source does."""

    def listed(self) -> list[Any]:
        if self.entries is not None:
            return self.entries
        return [
            {"partition": {"kafka_topic": topic, "kafka_partition": number}, "offset": {"kafka_offset": offset}}
            for (topic, number), offset in self.offsets.items()
        ]

    def patched(self, entries: list[Any]) -> None:
        for entry in entries:
            at = entry["partition"]["kafka_topic"], entry["partition"]["kafka_partition"]
            if entry["offset"] is None:
                self.offsets.pop(at, None)
            else:
                self.offsets[at] = entry["offset"]["kafka_offset"]


Bad = Callable[["Handler"], None]


@dataclass
class ConnectCluster:
    """What the workers of one cluster share."""

    connectors: dict[str, Connector] = field(default_factory=dict)
    kafka: str | None = KAFKA
    bad: dict[tuple[str, str], Bad] = field(default_factory=dict)
    """By method and what follows the connector's path (`/` for the root): what answers in the place of the worker."""
    users: Mapping[str, str] = field(default_factory=dict)
    """By the header Authorization; empty lets anybody in."""
    changes: list[tuple[str, Any]] = field(default_factory=list)
    """Methods and bodies of what came to change something."""
    message: str = "The offsets for this connector have been altered successfully"


class Worker(ThreadingHTTPServer):
    """One worker."""

    daemon_threads = True

    def __init__(self, cluster: ConnectCluster, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.cluster = cluster
        self.scheme = "http" if tls is None else "https"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing: connections break on purpose."""

    @property
    def host(self) -> str:
        return f"localhost:{self.server_port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}"


class Handler(BaseHTTPRequestHandler):
    """Answers as `ConnectorsResource` does."""

    server: Worker

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""

    def answer(self, status: int, body: object, **headers: str) -> None:
        self.send(status, json.dumps(body).encode(), **headers)

    def send(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        told = {"Content-Length": str(len(data))} | {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._do()

    def do_PATCH(self) -> None:
        self._do()

    def do_DELETE(self) -> None:
        self._do()

    def _do(self) -> None:
        cluster = self.server.cluster
        _, _, rest = self.path.partition("/connectors/")
        name, slash, below = rest.partition("/")
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        if cluster.users and self.headers.get("Authorization") not in cluster.users:
            return self.answer(401, {"error_code": 401, "message": "User cannot access the resource."})
        if (
            bad := cluster.bad.get(
                (self.command, "/" if self.path == "/" else f"{slash}{below}" if slash or name else "list")
            )
        ) is not None:
            return bad(self)
        if self.path == "/":
            return self.answer(200, {"version": "4.1.1", "commit": "c", "kafka_cluster_id": cluster.kafka})
        if self.path.partition("?")[0] == "/connectors":
            return self._list()
        connector = cluster.connectors.get(unquote(name))
        if connector is None:
            return self.answer(404, {"error_code": 404, "message": f"Connector {name} not found"})
        if self.command != "GET":
            return self._change(connector, body)
        return self._read(unquote(name), connector, below)

    def _list(self) -> None:
        """Answer as `listConnectors` does with both of `expand`."""
        connectors = self.server.cluster.connectors
        told = {
            name: {"info": self._told(name, each, ""), "status": self._told(name, each, "status")}
            for name, each in connectors.items()
        }
        self.answer(200, told if "expand=info&expand=status" in self.path else [*connectors])

    def _read(self, name: str, connector: Connector, below: str) -> None:
        self.answer(200, self._told(name, connector, below))

    def _told(self, name: str, connector: Connector, below: str) -> object:
        states = [{"id": task, "state": connector.state, "worker_id": "w"} for task in range(connector.tasks)]
        told = {"state": connector.state, "worker_id": "w"}
        return {
            "": {"name": name, "config": connector.config, "tasks": [], "type": connector.kind},
            "status": {"name": name, "connector": told, "tasks": states, "type": connector.kind},
            "offsets": {"offsets": connector.listed()},
        }[below]

    def _change(self, connector: Connector, body: Any) -> None:
        cluster = self.server.cluster
        cluster.changes.append((self.command, body))
        if connector.state != "STOPPED":
            return self.answer(400, {"error_code": 400, "message": FAILED})
        if self.command == "DELETE":
            connector.offsets.clear()
        else:
            connector.patched(body["offsets"])
        return self.answer(200, {"message": cluster.message})


@contextmanager
def serving(*clusters: ConnectCluster, tls: ssl.SSLContext | None = None) -> Iterator[tuple[Worker, ...]]:
    """Run a worker of each cluster."""
    with ExitStack() as stack:
        made = []
        for cluster in clusters:
            worker = stack.enter_context(Worker(cluster, tls))
            thread = Thread(target=worker.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(worker.shutdown)
            made.append(worker)
        yield tuple(made)


def uri(*hosts: str, name: str = "sink", scheme: str = "http") -> str:
    """Name a connector at some workers."""
    return f"connect+{scheme}://{','.join(hosts)}/connectors/{name}"


def says(status: int, body: object = None, **headers: str) -> Bad:
    """Answer that."""
    return lambda handler: handler.answer(status, body, **headers)


def sends(data: bytes, status: int = 200, **headers: str) -> Bad:
    """Answer these bytes."""
    return lambda handler: handler.send(status, data, **headers)


def hangs_up(handler: Handler) -> None:
    """End the connection without a word."""
    handler.close_connection = True
    handler.connection.close()


def half(handler: Handler) -> None:
    """Answer half of what is promised."""
    handler.send(200, b'{"offsets":[', Content_Length="400")
    handler.close_connection = True


def endless(handler: Handler) -> None:
    """Answer without end."""
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    for _ in range(1_000):
        handler.wfile.write(b" " * 65_536)


def drips(handler: Handler) -> None:
    """Answer a byte now and then, for ten seconds."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        time.sleep(0.05)


def certificate(folder: Path, host: str = "localhost") -> ssl.SSLContext:
    """Make a certificate of a worker, `folder/ca.pem`, that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    formats = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(*formats))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return context
