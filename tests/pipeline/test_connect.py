"""Spark Connect: a server in a process of its own, whose Python workers have no Offsetwise.

Nor have the workers of local masters here. The client runs in a process of its own too, because PySpark is either
classic or Connect in one process.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import time
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.config import SparkSettings
from offsetwise.errors import ClusterError, ConnectorError, SparkError, StoppedError, WorkerError
from offsetwise.lab import Lab
from offsetwise.model import Exactness, IsolationLevel, TopicPartition
from offsetwise.pipeline.interrupting import STOP_LIMIT_S, interruptible
from offsetwise.pipeline.launching import CONNECTOR
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.pipeline.shipping import ship
from offsetwise.pipeline.spark_errors import spark_errors
from offsetwise.translation.identity import content_hash
from tests.integration.topics import copies, create, produce, trim
from tests.integration.truth import find, read_both
from tests.pipeline.connect_servers import connect_server

pytestmark = pytest.mark.proof

SALT = b"salt"
TOPIC = "connect-records"
WORKER_PACKAGES = ("pyarrow", "fsspec", "numpy", "numpy.libs", "pandas")


@pytest.fixture(scope="module")
def worker_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with Arrow and fsspec, and without Offsetwise."""
    folder = tmp_path_factory.mktemp("worker")
    venv.create(folder, with_pip=False)
    site = next(folder.glob("lib/python*/site-packages"))
    installed = Path(pa.__file__).parent.parent
    for name in WORKER_PACKAGES:
        if (installed / name).exists():
            (site / name).symlink_to(installed / name)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, worker_python: Path) -> Iterator[str]:
    package = f"{CONNECTOR}:{pyspark.__version__}"
    with connect_server(tmp_path_factory.mktemp("server"), worker_python, "--packages", package) as address:
        yield address


@pytest.fixture(scope="module")
def client() -> Iterator[Executor]:
    with pytest.MonkeyPatch.context() as patch:
        # A page that was tested in this process is its main module, which a new process would run.
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as process:
            yield process


@pytest.fixture(scope="module")
def bootstrap(lab: Lab) -> str:
    """A cluster with 50 records in two partitions."""
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    for created in admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=1)]).values():
        created.result()
    producer = Producer({"bootstrap.servers": lab.old_bootstrap})
    for number in range(50):
        producer.produce(TOPIC, key=b"\0%d" % number, value=None if number % 7 == 0 else b"v", partition=number % 2)
    assert producer.flush(30) == 0
    return lab.old_bootstrap


def read(address: str, bootstrap: str) -> list[dict[str, Any]]:
    spark = open_session(SparkSettings(remote=address), kafka=True)
    ranges = [OffsetRange(topic=TOPIC, partition=partition, start=5, end=20) for partition in (0, 1)]
    uncommitted = IsolationLevel.READ_UNCOMMITTED
    with spark_errors():
        frame = read_records(spark, {"bootstrap.servers": bootstrap}, ranges, isolation=uncommitted, salt=SALT)
        return frame.orderBy("partition", "offset").toArrow().to_pylist()


def find_by_content(address: str, old: str, new: str) -> list[tuple[int | None, Exactness | None]]:
    match = TopicPartition("connect-match", 0)
    both = read_both(old, new, match, match.topic)
    found = find(old, new, {both: [150, 250]}, spark=SparkSettings(remote=address))
    cuts = [each.answer.cut for each in found.values()]
    return [(cut.offset, cut.exactness) for cut in cuts if cut is not None]


def read_nothing_there(address: str, bootstrap: str) -> None:
    spark = open_session(SparkSettings(remote=address), kafka=True)
    ranges = [OffsetRange(topic="never-created", partition=0, start=0, end=5)]
    uncommitted = IsolationLevel.READ_UNCOMMITTED
    with spark_errors():
        read_records(spark, {"bootstrap.servers": bootstrap}, ranges, isolation=uncommitted, salt=SALT).toArrow()


def imported_on_a_worker(settings: SparkSettings, *, shipped: bool) -> tuple[str, bytes]:
    """Where a worker imports Offsetwise from, and what it computes with it."""
    os.environ.pop("PYTHONPATH", None)  # a local master's workers inherit it
    if not shipped:
        close_session()  # tests before may have shipped to this one
    spark = open_session(settings, kafka=False)
    if shipped:
        ship(spark, uris=["file:///checkpoints"])
        ship(spark, uris=["file:///checkpoints"])
    with spark_errors():
        found = spark.range(1).mapInArrow(_worker(), "place string, hash binary").toArrow().to_pylist()[0]
    return found["place"], found["hash"]


def _worker() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from offsetwise.translation import identity  # noqa: PLC0415 - imported where it runs, on the worker

        for _ in batches:
            made = {"place": identity.__file__, "hash": identity.content_hash(b"salt", b"k", None)}
            yield pa.RecordBatch.from_pylist([made])

    return run


def ship_for(settings: SparkSettings, uri: str) -> None:
    ship(open_session(settings, kafka=False), uris=[uri])


def open_for_records(address: str) -> None:
    open_session(SparkSettings(remote=address), kafka=True)


