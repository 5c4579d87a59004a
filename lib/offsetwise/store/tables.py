"""The tables of lag samples in the newest revision, which `migrations/versions` creates."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

_NAMED: Final = 400

Value = TypeVar("Value")

metadata = MetaData()

Id = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only if the type is spelt INTEGER."""

lag_subject = Table(
    "lag_subject",
    metadata,
    Column("id", Id, primary_key=True),
    Column("migration", Text, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("migration", "kind", "name", name="uq_lag_subject"),
)

lag_layout = Table(
    "lag_layout",
    metadata,
    Column("id", Id, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("body", Text, nullable=False),
)

lag_sample = Table(
    "lag_sample",
    metadata,
    Column("id", Id, primary_key=True),
    Column("subject_id", Id, ForeignKey("lag_subject.id"), nullable=False),
    Column("layout_id", Id, ForeignKey("lag_layout.id"), nullable=False),
    Column("base_id", Id, ForeignKey("lag_sample.id")),
    Column("taken_at_ms", BigInteger, nullable=False),
    Column("interval_ms", BigInteger),
    Column("missing", SmallInteger, nullable=False),
    Column("head", Text, nullable=False),
    Column("totals", Text, nullable=False),
    UniqueConstraint("subject_id", "taken_at_ms", name="uq_lag_sample"),
    Index("ix_lag_sample_base", "base_id"),
    Index("ix_lag_sample_layout", "layout_id"),
)
"""`base_id` names the sample that the payloads are differences from; without one, the sample is complete.

`missing` is 0 if everything was read. `head` is an `offsetwise/lag-sample` file without its partitions, except for
those whose positions are no integers, which payloads cannot hold."""

lag_payload = Table(
    "lag_payload",
    metadata,
    Column("sample_id", Id, ForeignKey("lag_sample.id"), primary_key=True),
    Column("chunk", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)


def in_parts(values: Collection[Value]) -> Iterator[Sequence[Value]]:
    """Yield values in batches for one statement: old builds of SQLite allow 999 parameters, enough for two lists."""
    every = [*values]
    return (every[first : first + _NAMED] for first in range(0, len(every), _NAMED))
