"""Samples of lag in the database: written as they arrive, and thinned for charts when they are read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from offsetwise import files
from offsetwise.lag.amounts import Total, Totals, totals
from offsetwise.lag.archive import StoredSample, StoredTotals, furthest_of
from offsetwise.lag.moments import Key
from offsetwise.lag.series import KeptSample, Tick, thin
from offsetwise.lag.subject import LagSubject
from offsetwise.model import LagPartition, LagSample, SubjectKind
from offsetwise.position import OpaquePosition
from offsetwise.store import codec
from offsetwise.store.tables import in_parts, lag_layout, lag_payload, lag_sample, lag_subject

_Row = Any
"""A row of SQLAlchemy, whose type parameters differ between 2.0 and 2.1."""

ALONE_MS: Final = 30 * 60_000
"""The first sample of each such interval is complete; thinning keeps it."""

PAYLOADS: Final = 1_000
"""How many payloads one query reads at most; for many partitions fewer moments are returned."""

FEWEST_MOMENTS: Final = 20


_COLUMNS: Final = (
    lag_sample.c.id,
    lag_sample.c.taken_at_ms,
    lag_sample.c.interval_ms,
    lag_sample.c.missing,
    lag_sample.c.base_id,
    lag_sample.c.layout_id,
)


def add(connection: Connection, sample: LagSample) -> int:
    subject_id = _subject_id(connection, LagSubject.of(sample), make=True)
    layout = codec.Layout.of(sample.groups, sample.partitions)
    layout_id = _layout_id(connection, layout)
    numbers = codec.columns(sample.partitions, len(sample.groups))
    base = _base(connection, subject_id, layout_id, layout, sample.taken_at_ms)
    sample_id = connection.execute(
        _insert(connection, lag_sample)
        .values(
            subject_id=subject_id,
            layout_id=layout_id,
            base_id=None if base is None else base[0],
            taken_at_ms=sample.taken_at_ms,
            interval_ms=sample.interval_ms,
            missing=len(sample.missing),
            head=_json(files.dump(replace(sample, partitions=_in_words(sample)), indent=None)),
            totals=_dump_totals(totals(sample)),
        )
        .on_conflict_do_nothing()
        .returning(lag_sample.c.id)
    ).scalar()
    if sample_id is None:
        same = select(lag_sample.c.id).where(
            lag_sample.c.subject_id == subject_id, lag_sample.c.taken_at_ms == sample.taken_at_ms
        )
        return int(connection.execute(same).scalar_one())
    payloads = [
        {
            "sample_id": sample_id,
            "chunk": chunk,
            "body": codec.encode(codec.part(numbers, chunk), None if base is None else codec.part(base[1], chunk)),
        }
        for chunk in range(layout.chunks)
    ]
    if payloads:
        connection.execute(lag_payload.insert(), payloads)
    return int(sample_id)


def subjects(connection: Connection) -> tuple[LagSubject, ...]:
    rows = connection.execute(select(lag_subject.c.migration, lag_subject.c.kind, lag_subject.c.name))
    return tuple(
        sorted(
            (LagSubject(migration=migration, kind=SubjectKind(kind), name=name) for migration, kind, name in rows),
            key=lambda subject: (subject.migration, str(subject)),
        )
    )


def newest_ms(connection: Connection, subject: LagSubject) -> int | None:
    row = _newest(connection, subject)
    return None if row is None else int(row.taken_at_ms)


def newest(connection: Connection, subject: LagSubject, *, before_ms: int | None = None) -> StoredSample | None:
    row = _newest(connection, subject, before_ms)
    if row is None:
        return None
    return next(_whole(connection, [(row, False)], None), None)


def window(connection: Connection, subject: LagSubject, since_ms: int, most: int) -> tuple[StoredTotals, ...]:
    retained = _thinned(_ticks(connection, subject, since_ms), most)
    results = _heads(connection, [row.id for row, _ in retained])
    heads = {row.id: _head(results[row.id]) for row, _ in retained}
    return tuple(
        StoredTotals(
            id=row.id,
            head=replace(heads[row.id], partitions=()),
            totals=_load_totals(results[row.id].totals),
            furthest=furthest_of(heads[row.id]),
            after_gap=gap,
        )
        for row, gap in retained
    )


def history(
    connection: Connection, subject: LagSubject, keys: Sequence[Key], since_ms: int, most: int
) -> tuple[StoredSample, ...]:
    """Return samples since a time with only the named partitions, thinned as in `window`, ascending.

    If the partitions are in many payloads, fewer moments are returned.
    """
    rows = _ticks(connection, subject, since_ms)
    layouts = _layouts(connection, {row.layout_id for row in rows})
    requested = {layout_id: _indexes(layout, keys) for layout_id, layout in layouts.items()}
    chunks = max((len(_chunks(indexes)) for indexes in requested.values()), default=0)
    if chunks:
        most = min(most, max(FEWEST_MOMENTS, PAYLOADS // chunks))
    return tuple(_whole(connection, _thinned(rows, most), requested, layouts))


def prune(connection: Connection, *, fine_before_ms: int, all_before_ms: int, most: int) -> int:
    """Remove samples: before one time all incomplete ones, before another all. Return the number removed.

    At most `most` are removed at a time, so that nobody waits for long.
    """
    # Cut between two intervals: a complete sample must not be removed before those that are differences from it.
    edge = all_before_ms // ALONE_MS * ALONE_MS
    old = (lag_sample.c.taken_at_ms < edge) | (
        lag_sample.c.base_id.is_not(None) & (lag_sample.c.taken_at_ms < fine_before_ms)
    )
    # Differences are removed before the samples that they refer to.
    chosen = select(lag_sample.c.id).where(old).order_by(lag_sample.c.base_id.is_(None), lag_sample.c.id).limit(most)
    ids = [int(scalar) for scalar in connection.scalars(chosen)]
    for some in in_parts(ids):
        connection.execute(delete(lag_payload).where(lag_payload.c.sample_id.in_(some)))
        connection.execute(delete(lag_sample).where(lag_sample.c.id.in_(some)))
    used = select(lag_sample.c.layout_id).where(lag_sample.c.layout_id == lag_layout.c.id).exists()
    connection.execute(delete(lag_layout).where(~used))
    return len(ids)


def _insert(connection: Connection, table: Table) -> Any:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def _subject_id(connection: Connection, subject: LagSubject, *, make: bool = False) -> int | None:
    named = {"migration": subject.migration, "kind": subject.kind.value, "name": subject.name}
    query = select(lag_subject.c.id).where(*(lag_subject.c[column] == value for column, value in named.items()))
    there: int | None = connection.execute(query).scalar()
    if there is not None or not make:
        return there
    connection.execute(_insert(connection, lag_subject).values(**named).on_conflict_do_nothing())
    return int(connection.execute(query).scalar_one())


def _layout_id(connection: Connection, layout: codec.Layout) -> int:
    body = layout.dump()
    digest = codec.digest(body)
    query = select(lag_layout.c.id).where(lag_layout.c.digest == digest)
    there: int | None = connection.execute(query).scalar()
    if there is not None:
        return there
    connection.execute(_insert(connection, lag_layout).values(digest=digest, body=body).on_conflict_do_nothing())
    return int(connection.execute(query).scalar_one())


def _base(
    connection: Connection, subject_id: int | None, layout_id: int, layout: codec.Layout, taken_at_ms: int
) -> tuple[int, codec.Columns] | None:
    """Return the complete sample of the same interval and the same partitions."""
    stretch = taken_at_ms // ALONE_MS * ALONE_MS
    base_id: int | None = connection.execute(
        select(lag_sample.c.id)
        .where(
            lag_sample.c.subject_id == subject_id,
            lag_sample.c.layout_id == layout_id,
            lag_sample.c.base_id.is_(None),
            lag_sample.c.taken_at_ms >= stretch,
            lag_sample.c.taken_at_ms < stretch + ALONE_MS,
        )
        .order_by(lag_sample.c.taken_at_ms)
        .limit(1)
    ).scalar()
    if base_id is None:
        return None
    bodies = _payloads(connection, [base_id], range(layout.chunks))
    parts = [_decoded(bodies, base_id, chunk, layout, None) for chunk in range(layout.chunks)]
    return base_id, codec.joined(parts, layout.columns)


def _newest(connection: Connection, subject: LagSubject, before_ms: int | None = None) -> _Row | None:
    query = select(*_COLUMNS).where(lag_sample.c.subject_id == _subject_id(connection, subject))
    if before_ms is not None:
        query = query.where(lag_sample.c.taken_at_ms < before_ms)
    return connection.execute(query.order_by(lag_sample.c.taken_at_ms.desc()).limit(1)).first()


def _ticks(connection: Connection, subject: LagSubject, since_ms: int) -> Sequence[_Row]:
    query = select(*_COLUMNS).where(
        lag_sample.c.subject_id == _subject_id(connection, subject), lag_sample.c.taken_at_ms >= since_ms
    )
    return connection.execute(query.order_by(lag_sample.c.taken_at_ms)).all()


def _thinned(rows: Sequence[_Row], most: int) -> list[tuple[_Row, bool]]:
    ticks = [Tick(taken_at_ms=row.taken_at_ms, interval_ms=row.interval_ms, missing=row.missing > 0) for row in rows]
    samples: tuple[KeptSample, ...] = thin(ticks, most)
    return [(rows[sample.index], sample.after_gap) for sample in samples]


def _whole(
    connection: Connection,
    retained: Sequence[tuple[_Row, bool]],
    requested: Mapping[int, Sequence[int]] | None,
    layouts: Mapping[int, codec.Layout] | None = None,
) -> Iterator[StoredSample]:
    known = layouts or _layouts(connection, {row.layout_id for row, _ in retained})
    indexes = requested or {layout_id: range(len(layout.rows)) for layout_id, layout in known.items()}
    heads = _heads(connection, [row.id for row, _ in retained])
    chunks = sorted({chunk for layout_indexes in indexes.values() for chunk in _chunks(layout_indexes)})
    ids = {row.id for row, _ in retained} | {row.base_id for row, _ in retained if row.base_id is not None}
    bodies = _payloads(connection, sorted(ids), chunks)
    bases: dict[tuple[int, int], codec.Columns] = {}
    for row, gap in retained:
        layout = known[row.layout_id]
        parts: list[codec.Columns] = []
        named: list[tuple[str, str, str, int]] = []
        for chunk in _chunks(indexes[row.layout_id]):
            base = None
            if row.base_id is not None:
                base_key = row.base_id, chunk
                base = bases.get(base_key) or bases.setdefault(base_key, _decoded(bodies, *base_key, layout, None))
            inside = [at for at in indexes[row.layout_id] if at // codec.CHUNK_ROWS == chunk]
            numbers = _decoded(bodies, row.id, chunk, layout, base)
            parts.append(numbers.rows([at % codec.CHUNK_ROWS for at in inside]))
            named.extend(layout.rows[at] for at in inside)
        rows = codec.partitions(named, codec.joined(parts, layout.columns))
        head = _head(heads[row.id])
        in_words = {partition.key: partition for partition in head.partitions}
        whole = tuple(in_words.get(partition.key, partition) for partition in rows) if in_words else rows
        yield StoredSample(id=row.id, sample=replace(head, partitions=whole), after_gap=gap)


def _decoded(
    bodies: Mapping[tuple[int, int], bytes],
    sample_id: int,
    chunk: int,
    layout: codec.Layout,
    base: codec.Columns | None,
) -> codec.Columns:
    rows = min(codec.CHUNK_ROWS, len(layout.rows) - chunk * codec.CHUNK_ROWS)
    return codec.decode(bodies[sample_id, chunk], layout.columns, rows, base)


def _indexes(layout: codec.Layout, keys: Sequence[Key]) -> list[int]:
    requested = set(keys)
    return [
        at for at, (source, topic, _, partition) in enumerate(layout.rows) if (source, topic, partition) in requested
    ]


def _chunks(indexes: Iterable[int]) -> list[int]:
    return sorted({at // codec.CHUNK_ROWS for at in indexes})


def _layouts(connection: Connection, ids: Iterable[int]) -> dict[int, codec.Layout]:
    results = {}
    for some in in_parts(sorted(ids)):
        query = select(lag_layout.c.id, lag_layout.c.body).where(lag_layout.c.id.in_(some))
        results.update({row.id: codec.Layout.load(row.body) for row in connection.execute(query)})
    return results


def _heads(connection: Connection, ids: Sequence[int]) -> dict[int, _Row]:
    results: dict[int, _Row] = {}
    for some in in_parts(ids):
        query = select(lag_sample.c.id, lag_sample.c.head, lag_sample.c.totals).where(lag_sample.c.id.in_(some))
        results.update({row.id: row for row in connection.execute(query)})
    return results


def _payloads(connection: Connection, ids: Sequence[int], chunks: Sequence[int]) -> dict[tuple[int, int], bytes]:
    results = {}
    for some in in_parts(ids):
        for numbers in in_parts(chunks):
            query = select(lag_payload).where(lag_payload.c.sample_id.in_(some), lag_payload.c.chunk.in_(numbers))
            results.update({(row.sample_id, row.chunk): row.body for row in connection.execute(query)})
    return results


def _in_words(sample: LagSample) -> tuple[LagPartition, ...]:
    """Return the partitions whose positions are no integers, which payloads cannot hold."""
    return tuple(
        partition
        for partition in sample.partitions
        if any(isinstance(at, OpaquePosition) for at in (partition.position, partition.old.hw, partition.new.hw))
    )


def _head(row: _Row) -> LagSample:
    read: LagSample = files.load(row.head, "lag-sample", subject=f"sample {row.id} of the store")
    return read


def _json(text: str) -> str:
    """Escape unpaired surrogates, which file names can contain and no database accepts."""
    return text.encode("utf-8", "backslashreplace").decode()


def _dump_totals(of: Totals) -> str:
    return json.dumps([astuple(total) for total in (of.old, of.new, *of.drift)])


def _load_totals(text: str) -> Totals:
    names = ("left", "past", "past_partitions", "known", "unknown")
    old, new, *drift = (Total(**dict(zip(names, load, strict=True))) for load in json.loads(text))
    return Totals(old=old, new=new, drift=tuple(drift))
