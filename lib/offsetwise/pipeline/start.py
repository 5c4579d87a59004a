"""The first step of all work on Spark, told to whoever waits."""

from __future__ import annotations

from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from offsetwise.config import SparkSettings
from offsetwise.pipeline.session import open_session
from offsetwise.pipeline.shipping import ship
from offsetwise.progress import Progress

STEP: Final = "start Spark"


def start_spark(settings: SparkSettings, progress: Progress, *, records: bool = False) -> SparkSession:
    """Open the session of a migration.

    Args:
        settings: Where Spark runs.
        progress: Told the step, and several times a second while workers are asked; what it raises is raised here.
        records: Whether its workers will read Kafka's records: they get what that needs.

    Raises:
        SparkError: Spark cannot be started.
        WorkerError: The workers cannot run what they were sent.
    """
    progress(STEP, 0, 1)
    session = open_session(settings, kafka=records)
    if records:
        ship(session, watch=partial(progress, STEP, 0, 1))
    progress(STEP, 1, 1)
    return session