def open_with_token(address: str, token: str) -> None:
    os.environ["TOKEN_OF_CONNECT"] = token
    open_for_records(f"{address}/;token=${{TOKEN_OF_CONNECT}}")


def count_without_kafka(address: str) -> int:
    return open_session(SparkSettings(remote=address), kafka=False).range(7).count()


def stop_at_once(address: str, ended: Path) -> int:
    """Stop a job before it began; it would write a file at its end, long after who waits for the stop gave up."""
    spark = open_session(SparkSettings(remote=address), kafka=False)

    def sleep(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(2 * STOP_LIMIT_S)
        ended.touch()
        yield from rows

    def stop() -> None:
        raise StoppedError("stopped", fix="again")

    with pytest.raises(StoppedError):
        interruptible(spark, spark.range(1).mapInArrow(sleep, "id long").toArrow, stop)
    return spark.range(7).count()


def test_records_are_read_through_a_connect_server(client: Executor, server: str, bootstrap: str) -> None:
    rows = client.submit(read, server, bootstrap).result()

    def sent(row: dict[str, Any]) -> tuple[bytes, bytes | None]:
        number = 2 * row["offset"] + row["partition"]
        return b"\0%d" % number, None if number % 7 == 0 else b"v"

    assert [(row["partition"], row["offset"]) for row in rows] == [(p, o) for p in (0, 1) for o in range(5, 20)]
    assert [row["content"] for row in rows] == [content_hash(SALT, *sent(row)) for row in rows]


@pytest.mark.gates
def test_a_job_on_the_server_is_stopped_by_a_stop_that_comes_before_it_began(
    client: Executor, server: str, tmp_path: Path
) -> None:
    assert client.submit(stop_at_once, server, tmp_path / "ended").result() == 7
    assert not (tmp_path / "ended").exists()


@pytest.mark.parametrize("kind", ["connect", "classic"])
def test_workers_without_offsetwise_run_the_code_that_was_shipped(
    client: Executor, server: str, worker_python: Path, kind: str
) -> None:
    classic = SparkSettings(master="local[1]", conf={"spark.pyspark.python": str(worker_python)})
    settings = SparkSettings(remote=server) if kind == "connect" else classic
    with pytest.raises(WorkerError, match="No module named 'offsetwise'"):
        client.submit(imported_on_a_worker, settings, shipped=False).result()

    place, computed = client.submit(imported_on_a_worker, settings, shipped=True).result()

    assert ".zip/offsetwise/translation/identity.py" in place
    assert computed == content_hash(SALT, b"k", None)


def test_positions_are_found_by_content_on_workers_that_have_no_offsetwise(
    client: Executor, server: str, lab: Lab
) -> None:
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, 100)):
        create(bootstrap, "connect-match")
        produce(bootstrap, {"connect-match": copies(first, 300)})
    trim(lab.old_bootstrap, "connect-match", 100)

    found = client.submit(find_by_content, server, lab.old_bootstrap, lab.new_bootstrap).result()

    assert found == [(50, Exactness.EXACT), (150, Exactness.EXACT)]


def test_a_file_system_library_that_the_servers_workers_lack_is_named(client: Executor, server: str) -> None:
    with pytest.raises(WorkerError, match=r"lack adlfs.*pip install adlfs"):
        client.submit(ship_for, SparkSettings(remote=server), "abfs://container/checkpoints").result()


@pytest.mark.gates
def test_workers_without_arrow_are_named_before_anything_is_read(client: Executor, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False)
    bare = str(tmp_path / "bin" / "python")

    with pytest.raises(WorkerError) as caught:
        client.submit(
            ship_for, SparkSettings(master="local[1]", conf={"spark.pyspark.python": bare}), "s3://bucket/checkpoints"
        ).result()

    assert caught.value.fix == f"Run there: {bare} -m pip install pyarrow fsspec s3fs"


def test_a_missing_topic_is_our_error_through_connect_too(client: Executor, server: str, bootstrap: str) -> None:
    with pytest.raises(ClusterError, match="does not have") as caught:
        client.submit(read_nothing_there, server, bootstrap).result()

    assert "\n" not in str(caught.value)


def test_a_server_without_the_connector_is_told_apart_and_one_that_stopped_too(
    client: Executor, worker_python: Path, tmp_path: Path
) -> None:
    with connect_server(tmp_path, worker_python) as address:
        with pytest.raises(ConnectorError) as caught:
            client.submit(open_for_records, address).result()
        assert client.submit(count_without_kafka, address).result() == 7

    assert "Start the server with --packages org.apache.spark:spark-sql-kafka-0-10_2.13:" in caught.value.fix
    with pytest.raises(SparkError, match=r"expected a Spark Connect server, found: .*refused"):
        client.submit(count_without_kafka, address).result(timeout=30)


def test_an_address_where_nothing_listens_is_said_within_seconds(client: Executor) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"sc://127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(SparkError, match=f"{address}: expected a Spark Connect server") as caught:
            client.submit(open_with_token, address, "canary").result()

    assert "canary" not in str(caught.value)
    assert "TOKEN" not in str(caught.value)
