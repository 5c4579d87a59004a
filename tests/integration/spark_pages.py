"""What Spark shows of a session: its pages and its event log, attached while it runs, and a history server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyspark
from pyspark.sql import SparkSession

from offsetwise.lab.brokers import free_ports
from tests.integration.flink_cluster import wait_until


@contextmanager
def pages(spark: SparkSession) -> Iterator[str]:
    """Serve the pages of a session, and with them its REST API; return their address."""
    context, jvm = _scala(spark)
    conf = context.conf().clone().set("spark.ui.port", "0")
    ui = jvm.org.apache.spark.ui.SparkUI.create(
        jvm.scala.Some(context),
        context.statusStore(),
        conf,
        context.env().securityManager(),
        context.appName(),
        "",
        context.startTime(),
        context.version(),
    )
    ui.setAppId(context.applicationId())
    ui.bind()
    ui.attachAllHandlers()
    try:
        yield f"http://127.0.0.1:{ui.boundPort()}"
    finally:
        ui.stop()


@contextmanager
def event_log(spark: SparkSession, folder: Path, codec: str = "zstd") -> Iterator[Path]:
    """Let a session write its event log from now on, compressed so; return the folder that holds it."""
    context, jvm = _scala(spark)
    folder.mkdir()
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        context.applicationId(),
        context.applicationAttemptId(),
        jvm.java.net.URI(folder.as_uri()),
        context.conf().clone().set("spark.eventLog.compression.codec", codec).set("spark.eventLog.compress", "true"),
        context.hadoopConfiguration(),
    )
    listener.start()
    nothing = jvm.scala.Option.empty()
    begun = jvm.org.apache.spark.scheduler.SparkListenerApplicationStart(
        context.appName(),
        jvm.scala.Some(context.applicationId()),
        context.startTime(),
        context.sparkUser(),
        context.applicationAttemptId(),
        nothing,
        nothing,
    )
    listener.onApplicationStart(begun)  # a history server lists no application without
    context.addSparkListener(listener)
    try:
        yield folder
    finally:
        context.removeSparkListener(listener)
        listener.stop()


@contextmanager
def history_server(logs: Path) -> Iterator[str]:
    """Run the history server of the release that this process imports on a folder of event logs; return its address."""
    home = Path(pyspark.__file__).parent
    (port,) = free_ports(1)
    settings = {"fs.logDirectory": logs.as_uri(), "ui.port": str(port), "fs.update.interval": "1s"}
    options = " ".join(f"-Dspark.history.{name}={value}" for name, value in settings.items())
    process = subprocess.Popen(
        [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"],
        env=os.environ | {"SPARK_HOME": str(home), "SPARK_HISTORY_OPTS": options, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _lists(address), f"an application at {address}", refuse=lambda: str(process.poll() or ""))
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _lists(address: str) -> bool:
    with urlopen(f"{address}/api/v1/applications", timeout=10) as answer:
        return bool(json.load(answer))


def caught_up(spark: SparkSession) -> None:
    """Wait until pages and event log have all that has happened."""
    context, _ = _scala(spark)
    context.listenerBus().waitUntilEmpty()


def _scala(spark: SparkSession) -> tuple[Any, Any]:
    java: Any = spark.sparkContext
    return java._jsc.sc(), java._jvm
