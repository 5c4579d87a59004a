"""Plans under review, as the store keeps them. Who may do what is decided in `review`; the tables' rules hold anyway.

A change and its row of the audit log are written together or not at all, one change after the other.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Row, insert, select, update

from offsetwise.store import audit
from offsetwise.store import review_tables as tables
from offsetwise.store.audit import AuditFilter, AuditRow, Chain, Record
from offsetwise.store.database import Database
from offsetwise.store.review_rows import (
    CommentRow,
    DecisionRow,
    EditorRow,
    PlanRow,
    ReceiptRow,
    State,
    SubmissionRow,
    VersionRow,
    Who,
)

_LEVEL: Final = 1


class Reviews:
    """Plans under review. Safe to use from several threads; every method may raise a `StoreError`.

    Args:
        database: An open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def reading(self, what: str) -> Iterator[Look]:
        """Give a look at one state of everything."""
        with self._database.reading(what) as connection:
            yield Look(connection)

    @contextmanager
    def changing(self, what: str) -> Iterator[Change]:
        """Give a change, which is there whole when this ends, with its audit row, or not at all.

        Raises:
            StoreUnclearError: The store stopped answering at the very end: whether it is there must be read.
            StoreRefusedError: The tables' own rules forbid it.
            StoreError: It is not possible; nothing was changed.
        """
        made: list[Change] = []

        def done(connection: Connection) -> bool:
            return audit.there(connection, *made[0].written)

        with self._database.settling(what, done) as connection:
            change = Change(connection)
            made.append(change)
            yield change
            if not change.recorded:
                raise AssertionError(f"{what}: a change without a row of the audit log")


