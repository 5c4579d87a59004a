"""Reconciliation of a whole topic: which records are on both clusters, and where they differ.

Records are counted by identity, as a multiset: the number of copies matters, their offsets do not. Each cluster is read
once; only sums by partition and offset range reach the driver.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.model import Cluster, IsolationLevel, PartitionReconciliation, RangeDifference, Reconciliation
from offsetwise.pipeline.client_windows import once
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.spark_errors import foreign_answer, spark_errors
from offsetwise.translation.identity import PROVENANCE_HEADERS

RECORDS_PER_TASK: Final = 250_000
RANGE_OFFSETS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLog:
    properties: Mapping[str, str]
    """In the Java client's names, without the `kafka.` prefix."""
    topic: str
    ranges: tuple[OffsetRange, ...]
    """One for each partition, inside fresh [log start, HW or LSO]."""


def reconcile(
    spark: SparkSession,
    old: TopicLog,
    new: TopicLog,
    *,
    isolation: IsolationLevel,
    salt: bytes,
    timed: bool | None = None,
    range_offsets: int = RANGE_OFFSETS,
) -> Reconciliation:
    """Count the records of a topic on both clusters, partition by partition.

    Of equal records, those at the lowest offsets are paired first. A range that retention shortens while it is read is
    shorter in the result: read the log starts again afterwards and distrust partitions where they are above a range's
    start.

    Args:
        spark: A session with Spark's Kafka connector.
        old: The topic on the old cluster.
        new: Its counterpart on the new one; may have another name. Partition numbers correspond.
        isolation: The isolation level of the job.
        salt: Keys the hashes.
        timed: Whether equal records must have equal timestamps; None compares them in partitions where both clusters
            kept those of the producers.
        range_offsets: How many offsets a reported range has.

    Raises:
        OffsetwiseError: The job failed; see `pipeline/spark_errors.py`.
    """
    with (
        spark_errors(),
        _read_once(spark, old, isolation, salt) as old_records,
        _read_once(spark, new, isolation, salt) as new_records,
    ):
        old_traits, new_traits = _traits(old_records), _traits(new_records)
        ignored = PROVENANCE_HEADERS | (_header_names(new_traits) - _header_names(old_traits))
        partitions = sorted({span.partition for span in (*old.ranges, *new.ranges)})
        untimed = {trait.partition for trait in (*old_traits, *new_traits) if not trait.timed}
        compared = [partition for partition in partitions if (partition not in untimed if timed is None else timed)]
        sums = count_differences(
            keyed(old_records, timed=compared, ignored_headers=ignored),
            keyed(new_records, timed=compared, ignored_headers=ignored),
            range_offsets=range_offsets,
        ).toArrow()
    read = {side: {span.partition: span for span in log.ranges} for side, log in zip(Cluster, (old, new), strict=True)}
    rows = range_sums(sums.to_pylist(), read, range_offsets=range_offsets)
    _require_all(rows, {Cluster.OLD: old_traits, Cluster.NEW: new_traits})
    by_partition: defaultdict[int, list[_RangeSum]] = defaultdict(list)
    for row in rows:
        by_partition[row.partition].append(row)
    return Reconciliation(
        old_topic=old.topic,
        new_topic=new.topic,
        isolation_level=isolation,
        partitions=tuple(
            _partition(partition, by_partition[partition], timed=partition in compared) for partition in partitions
        ),
        differences=tuple(_differences(rows, read, range_offsets)),
        ignored_headers=tuple(sorted(ignored & (_header_names(old_traits) | _header_names(new_traits)))),
    )


def keyed(records: DataFrame, *, timed: Sequence[int], ignored_headers: Iterable[str]) -> DataFrame:
    """Return the columns of each record that make up its identity; one row per row.

    Args:
        records: The columns of `read_records`.
        timed: Partitions where timestamps count.
        ignored_headers: Header names that do not count.

    Returns:
        partition, offset, content, timestamp (null where it does not count), headers_hash (null where none count).
    """
    ignored = sorted(ignored_headers)
    counted = F.filter("headers", lambda header: ~header["name"].isin(ignored)) if ignored else F.col("headers")
    joined = F.aggregate(counted, F.lit(bytearray()), lambda accumulated, header: F.concat(accumulated, header["hash"]))
    return records.select(
        "partition",
        "offset",
        "content",
        F.when(F.col("partition").isin(list(timed)), F.col("timestamp")).alias("timestamp"),
        F.when(F.size(counted) > 0, F.sha2(joined, 256)).alias("headers_hash"),
    )


