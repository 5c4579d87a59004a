"""Two multisets of records, counted in Spark and by a plain Counter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from offsetwise.config import SparkSettings
from offsetwise.model import Cluster, IsolationLevel, PartitionReconciliation, RangeDifference, Reconciliation
from offsetwise.pipeline.reconcile import count_differences, keyed
from offsetwise.pipeline.session import open_session
from tests.gates import FULL

RANGE = 4
FIELDS: list[pa.Field[Any]] = [
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.int64()),
    pa.field("content", pa.binary()),
    pa.field("headers", pa.list_(pa.struct([("name", pa.string()), ("hash", pa.binary())]))),
]


@dataclass(frozen=True, slots=True)
class Row:
    """A record as identities; its offset is its place in the list."""

    content: bytes
    partition: int = 0
    timestamp: int | None = 1
    headers: tuple[tuple[str, bytes], ...] | None = None


ROWS = st.lists(
    st.builds(
        Row,
        content=st.sampled_from([b"a", b"b", b"c", b"d"]),
        partition=st.integers(0, 1),
        timestamp=st.sampled_from([1, 2, None]),
        headers=st.sampled_from([None, (("h", b"1"),), (("h", b"1"), ("h", b"2")), (("trace", b"x"),)]),
    ),
    max_size=24,
)
SAME = [Row(b"a"), Row(b"b"), Row(b"a")]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(), kafka=False)


def frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    listed = [
        {
            "partition": row.partition,
            "offset": offset,
            "timestamp": row.timestamp,
            "content": row.content,
            "headers": None if row.headers is None else [{"name": n, "hash": h} for n, h in row.headers],
        }
        for offset, row in enumerate(rows)
    ]
    return spark.createDataFrame(pa.Table.from_pylist(listed, schema=pa.schema(FIELDS)))


def counted(spark: SparkSession, old: Sequence[Row], new: Sequence[Row], timed: Sequence[int]) -> list[dict[str, Any]]:
    sides = [keyed(frame(spark, rows), timed=timed, ignored_headers={"trace"}) for rows in (old, new)]
    return count_differences(*sides, range_offsets=RANGE).toArrow().to_pylist()


def expected(old: Sequence[Row], new: Sequence[Row], timed: Sequence[int]) -> list[dict[str, Any]]:
    def identity(row: Row) -> Row:
        kept = tuple(header for header in row.headers or () if header[0] != "trace")
        return replace(row, timestamp=row.timestamp if row.partition in timed else None, headers=kept or None)

    sides = {"old": [identity(row) for row in old], "new": [identity(row) for row in new]}
    sums: dict[tuple[str, int, int], Counter[str]] = {}
    for name, other in (("old", "new"), ("new", "old")):
        available = Counter(sides[other])
        present = set(sides[other])
        for offset, row in enumerate(sides[name]):
            at = sums.setdefault((name, row.partition, offset // RANGE), Counter())
            at["records"] += 1
            if available[row] > 0:
                available[row] -= 1
                at["both"] += 1
            elif name == "old":
                at["missing"] += 1
            else:
                at["duplicated" if row in present else "foreign"] += 1
    return [
        {"cluster": cluster, "partition": partition, "range": number}
        | {name: sums_here[name] for name in ("records", "both", "missing", "duplicated", "foreign")}
        for (cluster, partition, number), sums_here in sums.items()
    ]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["cluster"], row["partition"], row["range"]))


@settings(max_examples=8 if FULL else 1, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, ROWS, st.sampled_from([(), (0,), (0, 1)]))
@example(SAME, SAME, (0,))
@example([Row(b"x")] * 11, [Row(b"x")] * 7 + [Row(b"own")] * 3, (0,))
@example([Row(b"x")] * 7, [Row(b"own")] * 3 + [Row(b"x")] * 11, (0,))
@example(SAME, [], (0,))
@example([], SAME, (0,))
def test_spark_counts_what_a_counter_counts(
    spark: SparkSession, old: list[Row], new: list[Row], timed: Sequence[int]
) -> None:
    assert in_order(counted(spark, old, new, timed)) == in_order(expected(old, new, timed))


def reconciliation(*differences: RangeDifference) -> Reconciliation:
    partition = PartitionReconciliation(
        partition=0,
        old_records=1200,
        new_records=1200 - sum(d.missing for d in differences) + sum(d.duplicated + d.foreign for d in differences),
        both=1200 - sum(d.missing for d in differences),
        missing=sum(d.missing for d in differences),
        duplicated=sum(d.duplicated for d in differences),
        foreign=sum(d.foreign for d in differences),
        timed=True,
    )
    return Reconciliation(
        old_topic="orders",
        new_topic="orders",
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        partitions=(partition, replace(partition, partition=1, both=0, missing=0, duplicated=0, foreign=0)),
        differences=differences,
        ignored_headers=(),
    )


def test_a_topic_that_agrees_says_so() -> None:
    assert reconciliation().agrees
    assert reconciliation().summary() == "orders: 1,200 records are on both clusters, and nothing differs."


def test_a_topic_that_differs_says_how_much_and_where() -> None:
    lost = RangeDifference(cluster=Cluster.OLD, partition=0, start=0, end=100_000, missing=2)
    twice = RangeDifference(cluster=Cluster.NEW, partition=0, start=0, end=100_000, duplicated=3, foreign=1)

    assert reconciliation(lost, twice).summary() == (
        "orders: 1,198 records are on both clusters; on the new cluster 2 are missing, 3 are there too often and 1 "
        "are its own, in 1 of 2 partitions."
    )
