"""Single records of a cluster, read again by their offsets: what shows that a plan's proof still holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from offsetwise.model import IsolationLevel
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.spark_errors import spark_errors
from offsetwise.translation.identify import Records
from offsetwise.translation.worker import records_of


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """One offset of one log."""

    topic: str
    partition: int
    offset: int


def read_places(
    spark: SparkSession,
    properties: Mapping[str, str],
    places: Sequence[Place],
    *,
    isolation: IsolationLevel,
    salt: bytes,
) -> dict[Place, Records]:
    """Read the record at each place, as hashes under `salt`; payloads never leave Spark.

    A place without a record is left out: nothing is said about it. One job, whatever the number of places; each is one
    row on the driver.

    Raises:
        ClusterError: The cluster cannot be read by Spark.
        SparkError: The job failed.
    """
    ranges = [
        OffsetRange(topic=each.topic, partition=each.partition, start=each.offset, end=each.offset + 1)
        for each in sorted(set(places))
    ]
    if not ranges:
        return {}
    with spark_errors():
        table = read_records(spark, properties, ranges, isolation=isolation, salt=salt).toArrow()
    keys = (table.column(name).to_pylist() for name in ("topic", "partition", "offset"))
    return {
        Place(topic=topic, partition=partition, offset=offset): records_of(table.slice(row, 1))
        for row, (topic, partition, offset) in enumerate(zip(*keys, strict=True))
    }