def count_differences(old: DataFrame, new: DataFrame, *, range_offsets: int) -> DataFrame:
    """Compare two multisets of records.

    Args:
        old: The columns of `keyed`.
        new: The same, of the other cluster.
        range_offsets: How many offsets a range has.

    Returns:
        One row for each cluster (`old`, `new`), partition and range (its number, counted from offset 0) that holds a
            record, in no order: cluster, partition, range, records, both, missing, duplicated, foreign. No nulls.
    """
    is_old = F.col("side") == 0
    both = F.col("before") < F.when(is_old, F.col("on_new")).otherwise(2 * F.col("on_old"))
    known = F.col("on_old") > 0
    return (
        _placed(old, new, range_offsets)
        .withColumn("both", both)
        .groupBy("side", "partition", "range")
        .agg(
            F.count("*").alias("records"),
            F.count_if("both").alias("both"),
            F.count_if(is_old & ~F.col("both")).alias("missing"),
            F.count_if(~is_old & known & ~F.col("both")).alias("duplicated"),
            F.count_if(~is_old & ~known).alias("foreign"),
        )
        .select(
            F.when(is_old, Cluster.OLD.value).otherwise(Cluster.NEW.value).alias("cluster"),
            "partition",
            "range",
            "records",
            "both",
            "missing",
            "duplicated",
            "foreign",
        )
    )


def _placed(old: DataFrame, new: DataFrame, range_offsets: int) -> DataFrame:
    """Return one row per record of both sides, with its rank among the records of its identity.

    Returns:
        side (0 is the old one), partition, range, before (equal records that come earlier, the old ones first), on_old
            and on_new (equal records of each side, including itself).
    """
    # Spark sorts by the first eight bytes of the first column, and compares whole rows only if these are equal.
    identity = ["content", "partition", "timestamp", "headers_hash"]
    sides = [
        frame.select(*identity, F.lit(number).alias("side"), F.expr(f"offset div {range_offsets:d}").alias("range"))
        for number, frame in enumerate((old, new))
    ]
    # Records are counted one by one: most occur once on each cluster, and one shuffle and one sort suffice for both.
    # Old ranges come first in this order, so the rows before a new record include all old copies.
    in_order = Window.partitionBy(*identity).orderBy("side", "range")
    whole = in_order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    is_old = F.col("side") == 0
    return (
        sides[0]
        .unionByName(sides[1])
        .select(
            "side",
            "partition",
            "range",
            (F.row_number().over(in_order) - 1).alias("before"),
            F.count_if(is_old).over(whole).alias("on_old"),
            F.count_if(~is_old).over(whole).alias("on_new"),
        )
    )