class Look:
    """One state of everything.

    Args:
        connection: Inside a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def plans(self, *, open_only: bool = False) -> tuple[PlanRow, ...]:
        """Give plans, the one that was changed last first."""
        query = select(tables.plan).order_by(tables.plan.c.changed_at_ms.desc(), tables.plan.c.id.desc())
        if open_only:
            query = query.where(tables.plan.c.state.in_(tables.OPEN_STATES))
        return tuple(_plan(row) for row in self._connection.execute(query))

    def plan(self, plan: int) -> PlanRow | None:
        """Give one plan."""
        row = self._connection.execute(select(tables.plan).where(tables.plan.c.id == plan)).first()
        return None if row is None else _plan(row)

    def open_plan(self, moves: str) -> PlanRow | None:
        """Give the open plan of a checkpoint or group."""
        query = select(tables.plan).where(tables.plan.c.moves == moves, tables.plan.c.state.in_(tables.OPEN_STATES))
        row = self._connection.execute(query).first()
        return None if row is None else _plan(row)

    def version(self, plan: int, number: int) -> VersionRow:
        """Give one version of a plan that is there."""
        query = _versions().where(tables.version.c.plan_id == plan, tables.version.c.number == number)
        return _version(self._connection.execute(query).one())

    def versions(self, plan: int) -> tuple[VersionRow, ...]:
        """Give all versions of a plan, ascending."""
        query = _versions().where(tables.version.c.plan_id == plan).order_by(tables.version.c.number)
        return tuple(_version(row) for row in self._connection.execute(query))

    def version_of(self, digest: str) -> VersionRow | None:
        """Give the version with a digest, whatever plan it is of."""
        row = self._connection.execute(_versions().where(tables.version.c.digest == digest)).first()
        return None if row is None else _version(row)

    def content(self, version: int) -> bytes:
        """Give the exact bytes of a version."""
        found = self._connection.execute(select(tables.version.c.content).where(tables.version.c.id == version))
        return bytes(found.scalar_one())

    def files(self, version: int) -> dict[str, bytes]:
        """Give what a version was drafted from, by kind."""
        query = (
            select(tables.version_file.c.kind, tables.file.c.body)
            .join(tables.file, tables.file.c.digest == tables.version_file.c.digest)
            .where(tables.version_file.c.version_id == version)
        )
        return {row.kind: zlib.decompress(row.body) for row in self._connection.execute(query)}

    def editors(self, plan: int) -> tuple[EditorRow, ...]:
        """Give everybody who wrote, edited or submitted a version; the author first."""
        query = (
            select(tables.editor)
            .where(tables.editor.c.plan_id == plan)
            .order_by(tables.editor.c.since_number, tables.editor.c.audit_seq)
        )
        return tuple(
            EditorRow(issuer=row.issuer, subject=row.subject, address=row.address, since_number=row.since_number)
            for row in self._connection.execute(query)
        )

    def submission(self, version: int) -> SubmissionRow | None:
        """Give the last submission of a version."""
        query = (
            select(tables.submission)
            .where(tables.submission.c.version_id == version)
            .order_by(tables.submission.c.round.desc())
        )
        row = self._connection.execute(query).first()
        if row is None:
            return None
        return SubmissionRow(
            id=row.id,
            version=row.version_id,
            round=row.round,
            by=_who(row),
            at_ms=row.at_ms,
            expires_at_ms=row.expires_at_ms,
        )

    def decisions(self, plan: int) -> tuple[DecisionRow, ...]:
        """Give all decisions about all versions of a plan, ascending."""
        query = select(tables.decision).where(tables.decision.c.plan_id == plan).order_by(tables.decision.c.id)
        return tuple(_decision(row) for row in self._connection.execute(query))

    def nonce_used(self, nonce: str) -> bool:
        """Whether an envelope with this nonce is kept already."""
        found = select(tables.decision.c.id).where(tables.decision.c.nonce == nonce)
        return self._connection.execute(found).first() is not None

    def comments(self, plan: int) -> tuple[CommentRow, ...]:
        """Give the discussion of a plan, ascending."""
        query = select(tables.comment).where(tables.comment.c.plan_id == plan).order_by(tables.comment.c.id)
        return tuple(
            CommentRow(number=row.number, by=_who(row), at_ms=row.at_ms, body=row.body)
            for row in self._connection.execute(query)
        )

    def receipts(self, plan: int) -> tuple[ReceiptRow, ...]:
        """Give what was handed in of applications of a plan, ascending."""
        query = select(tables.receipt).where(tables.receipt.c.plan_id == plan).order_by(tables.receipt.c.id)
        return tuple(
            ReceiptRow(digest=row.digest, content=bytes(row.content), by=_who(row), at_ms=row.at_ms)
            for row in self._connection.execute(query)
        )

    def receipt_known(self, sha256: str) -> bool:
        """Whether this very receipt was handed in before."""
        found = select(tables.receipt.c.id).where(tables.receipt.c.sha256 == sha256)
        return self._connection.execute(found).first() is not None

    def audit(self, wanted: AuditFilter, *, most: int) -> tuple[AuditRow, ...]:
        """Give rows of the audit log, newest first."""
        return audit.rows(self._connection, wanted, most=most)

    def check_chain(self) -> Chain:
        """Read the whole audit log, and say whether it is whole."""
        return audit.check(self._connection)


class Change(Look):
    """A change that is being made. It ends with `record`; what it adds names that row of the audit log.

    Args:
        connection: Inside a transaction that nobody else changes plans beside.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        last, self._previous = audit.tip(connection)
        self._seq: Final = last + 1
        self._hash: str | None = None

    @property
    def recorded(self) -> bool:
        """Whether the row of the audit log is written."""
        return self._hash is not None

    @property
    def written(self) -> tuple[int, str]:
        """The number and the hash of the row of the audit log."""
        return self._seq, self._hash or ""

    def add_plan(self, *, migration: str, moves: str, at_ms: int) -> int:
        """Add a plan without a version; give its id."""
        values = {
            "migration": migration,
            "moves": moves,
            "state": State.DRAFT.value,
            "number": 0,
            "changed_at_ms": at_ms,
        }
        return self._added(tables.plan, values)

    def add_version(
        self, plan: int, number: int, *, digest: str, content: bytes, facts: str, by: Who, at_ms: int
    ) -> int:
        """Add a version; give its id."""
        return self._added(
            tables.version,
            {
                "plan_id": plan,
                "number": number,
                "digest": digest,
                "content": content,
                "facts": facts,
                **_by(by, at_ms),
                "audit_seq": self._seq,
            },
        )

    def add_editor(self, plan: int, number: int, by: Who) -> None:
        """Bar somebody from deciding, unless they are barred already."""
        there = {(each.issuer, each.subject) for each in self.editors(plan)}
        if (by.issuer, by.subject) not in there:
            values = {
                "plan_id": plan,
                "issuer": by.issuer,
                "subject": by.subject,
                "address": by.address,
                "since_number": number,
                "audit_seq": self._seq,
            }
            self._connection.execute(insert(tables.editor).values(values))

    def add_file(self, version: int, kind: str, content: bytes) -> None:
        """Keep a file that a version was drafted from."""
        digest = hashlib.sha256(content).hexdigest()
        if self._connection.execute(select(tables.file.c.digest).where(tables.file.c.digest == digest)).first() is None:
            values = {"digest": digest, "body": zlib.compress(content, _LEVEL)}
            self._connection.execute(insert(tables.file).values(values))
        of = {"version_id": version, "kind": kind, "digest": digest}
        self._connection.execute(insert(tables.version_file).values(of))

    def add_submission(self, version: int, number: int, *, by: Who, at_ms: int, expires_at_ms: int) -> None:
        """Add a submission of a version."""
        self._added(
            tables.submission,
            {
                "version_id": version,
                "round": number,
                **_by(by, at_ms),
                "expires_at_ms": expires_at_ms,
                "audit_seq": self._seq,
            },
        )

    def add_decision(
        self,
        plan: int,
        submission: int,
        *,
        digest: str,
        by: Who,
        verdict: str,
        at_ms: int,
        expires_at_ms: int,
        nonce: str,
        envelope: bytes,
        separation: bool,
    ) -> None:
        """Add a decision.

        Raises:
            StoreRefusedError: By the author or an editor while duties are separated, or not about the newest version
                of a submitted plan.
        """
        self._added(
            tables.decision,
            {
                "plan_id": plan,
                "submission_id": submission,
                "digest": digest,
                **_by(by, at_ms),
                "address": by.address,
                "verdict": verdict,
                "expires_at_ms": expires_at_ms,
                "nonce": nonce,
                "envelope": envelope,
                "separation": int(separation),
                "audit_seq": self._seq,
            },
        )

    def add_comment(self, plan: int, number: int, *, by: Who, at_ms: int, body: str) -> None:
        """Add a remark."""
        values = {"plan_id": plan, "number": number, **_by(by, at_ms), "body": body, "audit_seq": self._seq}
        self._added(tables.comment, values)

    def add_receipt(self, plan: int, *, digest: str, content: bytes, by: Who, at_ms: int) -> None:
        """Add a receipt."""
        self._added(
            tables.receipt,
            {
                "plan_id": plan,
                "digest": digest,
                "sha256": hashlib.sha256(content).hexdigest(),
                "content": content,
                **_by(by, at_ms),
                "audit_seq": self._seq,
            },
        )

    def move(self, plan: int, state: State, *, number: int, at_ms: int) -> None:
        """Say how far a plan came, and which version is its newest."""
        values = {"state": state.value, "number": number, "changed_at_ms": at_ms}
        self._connection.execute(update(tables.plan).where(tables.plan.c.id == plan).values(values))

    def record(self, record: Record) -> None:
        """Write the row of the audit log. Exactly once, whatever else is changed."""
        if self.recorded:
            raise AssertionError("a change has one row of the audit log")
        self._hash = audit.append(self._connection, self._seq, self._previous, record)

    def _added(self, table: Any, values: dict[str, Any]) -> int:
        done = self._connection.execute(insert(table).values(values))
        key: Any = done.inserted_primary_key
        return int(key[0])


