"""The tables of plans under review in the newest revision, which `migrations/versions` creates.

Only `review_plan` is ever updated. All other tables are append-only: triggers forbid UPDATE and DELETE. Each added row
names the row of the audit log that was written with it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

from offsetwise.store.review_rows import State
from offsetwise.store.tables import Id, metadata

__all__ = ["OPEN_STATES", "Escaped", "metadata"]


class Escaped(TypeDecorator[str]):
    r"""Any text: characters that a database cannot hold (a zero byte, half a surrogate pair) are escaped as `\x00`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else escaped(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        try:
            return None if value is None else value.encode("ascii").decode("unicode_escape")
        except UnicodeError:
            return value


def escaped(value: str) -> str:
    r"""Return a text in ASCII, injectively.

    >>> escaped("a\\b\x00")
    'a\\\\b\\x00'
    """
    return value.encode("unicode_escape").decode("ascii")


OPEN_STATES = tuple(state.value for state in State if state.open)
"""A checkpoint or group has at most one plan in these states."""

_OPEN = text("state IN ('draft', 'submitted', 'approved')")

audit = Table(
    "review_audit",
    metadata,
    Column("seq", Id, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("issuer", Escaped),
    Column("subject", Escaped),
    Column("action", String(20), nullable=False),
    Column("result", String(10), nullable=False),
    Column("plan_id", Id),
    Column("digest", String(64)),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False, unique=True),
    Column("hash", String(64), nullable=False, unique=True),
    Index("ix_review_audit_plan", "plan_id"),
)
"""`hash` is over `previous` and `body`, canonical JSON of the whole row; the other columns repeat it for searches."""


def _written_with() -> Column[int]:
    return Column(
        "audit_seq", Id, ForeignKey("review_audit.seq", deferrable=True, initially="DEFERRED"), nullable=False
    )


plan = Table(
    "review_plan",
    metadata,
    Column("id", Id, primary_key=True),
    Column("migration", Escaped, nullable=False),
    Column("moves", Escaped, nullable=False),
    Column("state", String(10), nullable=False),
    Column("number", Integer, nullable=False),
    Column("changed_at_ms", BigInteger, nullable=False),
    CheckConstraint(
        "state IN ('draft', 'submitted', 'approved', 'rejected', 'withdrawn', 'applied')", name="ck_review_plan_state"
    ),
    Index("ux_review_plan_open", "moves", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
)
"""`moves` names the checkpoint or group. `number` is that of the newest version."""

version = Table(
    "review_version",
    metadata,
    Column("id", Id, primary_key=True),
    Column("plan_id", Id, ForeignKey("review_plan.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("facts", Text, nullable=False),
    Column("issuer", Escaped, nullable=False),
    Column("subject", Escaped, nullable=False),
    Column("name", Escaped, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    _written_with(),
    Column("content", LargeBinary, nullable=False),
    UniqueConstraint("plan_id", "number", name="uq_review_version"),
)
"""`content` is the plan's file, every byte; the last column, so that SQLite does not read over it to reach others.

`facts` has the facts for a decision, as JSON."""


editor = Table(
    "review_editor",
    metadata,
    Column("plan_id", Id, ForeignKey("review_plan.id"), primary_key=True),
    Column("issuer", Escaped, primary_key=True),
    Column("subject", Escaped, primary_key=True),
    Column("address", Escaped),
    Column("since_number", Integer, nullable=False),
    _written_with(),
    Column("likeness", Escaped),
)
"""The author and everybody who edited or submitted any version: none of them may decide. `address` is an e-mail
address.

`likeness` is the skeleton of the subject; None in rows of earlier releases."""

file = Table(
    "review_file",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""The files that a version was drafted from, each file once; compressed."""

version_file = Table(
    "review_version_file",
    metadata,
    Column("version_id", Id, ForeignKey("review_version.id"), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("digest", String(64), ForeignKey("review_file.digest"), nullable=False),
)

submission = Table(
    "review_submission",
    metadata,
    Column("id", Id, primary_key=True),
    Column("version_id", Id, ForeignKey("review_version.id"), nullable=False),
    Column("round", Integer, nullable=False),
    Column("issuer", Escaped, nullable=False),
    Column("subject", Escaped, nullable=False),
    Column("name", Escaped, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
    _written_with(),
    UniqueConstraint("version_id", "round", name="uq_review_submission"),
)

envelope = Table(
    "review_envelope",
    metadata,
    Column("nonce", String(32), primary_key=True),
    _written_with(),
    Column("body", LargeBinary, nullable=False),
)
"""The signed envelopes, each once: that of a set is the evidence of a decision about each of its plans."""

decision = Table(
    "review_decision",
    metadata,
    Column("id", Id, primary_key=True),
    Column("plan_id", Id, ForeignKey("review_plan.id"), nullable=False),
    Column("submission_id", Id, ForeignKey("review_submission.id"), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("issuer", Escaped, nullable=False),
    Column("subject", Escaped, nullable=False),
    Column("address", Escaped),
    Column("name", Escaped, nullable=False),
    Column("verdict", String(10), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
    Column("nonce", String(32), ForeignKey("review_envelope.nonce"), nullable=False),
    Column("separation", SmallInteger, nullable=False),
    _written_with(),
    Column("likeness", Escaped),
    UniqueConstraint("submission_id", "issuer", "subject", name="uq_review_decision"),
    UniqueConstraint("plan_id", "nonce", name="uq_review_decision_nonce"),
    Index("ux_review_decision_likeness", "submission_id", "likeness", unique=True),
    CheckConstraint("verdict IN ('approved', 'rejected')", name="ck_review_decision_verdict"),
    CheckConstraint("separation IN (0, 1)", name="ck_review_decision_separation"),
)
"""The envelope named by `nonce` is the evidence; the other columns are for searches. `separation` is the server's
setting at that moment."""

plan_set = Table(
    "review_set",
    metadata,
    Column("id", Id, primary_key=True),
    Column("migration", Escaped, nullable=False),
    Column("wave", Escaped),
    Column("digest", String(64), nullable=False, unique=True),
    Column("issuer", Escaped, nullable=False),
    Column("subject", Escaped, nullable=False),
    Column("name", Escaped, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    _written_with(),
    Column("content", LargeBinary, nullable=False),
)
"""Plans that are decided about together. `content` is the set's file, every byte."""

set_plan = Table(
    "review_set_plan",
    metadata,
    Column("set_id", Id, ForeignKey("review_set.id"), primary_key=True),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("plan_id", Id, ForeignKey("review_plan.id"), nullable=False),
    Column("version_id", Id, ForeignKey("review_version.id"), nullable=False),
    UniqueConstraint("set_id", "plan_id", name="uq_review_set_plan"),
    Index("ix_review_set_plan_plan", "plan_id"),
)
"""The versions of plans in a set, in the order in which they are applied."""

comment = Table(
    "review_comment",
    metadata,
    Column("id", Id, primary_key=True),
    Column("plan_id", Id, ForeignKey("review_plan.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("issuer", Escaped, nullable=False),
    Column("subject", Escaped, nullable=False),
    Column("name", Escaped, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("body", Escaped, nullable=False),
    _written_with(),
    Index("ix_review_comment_plan", "plan_id"),
)

receipt = Table(
    "review_receipt",
    metadata,
    Column("id", Id, primary_key=True),
    Column("plan_id", Id, ForeignKey("review_plan.id"), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("content", LargeBinary, nullable=False),
    Column("issuer", Escaped, nullable=False),
    Column("subject", Escaped, nullable=False),
    Column("name", Escaped, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    _written_with(),
)