_Number = Annotated[int, Field(ge=0, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Traits:
    partition: _Number
    timed: Annotated[bool, Field(strict=True)]
    header_names: frozenset[str]


_TRAITS: Final = TypeAdapter(with_config(ConfigDict(extra="forbid"))(_Traits))


@dataclass(frozen=True, slots=True, kw_only=True)
class _RangeSum:
    cluster: Cluster
    partition: _Number
    range: _Number
    records: _Number
    both: _Number
    missing: _Number
    duplicated: _Number
    foreign: _Number


_SUM: Final = TypeAdapter(with_config(ConfigDict(extra="forbid"))(_RangeSum))


@contextmanager
def _read_once(spark: SparkSession, log: TopicLog, isolation: IsolationLevel, salt: bytes) -> Iterator[DataFrame]:
    """Persist the compared records on Spark's disks: two passes need them, and the brokers should serve them once."""
    records = (
        read_records(
            spark, log.properties, log.ranges, isolation=isolation, salt=salt, max_records_per_task=RECORDS_PER_TASK
        )
        .select("partition", "offset", "timestamp", "log_append", "content", "headers")
        .persist(StorageLevel.DISK_ONLY)
    )
    try:
        yield records
    finally:
        records.unpersist()


def _traits(records: DataFrame) -> list[_Traits]:
    names = F.collect_set(F.transform("headers", lambda header: header["name"]))
    rows = (
        records.groupBy("partition")
        .agg(
            F.bool_and(~F.col("log_append") & F.col("timestamp").isNotNull()).alias("timed"),
            F.array_distinct(F.flatten(names)).alias("header_names"),
        )
        .toArrow()
    )
    return traits_of(rows.to_pylist())


def traits_of(rows: Sequence[Mapping[str, Any]]) -> list[_Traits]:
    """Validate Spark's answer about the records of each partition.

    Raises:
        WorkerError: A row has another shape, or a partition is repeated.
    """
    try:
        traits = [_TRAITS.validate_python(row) for row in rows]
    except ValidationError as error:
        raise foreign_answer("traits of another shape") from error
    once(trait.partition for trait in traits)
    return traits


def _header_names(traits: Iterable[_Traits]) -> frozenset[str]:
    return frozenset().union(*(trait.header_names for trait in traits))


def _partition(partition: int, rows: Sequence[_RangeSum], *, timed: bool) -> PartitionReconciliation:
    old = [row for row in rows if row.cluster == Cluster.OLD]
    new = [row for row in rows if row.cluster == Cluster.NEW]
    return PartitionReconciliation(
        partition=partition,
        old_records=sum(row.records for row in old),
        new_records=sum(row.records for row in new),
        both=sum(row.both for row in old),
        missing=sum(row.missing for row in old),
        duplicated=sum(row.duplicated for row in new),
        foreign=sum(row.foreign for row in new),
        timed=timed,
    )


def range_sums(
    rows: Sequence[Mapping[str, Any]], read: Mapping[Cluster, Mapping[int, OffsetRange]], *, range_offsets: int
) -> list[_RangeSum]:
    """Validate the rows that Spark counted against the ranges that were to be read.

    Args:
        rows: The columns of `count_differences`.
        read: The ranges of each cluster, by partition.
        range_offsets: How many offsets a range has.

    Raises:
        WorkerError: A row is outside the ranges, repeated, or has numbers that do not add up.
    """
    sums = []
    for row in rows:
        try:
            validated = _SUM.validate_python(row)
        except ValidationError as error:
            raise foreign_answer("sums of another shape") from error
        bounds = read[validated.cluster].get(validated.partition)
        start = validated.range * range_offsets
        if bounds is None or not (start < bounds.end and start + range_offsets > bounds.start):
            raise foreign_answer("sums of offsets that were not to be read")
        if validated.both + validated.missing + validated.duplicated + validated.foreign != validated.records:
            raise foreign_answer("sums that do not add up")
        sums.append(validated)
    once((range_sum.cluster, range_sum.partition, range_sum.range) for range_sum in sums)
    return sums


def _require_all(rows: Sequence[_RangeSum], traits: Mapping[Cluster, Sequence[_Traits]]) -> None:
    """Raise unless exactly the partitions that hold a record were counted.

    Raises:
        WorkerError: A partition is missing, or one without records was counted.
    """
    counted = {(row.cluster, row.partition) for row in rows}
    if counted != {(side, trait.partition) for side, some in traits.items() for trait in some}:
        raise foreign_answer("sums of other partitions than of those that hold records")


def _differences(
    rows: Iterable[_RangeSum], read: Mapping[Cluster, Mapping[int, OffsetRange]], range_offsets: int
) -> Iterator[RangeDifference]:
    order = list(Cluster)
    for row in sorted(rows, key=lambda row: (order.index(row.cluster), row.partition, row.range)):
        if row.missing or row.duplicated or row.foreign:
            bounds = read[row.cluster][row.partition]
            yield RangeDifference(
                cluster=row.cluster,
                partition=row.partition,
                start=max(bounds.start, row.range * range_offsets),
                end=min(bounds.end, (row.range + 1) * range_offsets),
                missing=row.missing,
                duplicated=row.duplicated,
                foreign=row.foreign,
            )
