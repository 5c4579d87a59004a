"""The projection inside Spark and `translation/identity.py` are one formula."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from offsetwise.config import SparkSettings
from offsetwise.model import IsolationLevel
from offsetwise.pipeline.records import OffsetRange, identify, read_records
from offsetwise.pipeline.records import _assignment as assignment
from offsetwise.pipeline.records import _layers as layers
from offsetwise.pipeline.session import open_session
from offsetwise.translation.identity import (
    KAFKA_BACKUP,
    REDPANDA,
    content_hash,
    header_hash,
    masked_hash,
    origin,
    record_size,
    schema_id,
)
from tests.with_cases import with_cases

SALT = b"\0 a salt, with a leading zero"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIELDS: list[pa.Field[Any]] = [
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    pa.field("timestampType", pa.int32()),
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
]
PARTS = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.binary(max_size=12).map(lambda rest: b"\0" + rest),
    st.binary(min_size=4, max_size=12).map(lambda rest: b"\0" + rest),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ORIGINS = st.binary(min_size=8, max_size=8) | st.integers(0, 10**20).map(lambda offset: b"%d" % offset)
HEADERS = st.none() | st.lists(
    st.tuples(NAMES | st.just("trace"), PARTS) | st.tuples(st.sampled_from([KAFKA_BACKUP, REDPANDA]), PARTS | ORIGINS),
    min_size=1,
    max_size=4,
)


@dataclass(frozen=True, slots=True)
class Raw:
    """A record as Kafka gives it. Timestamp type 0 is CreateTime, 1 LogAppendTime, -1 none."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] | None = None
    timestamp_ms: int = 0
    timestamp_type: int = 0


RECORDS = st.lists(
    st.builds(
        Raw,
        key=PARTS,
        value=PARTS,
        headers=HEADERS,
        timestamp_ms=st.integers(-1, 4_102_444_800_000),
        timestamp_type=st.integers(-1, 1),
    ),
    max_size=200,
)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(), kafka=False)


def frame_of(spark: SparkSession, records: Sequence[Raw]) -> DataFrame:
    rows = [
        {
            "topic": "orders",
            "partition": 3,
            "offset": offset,
            "timestamp": EPOCH + timedelta(milliseconds=raw.timestamp_ms),
            "timestampType": raw.timestamp_type,
            "key": raw.key,
            "value": raw.value,
            "headers": None if raw.headers is None else [{"key": n, "value": v} for n, v in raw.headers],
        }
        for offset, raw in enumerate(records)
    ]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=pa.schema(FIELDS)))


def identities(spark: SparkSession, records: Sequence[Raw]) -> list[dict[str, object]]:
    rows = identify(frame_of(spark, records), salt=SALT).toArrow().to_pylist()
    return sorted(rows, key=lambda row: int(row["offset"]))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(RECORDS)
@example(
    [
        Raw(None, None),
        Raw(b"", b""),
        Raw(b"\0", b"\0\0\0\0"),
        Raw(b"\0\0\0\0\0", b"\0\x7f\xff\xff\xff"),
        Raw(b"\0\x80\0\0\0", b"\0\xff\xff\xff\xffx"),
        Raw(b"k" * 70_000, b"\0" * 70_000),
        Raw(None, b"v", [("same", b"1"), ("same", b"1"), ("same", None), ("naïve-𐍈", b""), ("", b"\0")]),
        Raw(None, b"v", [("cut\0here", b"1"), ("\0", b"1"), (f"{REDPANDA}\0", b"\0" * 7 + b"\5")]),
        Raw(b"k", None, timestamp_ms=-1),
        Raw(b"k", None, timestamp_ms=1_700_000_000_123, timestamp_type=1),
        Raw(b"k", None, timestamp_ms=1_700_000_000_123, timestamp_type=-1),
    ]
)
def test_spark_and_plain_python_compute_the_same_identity(spark: SparkSession, records: list[Raw]) -> None:
    expected = [
        {
            "topic": "orders",
            "partition": 3,
            "offset": offset,
            "timestamp": None if raw.timestamp_type == -1 or raw.timestamp_ms == -1 else raw.timestamp_ms,
            "log_append": raw.timestamp_type == 1,
            "content": content_hash(SALT, raw.key, raw.value),
            "masked": masked_hash(SALT, raw.key, raw.value),
            "key_schema": schema_id(raw.key),
            "value_schema": schema_id(raw.value),
            "headers": None
            if headers is None
            else [{"name": name, "hash": header_hash(SALT, name, value)} for name, value in headers],
            "origin": origin(headers or ()),
            "size": record_size(raw.key, raw.value, headers),
        }
        for offset, raw in enumerate(records)
        for headers in [as_librdkafka_gives(raw.headers)]
    ]

    assert identities(spark, records) == expected


def as_librdkafka_gives(
    headers: Sequence[tuple[str, bytes | None]] | None,
) -> Sequence[tuple[str, bytes | None]] | None:
    """Cut names at a zero byte."""
    return headers and [(name.partition("\0")[0], value) for name, value in headers]


def test_no_ranges_or_empty_ones_give_no_rows_and_ask_no_broker(spark: SparkSession) -> None:
    nobody = {"bootstrap.servers": "127.0.0.1:1"}
    for ranges in ([], [OffsetRange(topic="orders", partition=0, start=7, end=7)]):
        frame = read_records(spark, nobody, ranges, isolation=IsolationLevel.READ_UNCOMMITTED, salt=SALT)

        assert frame.isEmpty()
        assert frame.schema.names == identify(frame_of(spark, []), salt=SALT).schema.names


def test_windows_of_one_partition_that_meet_are_read_once_and_others_in_reads_of_their_own() -> None:
    def window(start: int, end: int, partition: int = 0) -> OffsetRange:
        return OffsetRange(topic="orders", partition=partition, start=start, end=end)

    ranges = [window(500, 600), window(0, 100), window(90, 200), window(200, 210), window(3, 4, partition=1)]

    assert layers(ranges) == [[window(0, 210), window(3, 4, partition=1)], [window(500, 600)]]


def test_ranges_become_the_offset_json_of_sparks_source() -> None:
    ranges = [OffsetRange(topic="a", partition=p, start=p, end=9) for p in (0, 2)]

    assert {name: json.loads(text) for name, text in assignment(ranges).items()} == {
        "assign": {"a": [0, 2]},
        "startingOffsets": {"a": {"0": 0, "2": 2}},
        "endingOffsets": {"a": {"0": 9, "2": 9}},
    }


@with_cases(("start", "end"), [(-2, 5), (-1, -1), (6, 5)], ids=["earliest", "latest", "backwards"])
def test_words_for_offsets_and_backward_ranges_are_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="expected 0 <= start <= end"):
        OffsetRange(topic="orders", partition=0, start=start, end=end)