def _versions() -> Any:
    return select(*(column for column in tables.version.c if column.name != "content"))


def _by(who: Who, at_ms: int) -> dict[str, Any]:
    return {"issuer": who.issuer, "subject": who.subject, "name": who.name, "at_ms": at_ms}


def _who(row: Row[Any], address: str | None = None) -> Who:
    return Who(issuer=row.issuer, subject=row.subject, name=row.name, address=address)


def _plan(row: Row[Any]) -> PlanRow:
    return PlanRow(
        id=row.id,
        migration=row.migration,
        moves=row.moves,
        state=State(row.state),
        number=row.number,
        changed_at_ms=row.changed_at_ms,
    )


def _version(row: Row[Any]) -> VersionRow:
    return VersionRow(
        id=row.id,
        plan=row.plan_id,
        number=row.number,
        digest=row.digest,
        facts=row.facts,
        by=_who(row),
        at_ms=row.at_ms,
    )


def _decision(row: Row[Any]) -> DecisionRow:
    return DecisionRow(
        id=row.id,
        submission=row.submission_id,
        digest=row.digest,
        by=_who(row, row.address),
        verdict=row.verdict,
        at_ms=row.at_ms,
        expires_at_ms=row.expires_at_ms,
        nonce=row.nonce,
        envelope=bytes(row.envelope),
        separation=bool(row.separation),
    )
