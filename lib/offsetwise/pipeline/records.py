"""Records of a Kafka cluster as identities, for the content match and the reconciliation.

Keys, values and header values are hashed in the projection and never leave it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.model import IsolationLevel
from offsetwise.position import OfPartition
from offsetwise.translation.identity import (
    IDENTITY_BYTES,
    KAFKA_BACKUP,
    MAX_DIGITS,
    NULL_LENGTH,
    OFFSET_BYTES,
    PROVENANCE_HEADERS,
    REDPANDA,
    SCHEMA_PREFIX_BYTES,
)

RECORD_SCHEMA: Final = (
    "topic string, partition int, offset bigint, timestamp bigint, log_append boolean, content binary, masked binary, "
    "key_schema int, value_schema int, headers array<struct<name: string, hash: binary>>, origin bigint, size int"
)
POLL_TIMEOUT_MS: Final = 30_000
ANSWER_WITHIN: Final = {"kafka.default.api.timeout.ms": "20000", "kafka.request.timeout.ms": "15000"}
"""How long Spark waits for a cluster that does not answer, unless the migration file says otherwise."""
NO_METRICS: Final = {"kafka.auto.include.jmx.reporter": "false", "kafka.metric.reporters": ""}
"""Spark creates a consumer for each partition, and metrics of a consumer that reads a single window are useless. Kafka
3 knows the first name, Kafka 4 the second."""
REST_OF_PART: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OffsetRange(OfPartition):
    """The offsets `[start, end)` of one partition. Not every offset needs to hold a record."""

    topic: str
    partition: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"{self.topic_partition}: expected 0 <= start <= end, found {self.start}, {self.end}")


def read_records(
    spark: SparkSession,
    properties: Mapping[str, str],
    ranges: Sequence[OffsetRange],
    *,
    isolation: IsolationLevel,
    salt: bytes,
    max_records_per_task: int | None = None,
) -> DataFrame:
    """Read the records of `ranges` as identities, in one job that leaves no trace on the cluster.

    Ranges must lie inside fresh [log start, HW or LSO]: an end beyond the log waits for `POLL_TIMEOUT_MS` and then
    causes an error, or a shorter range without one. A range that retention shortens while it is read is shorter in the
    result, without an error (which would fail the whole read for one partition): **read the log starts again afterwards
    and distrust the ranges that start below them.**

    Args:
        spark: A session with Spark's Kafka connector.
        properties: Client properties in the Java client's names, without the `kafka.` prefix.
        ranges: The ranges. Overlapping ranges of one partition are read once.
        isolation: The isolation level of the job.
        salt: Keys the hashes; equal salts give comparable identities.
        max_records_per_task: Split large ranges into tasks of about this many records.

    Returns:
        One row per record, in no order: topic, partition, offset, timestamp (ms, null if the record has none),
            log_append (whether the broker set the timestamp), content (16 bytes, see `translation/identity.py`), masked
            (null if no schema-registry id can be inside), key_schema, value_schema (null likewise), headers (name and
            hash, in order; null if there are none), origin (the old offset in a provenance header), size (bytes of key,
            value and headers).
    """
    tasks = _tasks(spark, ranges, max_records_per_task)
    options = _source_options(properties, isolation)
    if max_records_per_task is not None:
        options["maxRecordsPerPartition"] = str(max_records_per_task)
    reads = [spark.read.format("kafka").options(**options, **_assignment(layer)).load() for layer in _layers(ranges)]
    if not reads:
        return spark.createDataFrame([], RECORD_SCHEMA)
    return identify(reduce(DataFrame.unionByName, reads).coalesce(tasks), salt=salt)


def identify(records: DataFrame, *, salt: bytes) -> DataFrame:
    """Replace the bytes of Spark's Kafka rows by identities; one row per row.

    Args:
        records: Spark's Kafka columns: topic, partition, offset, timestamp, timestampType, key, value, headers.
        salt: Keys the hashes.

    Returns:
        The columns of `read_records`.
    """
    key, value = F.col("key"), F.col("value")
    may_hold_schema = F.coalesce(_may_hold_schema(key), F.lit(False)) | F.coalesce(
        _may_hold_schema(value), F.lit(False)
    )
    timestamp = F.unix_millis("timestamp")
    # librdkafka ends a header's name at a zero byte: cut here too, so that both readers give a record one identity.
    headers = F.transform(
        "headers",
        lambda header: F.struct(F.substring_index(header["key"], "\0", 1).alias("key"), header["value"].alias("value")),
    )
    return records.select(
        "topic",
        "partition",
        "offset",
        F.when((F.col("timestampType") != -1) & (timestamp != -1), timestamp).alias("timestamp"),
        (F.col("timestampType") == 1).alias("log_append"),
        _hash(salt, key, value).alias("content"),
        F.when(may_hold_schema, _hash(salt, _blanked(key), _blanked(value))).alias("masked"),
        _schema_id(key).alias("key_schema"),
        _schema_id(value).alias("value_schema"),
        F.transform(
            headers,
            lambda header: F.struct(
                header["key"].alias("name"),
                _hash(salt, header["key"].cast("binary"), header["value"]).alias("hash"),
            ),
        ).alias("headers"),
        _origin(headers).alias("origin"),
        (_size(key) + _size(value) + _size_of_headers(headers)).alias("size"),
    )


def _size(part: Column) -> Column:
    return F.coalesce(F.octet_length(part), F.lit(0))


def _size_of_headers(headers: Column) -> Column:
    total = F.aggregate(
        headers, F.lit(0), lambda accumulated, column: accumulated + _size(column["key"]) + _size(column["value"])
    )
    return F.coalesce(total, F.lit(0))


def _origin(headers: Column) -> Column:
    first = F.get(F.filter(headers, lambda header: header["key"].isin(sorted(PROVENANCE_HEADERS))), F.lit(0))
    name, value = first["key"], first["value"]
    digits = F.hex(value)
    swapped = F.concat(*[F.substring(digits, at, 2) for at in range(2 * OFFSET_BYTES - 1, 0, -2)])
    text = F.decode(value, "ISO-8859-1")
    is_text = (name == KAFKA_BACKUP) & text.rlike(f"^[0-9]{{1,{MAX_DIGITS}}}$")
    number = F.conv(F.when(name == REDPANDA, digits).otherwise(swapped), 16, 10)
    return F.when(
        is_text | (F.octet_length(value) == OFFSET_BYTES), F.when(is_text, text).otherwise(number).try_cast("bigint")
    )


def _hash(salt: bytes, *parts: Column) -> Column:
    framed = [F.lit(bytearray(salt))]
    for part in parts:
        length = F.unhex(F.lpad(F.hex(F.octet_length(part)), 8, "0"))
        framed += [F.coalesce(length, F.lit(bytearray(NULL_LENGTH))), F.coalesce(part, F.lit(bytearray()))]
    return F.unhex(F.substring(F.sha2(F.concat(*framed), 256), 1, 2 * IDENTITY_BYTES))


def _may_hold_schema(part: Column) -> Column:
    return (F.octet_length(part) >= SCHEMA_PREFIX_BYTES) & (F.substring(part, 1, 1) == F.lit(bytearray(1)))


def _blanked(part: Column) -> Column:
    rest = F.substring(part, SCHEMA_PREFIX_BYTES + 1, REST_OF_PART)
    return F.when(_may_hold_schema(part), F.concat(F.lit(bytearray(SCHEMA_PREFIX_BYTES)), rest)).otherwise(part)


def _schema_id(part: Column) -> Column:
    unsigned = F.conv(F.hex(F.substring(part, 2, 4)), 16, 10).cast("bigint")
    signed = F.when(unsigned >= 2**31, unsigned - 2**32).otherwise(unsigned).cast("int")
    return F.when(_may_hold_schema(part), signed)


def _layers(ranges: Iterable[OffsetRange]) -> list[list[OffsetRange]]:
    """Arrange ranges so that each layer has a partition once, as Spark's options require."""
    layers: defaultdict[int, list[OffsetRange]] = defaultdict(list)
    for _, of_partition in groupby(sorted(ranges), key=lambda r: r.topic_partition):
        for depth, merged in enumerate(_merged(of_partition)):
            layers[depth].append(merged)
    return list(layers.values())


