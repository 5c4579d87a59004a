"""A standalone Spark cluster on loopback: a master and workers of one core, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from offsetwise.lab.brokers import free_ports
from tests.pipeline.connect_servers import listens

_DEPLOY = "org.apache.spark.deploy"
_START_LIMIT_S = 180


@contextmanager
def standalone_master(*, workers: int = 2, memory: str = "1g") -> Iterator[str]:
    """Start a master with so many workers, and yield its address, `spark://HOST:PORT`, once it accepts them."""
    port, *pages = free_ports(2 + workers)
    address = f"spark://127.0.0.1:{port}"
    launcher = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    master = [f"{_DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(pages[0])]
    worker = [f"{_DEPLOY}.worker.Worker", address, "--cores", "1", "--memory", memory, "--webui-port"]
    with tempfile.TemporaryDirectory() as folder:
        own = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": folder, "SPARK_DAEMON_MEMORY": "256m"}
        running = [
            subprocess.Popen([launcher, *command], env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for command in (master, *([*worker, str(page)] for page in pages[1:]))
        ]
        try:
            limit = time.monotonic() + _START_LIMIT_S
            while not all(listens(each) for each in (port, *pages)):
                assert all(process.poll() is None for process in running), "a process of the cluster has ended"
                assert time.monotonic() < limit, "the cluster did not start"
                time.sleep(0.1)
            yield address
        finally:
            for process in running:
                process.terminate()
                process.wait(timeout=60)
