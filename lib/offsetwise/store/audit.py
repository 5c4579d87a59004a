"""The audit log: a chain of rows, each with the hash of the one before.

A row's body is canonical JSON (sorted keys, ASCII, no blanks), and its hash is the SHA-256 of the previous hash, a line
feed and the body. Whoever changes, removes or inserts a row breaks the chain from there on; whoever rewrites the whole
chain changes its last hash, which can be noted elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, func, insert, select

from offsetwise.store import review_tables as tables
from offsetwise.store.review_tables import audit as table

FIRST: Final = "0" * 64
"""The previous hash of the first row."""
_PAGE: Final = 2_000

Details = Mapping[str, str | int | bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    at_ms: int
    issuer: str | None
    """None if nobody is signed in."""
    subject: str | None
    action: str
    result: str
    """`done` or `refused`."""
    plan: int | None = None
    digest: str | None = None
    """The digest of the version that it was about."""
    details: Details
    """Other facts: the states before and after, the reason, the settings of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    seq: int
    record: Record
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Conditions for rows; None matches all."""

    issuer: str | None = None
    subject: str | None = None
    action: str | None = None
    result: str | None = None
    plan: int | None = None
    digest: str | None = None
    """The beginning of the digest, or all of it."""
    since_ms: int | None = None
    until_ms: int | None = None
    """Exclusive."""
    before_seq: int | None = None
    """Only older rows: for the next page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The last row of the chain as noted outside the database."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    rows: int
    head: str
    """The last hash. Noted elsewhere, it reveals a rewritten chain."""
    broken: str | None
    """The first problem, as a sentence; None if the chain is intact."""
    at_ms: int | None = None
    """When the last row was written; None if there is none."""

    @property
    def intact(self) -> bool:
        return self.broken is None


def body_of(seq: int, record: Record) -> str:
    return json.dumps(
        {
            "seq": seq,
            "at_ms": record.at_ms,
            "issuer": record.issuer,
            "subject": record.subject,
            "action": record.action,
            "result": record.result,
            "plan": record.plan,
            "digest": record.digest,
            "details": dict(record.details),
        },
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
    )


def hash_of(previous: str, body: str) -> str:
    """Return the hash of a row, hex."""
    return hashlib.sha256(f"{previous}\n{body}".encode("ascii")).hexdigest()


def tip(connection: Connection) -> tuple[int, str]:
    last = connection.execute(select(table.c.seq, table.c.hash).order_by(table.c.seq.desc()).limit(1)).first()
    return (0, FIRST) if last is None else (last.seq, last.hash)


def append(connection: Connection, seq: int, previous: str, record: Record) -> str:
    body = body_of(seq, record)
    text = hash_of(previous, body)
    connection.execute(
        insert(table).values(
            seq=seq,
            at_ms=record.at_ms,
            issuer=record.issuer,
            subject=record.subject,
            action=record.action,
            result=record.result,
            plan_id=record.plan,
            digest=record.digest,
            body=body,
            previous=previous,
            hash=text,
        )
    )
    return text


def there(connection: Connection, seq: int, row_hash: str) -> bool:
    return connection.scalar(select(table.c.hash).where(table.c.seq == seq)) == row_hash


def rows(connection: Connection, requested: AuditFilter, *, most: int) -> tuple[AuditRow, ...]:
    """Return rows, newest first."""
    query: Select[Any] = select(table).order_by(table.c.seq.desc()).limit(most)
    for column, value in (
        (table.c.issuer, requested.issuer),
        (table.c.subject, requested.subject),
        (table.c.action, _ascii(requested.action)),
        (table.c.result, _ascii(requested.result)),
        (table.c.plan_id, requested.plan),
    ):
        if value is not None:
            query = query.where(column == value)
    if requested.digest is not None:
        query = query.where(table.c.digest.startswith(_ascii(requested.digest), autoescape=True))
    if requested.since_ms is not None:
        query = query.where(table.c.at_ms >= requested.since_ms)
    if requested.until_ms is not None:
        query = query.where(table.c.at_ms < requested.until_ms)
    if requested.before_seq is not None:
        query = query.where(table.c.seq < requested.before_seq)
    return tuple(_row(row) for row in connection.execute(query))


