"""Read the plans under review, in one snapshot of the store."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Row, Table, and_, select

from offsetwise.store import audit
from offsetwise.store import review_tables as tables
from offsetwise.store.audit import AuditFilter, AuditRow, Chain, Noted
from offsetwise.store.review_rows import (
    CommentRow,
    DecisionRow,
    EditorRow,
    PlanRow,
    ReceiptRow,
    SetMember,
    SetRow,
    State,
    SubmissionRow,
    VersionRow,
    Who,
)
from offsetwise.store.tables import in_parts


class StoreLook:
    """A snapshot of the store.

    Args:
        connection: Inside a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def plans(self, *, open_only: bool = False) -> tuple[PlanRow, ...]:
        """Return plans, the last changed first."""
        query = select(tables.plan).order_by(tables.plan.c.changed_at_ms.desc(), tables.plan.c.id.desc())
        if open_only:
            query = query.where(tables.plan.c.state.in_(tables.OPEN_STATES))
        return tuple(_plan(row) for row in self._connection.execute(query))

    def plan(self, plan: int) -> PlanRow | None:
        row = self._connection.execute(select(tables.plan).where(tables.plan.c.id == plan)).first()
        return None if row is None else _plan(row)

    def open_plan(self, moves: str) -> PlanRow | None:
        query = select(tables.plan).where(tables.plan.c.moves == moves, tables.plan.c.state.in_(tables.OPEN_STATES))
        row = self._connection.execute(query).first()
        return None if row is None else _plan(row)

    def version(self, plan: int, number: int) -> VersionRow:
        query = _versions().where(tables.version.c.plan_id == plan, tables.version.c.number == number)
        return _version(self._connection.execute(query).one())

    def versions(self, plan: int) -> tuple[VersionRow, ...]:
        query = _versions().where(tables.version.c.plan_id == plan).order_by(tables.version.c.number)
        return tuple(_version(row) for row in self._connection.execute(query))

    def version_of(self, digest: str) -> VersionRow | None:
        row = self._connection.execute(_versions().where(tables.version.c.digest == digest)).first()
        return None if row is None else _version(row)

    def content(self, version: int) -> bytes:
        result = self._connection.execute(select(tables.version.c.content).where(tables.version.c.id == version))
        return bytes(result.scalar_one())

    def files(self, version: int) -> dict[str, bytes]:
        query = (
            select(tables.version_file.c.kind, tables.file.c.body)
            .join(tables.file, tables.file.c.digest == tables.version_file.c.digest)
            .where(tables.version_file.c.version_id == version)
        )
        return {row.kind: zlib.decompress(row.body) for row in self._connection.execute(query)}

    def editors(self, plan: int) -> tuple[EditorRow, ...]:
        """Return everybody who wrote, edited or submitted a version; the author first."""
        return self.editors_of([plan])[plan]

    def editors_of(self, plans: Collection[int]) -> dict[int, tuple[EditorRow, ...]]:
        """Return, by plan, everybody who wrote, edited or submitted a version; the author first."""
        order = tables.editor.c.since_number, tables.editor.c.audit_seq
        rows = self._of(tables.editor, tables.editor.c.plan_id, plans, order)
        return {
            plan: tuple(
                EditorRow(issuer=row.issuer, subject=row.subject, address=row.address, since_number=row.since_number)
                for row in rows.get(plan, ())
            )
            for plan in plans
        }

    def added_by(self, version: int) -> str:
        """Return the action, in the audit log, that added a version."""
        query = select(tables.audit.c.action).join(tables.version, tables.version.c.audit_seq == tables.audit.c.seq)
        return str(self._connection.execute(query.where(tables.version.c.id == version)).scalar_one())

    def submission(self, version: int) -> SubmissionRow | None:
        return self.submissions_of([version]).get(version)

    def submissions_of(self, versions: Collection[int]) -> dict[int, SubmissionRow]:
        rows = self._of(tables.submission, tables.submission.c.version_id, versions, (tables.submission.c.round,))
        return {version: _submission(of_version[-1]) for version, of_version in rows.items()}

    def decisions(self, plan: int) -> tuple[DecisionRow, ...]:
        """Return all decisions about all versions of a plan, ascending."""
        return self.decisions_of([plan])[plan]

    def decisions_of(self, plans: Collection[int]) -> dict[int, tuple[DecisionRow, ...]]:
        """Return, by plan, all decisions about all of its versions, ascending."""
        rows = self._of(tables.decision, tables.decision.c.plan_id, plans, (tables.decision.c.id,))
        # The envelope of several plans is read once: it names all of them.
        envelopes = self._envelopes({row.nonce for some in rows.values() for row in some})
        return {plan: tuple(_decision(row, envelopes.get(row.nonce)) for row in rows.get(plan, ())) for plan in plans}

    def nonce_used(self, plan: int, nonce: str) -> bool:
        query = select(tables.decision.c.id).where(tables.decision.c.plan_id == plan, tables.decision.c.nonce == nonce)
        return self._connection.execute(query).first() is not None

    def _envelopes(self, nonces: Collection[str]) -> dict[str, bytes]:
        query = select(tables.envelope.c.nonce, tables.envelope.c.body)
        return {
            row.nonce: bytes(row.body)
            for some in in_parts(nonces)
            for row in self._connection.execute(query.where(tables.envelope.c.nonce.in_(some)))
        }

    def sets(self, *, plan: int | None = None) -> tuple[SetRow, ...]:
        """Return sets of plans, the newest first; with `plan`, those that contain any version of it."""
        query = select(*(column for column in tables.plan_set.c if column.name != "content"))
        if plan is not None:
            of_plan = select(tables.set_plan.c.set_id).where(tables.set_plan.c.plan_id == plan)
            query = query.where(tables.plan_set.c.id.in_(of_plan))
        rows = self._connection.execute(query.order_by(tables.plan_set.c.id.desc())).all()
        members = self._members([row.id for row in rows])
        return tuple(_set(row, members[row.id]) for row in rows)

    def plan_set(self, number: int) -> SetRow | None:
        return self._one_set(tables.plan_set.c.id == number)

    def set_of(self, digest: str) -> SetRow | None:
        return self._one_set(tables.plan_set.c.digest == digest)

    def set_content(self, number: int) -> bytes:
        query = select(tables.plan_set.c.content).where(tables.plan_set.c.id == number)
        return bytes(self._connection.execute(query).scalar_one())

    def _one_set(self, condition: ColumnElement[bool]) -> SetRow | None:
        row = self._connection.execute(select(tables.plan_set).where(condition)).first()
        return None if row is None else _set(row, self._members([row.id])[row.id])

    def _members(self, sets: Collection[int]) -> dict[int, tuple[SetMember, ...]]:
        joined = tables.set_plan.join(tables.version, tables.version.c.id == tables.set_plan.c.version_id)
        columns = (*tables.set_plan.c, tables.version.c.number, tables.version.c.digest)
        query = select(*columns).select_from(joined).order_by(tables.set_plan.c.rank)
        rows: dict[int, list[SetMember]] = {set_id: [] for set_id in sets}
        for some in in_parts(sets):
            for row in self._connection.execute(query.where(tables.set_plan.c.set_id.in_(some))):
                member = SetMember(plan=row.plan_id, version=row.version_id, number=row.number, digest=row.digest)
                rows[row.set_id].append(member)
        return {set_id: tuple(members) for set_id, members in rows.items()}

    def newest_of(self, plans: Collection[int]) -> dict[int, tuple[PlanRow, VersionRow]]:
        rows = {row.id: row for some in self._of(tables.plan, tables.plan.c.id, plans).values() for row in some}
        columns = [column for column in tables.version.c if column.name != "content"]
        joined = tables.version.join(
            tables.plan,
            and_(tables.plan.c.id == tables.version.c.plan_id, tables.plan.c.number == tables.version.c.number),
        )
        results = {}
        for some in in_parts(plans):
            query = select(*columns).select_from(joined).where(tables.version.c.plan_id.in_(some))
            for row in self._connection.execute(query):
                results[row.plan_id] = (_plan(rows[row.plan_id]), _version(row))
        return results

    def _of(
        self, table: Table, column: Column[Any], values: Collection[int], order: Sequence[Column[Any]] = ()
    ) -> dict[int, list[Row[Any]]]:
        results: dict[int, list[Row[Any]]] = {}
        for some in in_parts(values):
            for row in self._connection.execute(select(table).where(column.in_(some)).order_by(*order)):
                results.setdefault(int(getattr(row, column.name)), []).append(row)
        return results

    def comments(self, plan: int) -> tuple[CommentRow, ...]:
        """Return the discussion of a plan, ascending."""
        query = select(tables.comment).where(tables.comment.c.plan_id == plan).order_by(tables.comment.c.id)
        return tuple(
            CommentRow(number=row.number, by=_who(row), at_ms=row.at_ms, body=row.body)
            for row in self._connection.execute(query)
        )

    def receipts(self, plan: int) -> tuple[ReceiptRow, ...]:
        """Return the receipts that were added to a plan, ascending."""
        query = select(tables.receipt).where(tables.receipt.c.plan_id == plan).order_by(tables.receipt.c.id)
        return tuple(
            ReceiptRow(digest=row.digest, content=bytes(row.content), by=_who(row), at_ms=row.at_ms)
            for row in self._connection.execute(query)
        )

    def receipt_known(self, sha256: str) -> bool:
        query = select(tables.receipt.c.id).where(tables.receipt.c.sha256 == sha256)
        return self._connection.execute(query).first() is not None

    def audit(self, requested: AuditFilter, *, most: int) -> tuple[AuditRow, ...]:
        return audit.rows(self._connection, requested, most=most)

    def check_chain(self, noted: Noted | None = None) -> Chain:
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


def _submission(row: Row[Any]) -> SubmissionRow:
    return SubmissionRow(
        id=row.id,
        version=row.version_id,
        round=row.round,
        by=_who(row),
        at_ms=row.at_ms,
        expires_at_ms=row.expires_at_ms,
    )


def _set(row: Row[Any], members: tuple[SetMember, ...]) -> SetRow:
    return SetRow(
        id=row.id,
        migration=row.migration,
        wave=row.wave,
        digest=row.digest,
        by=_who(row),
        at_ms=row.at_ms,
        members=members,
    )


def _decision(row: Row[Any], envelope: bytes | None) -> DecisionRow:
    return DecisionRow(
        id=row.id,
        submission=row.submission_id,
        digest=row.digest,
        by=_who(row, row.address),
        verdict=row.verdict,
        at_ms=row.at_ms,
        expires_at_ms=row.expires_at_ms,
        nonce=row.nonce,
        envelope=envelope or b"",
        separation=bool(row.separation),
    )