def _merged(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    offset_ranges: list[OffsetRange] = []
    for offset_range in ranges:
        if offset_range.start == offset_range.end:
            continue
        if offset_ranges and offset_range.start <= offset_ranges[-1].end:
            offset_ranges[-1] = replace(offset_ranges[-1], end=max(offset_ranges[-1].end, offset_range.end))
        else:
            offset_ranges.append(offset_range)
    return offset_ranges


def _assignment(layer: Sequence[OffsetRange]) -> dict[str, str]:
    topics: defaultdict[str, list[OffsetRange]] = defaultdict(list)
    for offset_range in layer:
        topics[offset_range.topic].append(offset_range)
    return {
        "assign": json.dumps({topic: [r.partition for r in of] for topic, of in topics.items()}),
        "startingOffsets": json.dumps({topic: {str(r.partition): r.start for r in of} for topic, of in topics.items()}),
        "endingOffsets": json.dumps({topic: {str(r.partition): r.end for r in of} for topic, of in topics.items()}),
    }


def _tasks(spark: SparkSession, ranges: Sequence[OffsetRange], max_records_per_task: int | None) -> int:
    """Return the number of tasks: few, each for many partitions, because starting one costs more than a window."""
    few = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    if max_records_per_task is None:
        return few
    return max(few, -(-sum(r.end - r.start for r in ranges) // max_records_per_task))


def _source_options(properties: Mapping[str, str], isolation: IsolationLevel) -> dict[str, str]:
    options = ANSWER_WITHIN | NO_METRICS | {f"kafka.{name}": value for name, value in properties.items()}
    return options | {
        "kafka.isolation.level": isolation.value,
        "kafka.allow.auto.create.topics": "false",
        "kafka.fetch.max.wait.ms": "1",
        "kafkaConsumer.pollTimeoutMs": str(POLL_TIMEOUT_MS),
        "failOnDataLoss": "false",
        "includeHeaders": "true",
    }
