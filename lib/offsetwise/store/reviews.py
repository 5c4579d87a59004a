"""Plans under review in the store. `review` decides who may do what; the constraints of the tables hold in any case.

A change and its row of the audit log are written in one transaction, one change after the other.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from offsetwise.lookalikes import likeness
from offsetwise.store import audit
from offsetwise.store import review_tables as tables
from offsetwise.store.audit import Record
from offsetwise.store.database import Database
from offsetwise.store.review_reader import StoreLook
from offsetwise.store.review_rows import SetMember, State, Who

_LEVEL: Final = 1


class Reviews:
    """Plans under review. Thread-safe; every method may raise a `StoreError`.

    Args:
        database: An open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def reading(self, what: str) -> Iterator[StoreLook]:
        with self._database.reading(what) as connection:
            yield StoreLook(connection)

    @contextmanager
    def changing(self, what: str) -> Iterator[Change]:
        """Yield a change, which is committed with its audit row when this ends.

        Raises:
            StoreUnclearError: The store stopped answering during the commit: read whether it was committed.
            StoreRefusedError: The constraints of the tables forbid it.
            StoreError: It is not possible; nothing was changed.
        """
        changes: list[Change] = []

        def done(connection: Connection) -> bool:
            return audit.there(connection, *changes[0].written)

        with self._database.durable_writing(what, done) as connection:
            change = Change(connection)
            changes.append(change)
            yield change
            if not change.recorded:
                raise AssertionError(f"{what}: a change without a row of the audit log")


class Change(StoreLook):
    """A change in progress. It ends with `record`; added rows refer to that row of the audit log.

    A change of several plans has a row for each: `go_on` begins the next one.

    Args:
        connection: Inside an exclusive transaction.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        last, self._previous = audit.tip(connection)
        self._seq = last + 1
        self._hash: str | None = None

    @property
    def recorded(self) -> bool:
        return self._hash is not None

    @property
    def written(self) -> tuple[int, str]:
        return self._seq, self._hash or ""

    def add_plan(self, *, migration: str, moves: str, at_ms: int) -> int:
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
        there = {(editor.issuer, editor.subject) for editor in self.editors(plan)}
        if (by.issuer, by.subject) not in there:
            values = {
                "plan_id": plan,
                "issuer": by.issuer,
                "subject": by.subject,
                "address": by.address,
                "since_number": number,
                "audit_seq": self._seq,
                "likeness": likeness(by.subject),
            }
            self._connection.execute(insert(tables.editor).values(values))

    def add_file(self, version: int, kind: str, content: bytes) -> None:
        digest = hashlib.sha256(content).hexdigest()
        if self._connection.execute(select(tables.file.c.digest).where(tables.file.c.digest == digest)).first() is None:
            values = {"digest": digest, "body": zlib.compress(content, _LEVEL)}
            self._connection.execute(insert(tables.file).values(values))
        of = {"version_id": version, "kind": kind, "digest": digest}
        self._connection.execute(insert(tables.version_file).values(of))

    def add_submission(self, version: int, number: int, *, by: Who, at_ms: int, expires_at_ms: int) -> None:
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
        """Add a decision. One envelope may decide about several plans, but only once about each.

        Raises:
            StoreRefusedError: By the author or an editor, or somebody who looks like one, while duties are separated;
                or not about the newest version of a submitted plan.
            StoreError: Somebody who looks the same decided already, or the nonce is that of another envelope.
        """
        if self._envelopes([nonce]).get(nonce) != envelope:  # another one with this nonce violates the primary key
            values = {"nonce": nonce, "audit_seq": self._seq, "body": envelope}
            self._connection.execute(insert(tables.envelope).values(values))
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
                "separation": int(separation),
                "audit_seq": self._seq,
                "likeness": likeness(by.subject),
            },
        )

    def add_set(
        self,
        *,
        migration: str,
        wave: str | None,
        digest: str,
        content: bytes,
        members: Sequence[SetMember],
        by: Who,
        at_ms: int,
    ) -> int:
        """Add a set of plans; return its id.

        Raises:
            StoreError: The same set exists.
        """
        values = {"migration": migration, "wave": wave, "digest": digest, "content": content, **_by(by, at_ms)}
        added = self._added(tables.plan_set, {**values, "audit_seq": self._seq})
        rows = [
            {"set_id": added, "rank": rank, "plan_id": member.plan, "version_id": member.version}
            for rank, member in enumerate(members)
        ]
        self._connection.execute(insert(tables.set_plan), rows)
        return added

    def add_comment(self, plan: int, number: int, *, by: Who, at_ms: int, body: str) -> None:
        values = {"plan_id": plan, "number": number, **_by(by, at_ms), "body": body, "audit_seq": self._seq}
        self._added(tables.comment, values)

    def add_receipt(self, plan: int, *, digest: str, content: bytes, by: Who, at_ms: int) -> None:
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
        values = {"state": state.value, "number": number, "changed_at_ms": at_ms}
        self._connection.execute(update(tables.plan).where(tables.plan.c.id == plan).values(values))

    def record(self, record: Record) -> None:
        """Write the row of the audit log, exactly once for each part of a change; see `go_on`."""
        if self.recorded:
            raise AssertionError("a change has one row of the audit log")
        self._hash = audit.append(self._connection, self._seq, self._previous, record)

    def go_on(self) -> None:
        """Begin the next part of the change, about another plan, which gets its own row of the audit log."""
        if self._hash is None:
            raise AssertionError("a part of a change without a row of the audit log")
        self._seq, self._previous, self._hash = self._seq + 1, self._hash, None

    def _added(self, table: Any, values: dict[str, Any]) -> int:
        done = self._connection.execute(insert(table).values(values))
        key: Any = done.inserted_primary_key
        return int(key[0])


def _by(who: Who, at_ms: int) -> dict[str, Any]:
    return {"issuer": who.issuer, "subject": who.subject, "name": who.name, "at_ms": at_ms}
