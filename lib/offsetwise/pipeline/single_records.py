"""Read single records of a cluster again by their offsets, to show that a plan's proof still holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from pyspark.sql import SparkSession

from offsetwise.model import IsolationLevel, TopicPartition
from offsetwise.pipeline.client_windows import once, rows_of
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.spark_errors import foreign_answer, spark_errors
from offsetwise.translation.identify import Records
from offsetwise.translation.worker import records_of

_PLACE: Final = {"topic": str, "partition": int, "offset": int}


def read_places(
    spark: SparkSession,
    properties: Mapping[str, str],
    positions: Sequence[tuple[TopicPartition, int]],
    *,
    isolation: IsolationLevel,
    salt: bytes,
) -> dict[tuple[TopicPartition, int], Records]:
    """Read the record at each offset, as hashes under `salt`; payloads never leave Spark.

    Offsets without a record are missing in the result. One job, whatever the number of offsets; each is one row on the
    driver.

    Raises:
        ClusterError: The cluster cannot be read by Spark.
        SparkError: The job failed.
    """
    ranges = list(_ranges(positions))
    if not ranges:
        return {}
    with spark_errors():
        table = read_records(spark, properties, ranges, isolation=isolation, salt=salt).toArrow()
    try:
        rows = rows_of(table.select([*_PLACE]), _PLACE)
    except KeyError as error:
        raise foreign_answer(f"the columns {', '.join(table.column_names)[:200]}") from error
    keys = [(TopicPartition(row["topic"], row["partition"]), row["offset"]) for row in rows]
    once(keys)
    if not set(keys) <= set(positions):
        raise foreign_answer("records at offsets that were not to be read")
    return {key: records_of(table.slice(row, 1)) for row, key in enumerate(keys)}


def _ranges(positions: Iterable[tuple[TopicPartition, int]]) -> Iterator[OffsetRange]:
    for at, group in groupby(sorted(set(positions)), key=itemgetter(0)):
        offsets = [offset for _, offset in group]
        first = offsets[0]
        for offset, following in zip(offsets, [*offsets[1:], None], strict=True):
            if following != offset + 1:
                yield OffsetRange(topic=at.topic, partition=at.partition, start=first, end=offset + 1)
                first = offset if following is None else following
