"""A look at the plans under review: one state of everything, as the store keeps it."""

from __future__ import annotations

import zlib
from typing import Any

from sqlalchemy import Connection, Row, select

from offsetwise.store import audit
from offsetwise.store import review_tables as tables
from offsetwise.store.audit import AuditFilter, AuditRow, Chain, Noted
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


class StoreLook:
    """One state of everything.

    Args:
        connection: Inside a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def plans(self, *, open_only: bool = False) -> tuple[PlanRow, ...]:
        """Return plans, the one that was changed last first."""
        query = select(tables.plan).order_by(tables.plan.c.changed_at_ms.desc(), tables.plan.c.id.desc())
        if open_only:
            query = query.where(tables.plan.c.state.in_(tables.OPEN_STATES))
        return tuple(_plan(row) for row in self._connection.execute(query))

    def plan(self, plan: int) -> PlanRow | None:
        """Return one plan."""
        row = self._connection.execute(select(tables.plan).where(tables.plan.c.id == plan)).first()
        return None if row is None else _plan(row)

    def open_plan(self, moves: str) -> PlanRow | None:
        """Return the open plan of a checkpoint or group."""
        query = select(tables.plan).where(tables.plan.c.moves == moves, tables.plan.c.state.in_(tables.OPEN_STATES))
        row = self._connection.execute(query).first()
        return None if row is None else _plan(row)

    def version(self, plan: int, number: int) -> VersionRow:
        """Return one version of a plan that is there."""
        query = _versions().where(tables.version.c.plan_id == plan, tables.version.c.number == number)
        return _version(self._connection.execute(query).one())

    def versions(self, plan: int) -> tuple[VersionRow, ...]:
        """Return all versions of a plan, ascending."""
        query = _versions().where(tables.version.c.plan_id == plan).order_by(tables.version.c.number)
        return tuple(_version(row) for row in self._connection.execute(query))

    def version_of(self, digest: str) -> VersionRow | None:
        """Return the version with a digest, whatever plan it is of."""
        row = self._connection.execute(_versions().where(tables.version.c.digest == digest)).first()
        return None if row is None else _version(row)

    def content(self, version: int) -> bytes:
        """Return the exact bytes of a version."""
        result = self._connection.execute(select(tables.version.c.content).where(tables.version.c.id == version))
        return bytes(result.scalar_one())

    def files(self, version: int) -> dict[str, bytes]:
        """Return what a version was drafted from, by kind."""
        query = (
            select(tables.version_file.c.kind, tables.file.c.body)
            .join(tables.file, tables.file.c.digest == tables.version_file.c.digest)
            .where(tables.version_file.c.version_id == version)
        )
        return {row.kind: zlib.decompress(row.body) for row in self._connection.execute(query)}

    def editors(self, plan: int) -> tuple[EditorRow, ...]:
        """Return everybody who wrote, edited or submitted a version; the author first."""
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
        """Return the last submission of a version."""
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
        """Return all decisions about all versions of a plan, ascending."""
        query = select(tables.decision).where(tables.decision.c.plan_id == plan).order_by(tables.decision.c.id)
        return tuple(_decision(row) for row in self._connection.execute(query))

    def nonce_used(self, nonce: str) -> bool:
        """Whether an envelope with this nonce is kept already."""
        found = select(tables.decision.c.id).where(tables.decision.c.nonce == nonce)
        return self._connection.execute(found).first() is not None

    def comments(self, plan: int) -> tuple[CommentRow, ...]:
        """Return the discussion of a plan, ascending."""
        query = select(tables.comment).where(tables.comment.c.plan_id == plan).order_by(tables.comment.c.id)
        return tuple(
            CommentRow(number=row.number, by=_who(row), at_ms=row.at_ms, body=row.body)
            for row in self._connection.execute(query)
        )

    def receipts(self, plan: int) -> tuple[ReceiptRow, ...]:
        """Return what was handed in of applications of a plan, ascending."""
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
        """Return rows of the audit log, newest first."""
        return audit.rows(self._connection, wanted, most=most)

    def check_chain(self, noted: Noted | None = None) -> Chain:
        """Read the whole audit log, and say whether it is whole, and still has the row that was noted elsewhere."""
        return audit.check(self._connection, noted)


def _versions() -> Any:
    return select(*(column for column in tables.version.c if column.name != "content"))


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
