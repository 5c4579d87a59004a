from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from offsetwise.model import Checkpoint
from offsetwise.model.state import StateRows
from offsetwise.pipeline.start import install_pyspark, start_spark
from offsetwise.plugins.spark.state.state_path import spark_path
from offsetwise.progress import Progress

if TYPE_CHECKING:
    from offsetwise.config import SparkSettings


def count_rows(
    uri: str, checkpoint: Checkpoint, *, roots: Sequence[str] | None, spark: SparkSettings, progress: Progress
) -> StateRows:
    path = spark_path(uri, roots=roots)
    install_pyspark(progress)
    from offsetwise.plugins.spark.state.state import check_state, read_state_rows  # noqa: PLC0415 - PySpark is slow

    check_state(checkpoint)
    progress("read the checkpoint", 1, 1)
    session = start_spark(spark, progress)
    return read_state_rows(session, path, checkpoint, progress=progress)
