"""A Spark Connect server in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from offsetwise.lab.brokers import free_ports

START_LIMIT_S = 180


@contextmanager
def connect_server(folder: Path, worker_python: Path, *options: str, port: int | None = None) -> Iterator[str]:
    """Run a Connect server on a loopback port, a free one by default, and yield its address."""
    port = port or free_ports(1)[0]
    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
    }
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"),
        *(part for name, value in conf.items() for part in ("--conf", f"{name}={value}")),
        *options,
        "spark-internal",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(worker_python)}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        limit = time.monotonic() + START_LIMIT_S
        while not listens(port):
            assert server.poll() is None, (folder / "server.log").read_text()
            assert time.monotonic() < limit, (folder / "server.log").read_text()
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