def _ascii(value: str | None) -> str | None:
    """Return a value in the form of an ASCII column: a database must not be asked for text that it cannot hold."""
    return None if value is None else tables.escaped(value)


def check(connection: Connection, noted: Noted | None = None) -> Chain:
    """Check the whole chain, and the rows of other tables that refer to it.

    Args:
        connection: Inside a transaction.
        noted: A row as noted elsewhere. Without it, a chain whose end was cut off, or that the owner of the database
            rewrote, may look intact.
    """
    count, head, at_ms = 0, FIRST, None
    for results in _all(connection):
        wrong = _wrong(results, count + 1, head) or _not_as_noted(results, noted)
        if wrong is not None:
            return Chain(rows=count, head=head, broken=wrong, at_ms=at_ms)
        count, head, at_ms = results.seq, results.hash, results.at_ms
    cut = None
    if noted is not None and noted.seq > count:
        cut = f"Row {noted.seq:,} was noted, and the chain ends at {count:,}: its end was cut off."
    return Chain(rows=count, head=head, broken=cut or _without_row(connection, count), at_ms=at_ms)


def _not_as_noted(row: Row[Any], noted: Noted | None) -> str | None:
    if noted is None or row.seq != noted.seq or row.hash == noted.hash:
        return None
    return f"Row {noted.seq} has another hash than was noted: the chain up to it was written anew."


def _all(connection: Connection) -> Iterator[Row[Any]]:
    last = None
    while True:
        query = select(table).order_by(table.c.seq).limit(_PAGE)
        page = connection.execute(query if last is None else query.where(table.c.seq > last)).all()
        yield from page
        if len(page) < _PAGE:
            return
        last = page[-1].seq


def _wrong(row: Row[Any], seq: int, previous: str) -> str | None:
    if row.seq != seq:
        return f"Row {seq} is missing: row {row.seq} is in its place."
    if row.previous != previous:
        return f"Row {seq} does not follow the row before it: one of them was changed, or one was put in."
    try:
        whole = hash_of(row.previous, row.body) == row.hash
        same = whole and body_of(row.seq, _repeated(row)) == row.body
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"Row {seq} cannot be read: it was changed."
    if not whole:
        return f"Row {seq} was changed: it does not have the hash that was written with it."
    return None if same else f"Row {seq} was changed: its columns say something else than its body."


def _without_row(connection: Connection, last: int) -> str | None:
    """Describe a row of another table whose row of the log is missing: the end of the chain was cut off."""
    for source in (
        tables.version,
        tables.editor,
        tables.submission,
        tables.envelope,
        tables.decision,
        tables.plan_set,
        tables.comment,
        tables.receipt,
    ):
        seq = connection.scalar(select(func.max(source.c.audit_seq)))
        if seq is not None and seq > last:
            return f"Row {last + 1} is missing: {source.name} was written with row {seq}, and the chain ends at {last}."
    return None


def _repeated(row: Row[Any]) -> Record:
    return _of_columns(row, json.loads(row.body)["details"])


def _row(row: Row[Any]) -> AuditRow:
    return AuditRow(seq=row.seq, record=_shown(row), previous=row.previous, hash=row.hash)


def _shown(row: Row[Any]) -> Record:
    """Return the record for display: a damaged row must not hide others."""
    try:
        record = _repeated(row)
        dict(record.details)
    except (ValueError, KeyError, TypeError):
        return _of_columns(row, {"unreadable": "What it said cannot be read any more: it was changed."})
    return record


def _of_columns(row: Row[Any], details: Details) -> Record:
    return Record(
        at_ms=row.at_ms,
        issuer=row.issuer,
        subject=row.subject,
        action=row.action,
        result=row.result,
        plan=row.plan_id,
        digest=row.digest,
        details=details,
    )
