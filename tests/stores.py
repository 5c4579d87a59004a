"""Object stores on loopback: S3 by moto, Azure's Blob Storage by Azurite, Google's by fake-gcs-server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

import pytest

from offsetwise.lab.brokers import free_ports

BUCKET: Final = "checkpoints"
EMULATORS: Final = Path(sys.prefix) / "emulators"
"""Where `tools/find-emulators` puts the servers of `gs` and `abfs`."""
EMULATED: Final = ("gs", "abfs")
ACCOUNT: Final = "devstoreaccount1"
KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""What every Azurite knows: it is written in its documentation."""


class Store(Protocol):
    """One bucket, seen with the vendor's own client."""

    @property
    def root(self) -> str:
        """Return its address."""

    def put(self, prefix: str, files: Mapping[str, bytes]) -> str:
        """Put objects below a prefix; give its address."""

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return every object below a prefix, by its path below it."""

    def delete(self, path: str) -> None:
        """Remove one object."""

    def mark_folder(self, path: str) -> None:
        """Put the marker that the vendor's own tools put for a folder."""


@dataclass(frozen=True, slots=True)
class S3:
    """A bucket of S3."""

    client: Any
    root: str = f"s3://{BUCKET}"

    def put(self, prefix: str, files: Mapping[str, bytes]) -> str:
        """Put objects below a prefix; give its address."""
        for path, data in files.items():
            self.client.put_object(Bucket=BUCKET, Key=f"{prefix}/{path}", Body=data)
        return f"{self.root}/{prefix}"

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return every object below a prefix, by its path below it."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        return {
            found["Key"].removeprefix(f"{prefix}/"): self.client.get_object(Bucket=BUCKET, Key=found["Key"])[
                "Body"
            ].read()
            for page in pages
            for found in page.get("Contents", [])
        }

    def delete(self, path: str) -> None:
        """Remove one object."""
        self.client.delete_object(Bucket=BUCKET, Key=path)

    def mark_folder(self, path: str) -> None:
        """Put the marker that the vendor's own tools put for a folder."""
        self.client.put_object(Bucket=BUCKET, Key=f"{path}/")


@dataclass(frozen=True, slots=True)
class Azure:
    """A container of Azure's Blob Storage."""

    client: Any
    root: str = f"abfs://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"

    def put(self, prefix: str, files: Mapping[str, bytes]) -> str:
        """Put objects below a prefix; give its address."""
        for path, data in files.items():
            self.client.upload_blob(f"{prefix}/{path}", data, overwrite=True)
        return f"{self.root}/{prefix}"

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return every object below a prefix, by its path below it."""
        names = [found.name for found in self.client.list_blobs(name_starts_with=f"{prefix}/")]
        return {name.removeprefix(f"{prefix}/"): self.client.download_blob(name).readall() for name in names}

    def delete(self, path: str) -> None:
        """Remove one object."""
        self.client.delete_blob(path)

    def mark_folder(self, path: str) -> None:
        """Put the marker that the vendor's own tools put for a folder."""
        self.client.upload_blob(path, b"", metadata={"hdi_isfolder": "true"})


@dataclass(frozen=True, slots=True)
class Google:
    """A bucket of Google's Cloud Storage."""

    bucket: Any
    root: str = f"gs://{BUCKET}"

    def put(self, prefix: str, files: Mapping[str, bytes]) -> str:
        """Put objects below a prefix; give its address."""
        for path, data in files.items():
            self.bucket.blob(f"{prefix}/{path}").upload_from_string(data)
        return f"{self.root}/{prefix}"

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return every object below a prefix, by its path below it."""
        found = self.bucket.list_blobs(prefix=f"{prefix}/")
        return {one.name.removeprefix(f"{prefix}/"): one.download_as_bytes() for one in found}

    def delete(self, path: str) -> None:
        """Remove one object."""
        self.bucket.blob(path).delete()

    def mark_folder(self, path: str) -> None:
        """Put the marker that the vendor's own tools put for a folder."""
        self.bucket.blob(f"{path}/").upload_from_string(b"")


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """Yield the address of a server of S3."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - loads boto3

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server of Azure's Blob Storage."""
    program = EMULATORS / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    (port,) = free_ports(1)
    listening = ("--blobHost", "127.0.0.1", "--blobPort", str(port))
    options = (*listening, "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck")
    with served(port, "node", str(program), *options, cwd=tmp_path_factory.mktemp("azurite")) as running:
        yield running.address


@pytest.fixture(scope="session")
def fake_gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server of Google's Cloud Storage."""
    (port,) = free_ports(1)
    here = f"127.0.0.1:{port}"
    options = ("-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port))
    named = ("-public-host", here, "-external-url", f"http://{here}", "-log-level", "error")
    program = str(EMULATORS / "fake-gcs-server")
    with served(port, program, *options, *named, cwd=tmp_path_factory.mktemp("gcs")) as running:
        yield running.address


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers."""

    address: str
    pid: int


@contextmanager
def served(
    port: int, *command: str, cwd: Path, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Served]:
    """Run a server on a loopback port, for as long as the block."""
    assert EMULATORS.is_dir(), f"{EMULATORS} is not there. Nothing was run. Fetch it: make proof"
    log, given = cwd / "log", {**os.environ, **environment}
    with log.open("wb") as out, subprocess.Popen(command, cwd=cwd, stdout=out, stderr=out, env=given) as running:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert running.poll() is None, log.read_text(errors="replace")
                    assert time.monotonic() < deadline, log.read_text(errors="replace")
                    time.sleep(0.1)
            yield Served(f"http://127.0.0.1:{port}", running.pid)
        finally:
            running.kill()  # all is in memory, and some take half a minute to end in good order


@pytest.fixture
def s3(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """Yield an empty bucket of S3, which the environment leads to."""
    import boto3  # noqa: PLC0415 - loads slowly

    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": moto,
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    yield S3(client)
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        for found in page.get("Contents", []):
            client.delete_object(Bucket=BUCKET, Key=found["Key"])


@pytest.fixture
def abfs(azurite: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Azure]:
    """Yield an empty container of Azure, which the environment leads to."""
    from azure.storage.blob import BlobServiceClient  # noqa: PLC0415 - loads slowly

    fields = {
        "DefaultEndpointsProtocol": "http",
        "AccountName": ACCOUNT,
        "AccountKey": KEY,
        "BlobEndpoint": f"{azurite}/{ACCOUNT}",
    }
    told = "".join(f"{name}={value};" for name, value in fields.items())
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", told)
    with BlobServiceClient.from_connection_string(told) as service:
        yield Azure(service.create_container(BUCKET))
        service.delete_container(BUCKET)


@pytest.fixture
def gs(fake_gcs: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    """Yield an empty bucket of Google's, which the environment leads to."""
    from google.auth.credentials import AnonymousCredentials  # noqa: PLC0415 - loads slowly
    from google.cloud import storage  # noqa: PLC0415 - as above

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", fake_gcs)
    # Asked by gRPC, with credentials of Google's own, whatever the endpoint is.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    client = storage.Client(project="test", credentials=AnonymousCredentials())  # type: ignore[no-untyped-call] # Google's
    bucket = client.create_bucket(BUCKET)
    yield Google(bucket)
    bucket.delete(force=True)
    client.close()


@pytest.fixture(params=["s3", *(pytest.param(name, marks=pytest.mark.proof) for name in EMULATED)])
def store(request: pytest.FixtureRequest) -> Store:
    """Return an empty bucket of each kind of store; those of emulators are proof."""
    found: Store = request.getfixturevalue(request.param)
    return found
