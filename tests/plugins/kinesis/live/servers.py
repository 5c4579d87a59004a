"""Servers of Kinesis and DynamoDB on loopback: kinesis-mock and kinesalite from npm, DynamoDB Local from Maven.

kinesis-mock knows ARNs, shard filters and reshards as AWS does, and trims nothing; kinesalite trims by retention,
refuses numbers of other streams in the words of AWS, and its clock can be moved on.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from offsetwise.lab.brokers import free_ports
from offsetwise.lab.java import find_java
from tests.integration.flink_cluster import wait_until
from tests.plugins.kinesis.live.jars import DYNAMODB, jars
from tests.stores import EMULATORS, served

REGION: Final = "us-east-1"
KEYS: Final = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION}
"""What every client says; these servers believe it."""
SHARDS: Final = 10_000
"""As many as all tests of a process open, which never close a stream; an account has 50 unless told otherwise."""
PRELOAD: Final = ("--require", str(Path(__file__).with_name("preload.js")))
_names = itertools.count()


@dataclass(frozen=True, slots=True)
class Server:
    """One server, with the vendor's own client."""

    address: str
    client: Any
    pid: int

    def stream(self, shards: int) -> Stream:
        """Make a stream with a name of its own."""
        name = f"stream{next(_names)}"
        self.client.create_stream(StreamName=name, ShardCount=shards)
        made = Stream(self, name)
        made.wait()
        return made

    def move_clock(self) -> None:
        """Let 25 hours pass for the server."""
        os.kill(self.pid, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream. Its records are numbered; `places` has shard and sequence number of each."""

    server: Server
    name: str
    places: dict[int, tuple[str, str]] = field(default_factory=dict)

    def put(self, numbers: Iterable[int]) -> None:
        """Write records, dealt out over the shards by their keys."""
        for number in numbers:
            told = self.server.client.put_record(
                StreamName=self.name, PartitionKey=f"k{number}", Data=str(number).encode()
            )
            self.places[number] = told["ShardId"], told["SequenceNumber"]

    def wait(self) -> None:
        """Wait until it takes records again."""
        ask = self.server.client.describe_stream_summary
        wait_until(
            lambda: ask(StreamName=self.name)["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE",
            f"stream {self.name} is active",
        )

    def of_shard(self, shard: str) -> list[int]:
        """Return the numbers of a shard's records, in their order."""
        return [number for number, (found, _) in self.places.items() if found == shard]

    def text(self, number: int) -> str:
        """Return the position behind a record."""
        return f"seq:{self.places[number][1]}"


def client_of(service: str, address: str, region: str = REGION) -> Any:
    """Return the vendor's client of a server."""
    import boto3  # noqa: PLC0415 - slow to import

    return boto3.client(
        service, endpoint_url=address, region_name=region, aws_access_key_id="test", aws_secret_access_key="test"
    )


@pytest.fixture(scope="session")
def kinesis_mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server of Kinesis that knows what AWS knows, and keeps everything."""
    with mocked(tmp_path_factory.mktemp("kinesis-mock")) as server:
        yield server


@contextmanager
def mocked(folder: Path) -> Iterator[Server]:
    """Run kinesis-mock in a folder."""
    command, settings, plain = kinesis_command()
    with served(plain, *command, cwd=folder, environment=settings) as running:
        yield Server(running.address, client_of("kinesis", running.address), running.pid)


def kinesis_command() -> tuple[Sequence[str], dict[str, str], int]:
    """Return the command line of kinesis-mock, its settings, and the port that it answers at."""
    secured, plain = free_ports(2)
    program = EMULATORS / "node_modules" / "kinesis-local" / "main.js"
    settings = {
        "KINESIS_MOCK_TLS_PORT": str(secured),
        "KINESIS_MOCK_PLAIN_PORT": str(plain),
        "KINESIS_MOCK_CERT_PATH": str(program.with_name("server.json")),
        "LOG_LEVEL": "ERROR",
        "SHARD_LIMIT": str(SHARDS),
    }
    return ("node", *PRELOAD, str(program)), settings, plain


@pytest.fixture
def kinesalite(tmp_path: Path) -> Iterator[Server]:
    """Yield a server of Kinesis that trims, and refuses as AWS does; one for each test, because of its clock."""
    (port,) = free_ports(1)
    program = EMULATORS / "node_modules" / "kinesalite" / "cli.js"
    soon = [part for verb in ("create", "delete", "update") for part in (f"--{verb}StreamMs", "10")]
    command = ("node", *PRELOAD, str(program), "--port", str(port), *soon)
    (tmp_path / "kinesalite").mkdir()
    with served(port, *command, cwd=tmp_path / "kinesalite") as running:
        yield Server(running.address, client_of("kinesis", running.address), running.pid)


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server of DynamoDB."""
    with dynamodb(tmp_path_factory.mktemp("dynamodb")) as server:
        yield server


@contextmanager
def dynamodb(folder: Path) -> Iterator[Server]:
    """Run DynamoDB Local in a folder."""
    (port,) = free_ports(1)
    with served(port, *dynamodb_command(port), cwd=folder) as running:
        yield Server(running.address, client_of("dynamodb", running.address), running.pid)


def dynamodb_command(port: int) -> Sequence[str]:
    """Return the command line of DynamoDB Local."""
    folder = jars(DYNAMODB)
    main = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
    options = ("-inMemory", "-disableTelemetry", "-port", str(port))
    return (find_java(), "-Xmx512m", f"-Dsqlite4java.library.path={folder}", "-cp", f"{folder}/*", main, *options)
