"""The pages and the event log of a Spark session that began without: Spark's own classes, attached while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


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
def event_log(spark: SparkSession, folder: Path) -> Iterator[Path]:
    """Let a session write its event log from now on; return the folder that holds it."""
    context, jvm = _scala(spark)
    folder.mkdir()
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        context.applicationId(),
        context.applicationAttemptId(),
        jvm.java.net.URI(folder.as_uri()),
        context.conf().clone(),
        context.hadoopConfiguration(),
    )
    listener.start()
    context.addSparkListener(listener)
    try:
        yield folder
    finally:
        context.removeSparkListener(listener)
        listener.stop()


def caught_up(spark: SparkSession) -> None:
    """Wait until pages and event log have all that has happened."""
    context, _ = _scala(spark)
    context.listenerBus().waitUntilEmpty()


def _scala(spark: SparkSession) -> tuple[Any, Any]:
    java: Any = spark.sparkContext
    return java._jsc.sc(), java._jvm
