"""Sets of plans, which are decided about together: one signed envelope is a decision about each of their plans.

Until now an envelope stood in its decision, and its nonce was good for one decision of the whole store. It has a table
of its own from here on: a nonce is that of one envelope, and an envelope counts once for a plan.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "r0004"
down_revision = "r0003"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_KEPT = (
    "id, plan_id, submission_id, digest, issuer, subject, address, name, verdict, at_ms, expires_at_ms, nonce, "
    "separation, audit_seq, likeness"
)
_OWN_PLAN = """
    NEW.separation = 1 AND EXISTS (
        SELECT 1 FROM review_editor AS e WHERE e.plan_id = NEW.plan_id
        AND ((e.issuer = NEW.issuer AND e.subject = NEW.subject) OR e.address = NEW.address
            OR e.likeness = NEW.likeness))
"""
_NOT_OPEN = """
    NOT EXISTS (
        SELECT 1 FROM review_plan AS p
        JOIN review_version AS v ON v.plan_id = p.id AND v.number = p.number
        JOIN review_submission AS s ON s.version_id = v.id
        WHERE p.id = NEW.plan_id AND p.state = 'submitted' AND v.digest = NEW.digest AND s.id = NEW.submission_id)
"""
_RULES = (
    ("own_plan", _OWN_PLAN, "nobody decides about a plan that they wrote or edited"),
    ("not_open", _NOT_OPEN, "a decision is about the newest version of a submitted plan"),
)
_NEW_TABLES = ("review_envelope", "review_set", "review_set_plan")


def upgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    _envelopes()
    if sqlite:
        _decisions_again()
    else:
        _decisions_changed()
    _sets()
    for statement in _sqlite_rules() if sqlite else _postgresql_rules():
        op.execute(sa.text(statement))


def downgrade() -> None:
    raise NotImplementedError("plans, approvals and the audit log are kept")


def _written_with() -> sa.Column[int]:
    reference = sa.ForeignKey("review_audit.seq", deferrable=True, initially="DEFERRED")
    return sa.Column("audit_seq", _ID, reference, nullable=False)


def _refers(name: str, to: str, *, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(name, _ID, sa.ForeignKey(to), nullable=False, primary_key=primary_key)


def _envelopes() -> None:
    op.create_table(
        "review_envelope",
        sa.Column("nonce", sa.String(32), primary_key=True),
        _written_with(),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.execute(
        sa.text(
            "INSERT INTO review_envelope (nonce, audit_seq, body) "
            "SELECT nonce, audit_seq, envelope FROM review_decision"
        )
    )


def _decisions_again() -> None:
    """Make the table anew: SQLite takes no constraint away. Nothing refers to it, and its rows are copied first."""
    op.create_table(
        "review_decision_r0004",
        sa.Column("id", _ID, primary_key=True),
        _refers("plan_id", "review_plan.id"),
        _refers("submission_id", "review_submission.id"),
        sa.Column("digest", sa.String(64), nullable=False),
        *(sa.Column(name, sa.Text, nullable=name == "address") for name in ("issuer", "subject", "address", "name")),
        sa.Column("verdict", sa.String(10), nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("at_ms", "expires_at_ms")),
        sa.Column("nonce", sa.String(32), sa.ForeignKey("review_envelope.nonce"), nullable=False),
        sa.Column("separation", sa.SmallInteger, nullable=False),
        _written_with(),
        sa.Column("likeness", sa.Text, nullable=True),
        sa.UniqueConstraint("submission_id", "issuer", "subject", name="uq_review_decision"),
        sa.UniqueConstraint("plan_id", "nonce", name="uq_review_decision_nonce"),
        sa.CheckConstraint("verdict IN ('approved', 'rejected')", name="ck_review_decision_verdict"),
        sa.CheckConstraint("separation IN (0, 1)", name="ck_review_decision_separation"),
    )
    op.execute(
        sa.text(f"INSERT INTO review_decision_r0004 ({_KEPT}) SELECT {_KEPT} FROM review_decision")  # noqa: S608 - our own names
    )
    # Its triggers and its index go with it, and are made again below.
    op.drop_table("review_decision")
    op.rename_table("review_decision_r0004", "review_decision")
    op.create_index("ux_review_decision_likeness", "review_decision", ["submission_id", "likeness"], unique=True)


def _decisions_changed() -> None:
    # PostgreSQL changes no table that a check still waits for.
    op.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))
    op.drop_constraint("review_decision_nonce_key", "review_decision", type_="unique")
    op.drop_column("review_decision", "envelope")
    op.create_unique_constraint("uq_review_decision_nonce", "review_decision", ["plan_id", "nonce"])
    op.create_foreign_key("fk_review_decision_nonce", "review_decision", "review_envelope", ["nonce"], ["nonce"])


def _sets() -> None:
    op.create_table(
        "review_set",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("migration", sa.Text, nullable=False),
        sa.Column("wave", sa.Text, nullable=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("issuer", "subject", "name")),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        _written_with(),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "review_set_plan",
        _refers("set_id", "review_set.id", primary_key=True),
        sa.Column("rank", sa.Integer, primary_key=True, autoincrement=False),
        _refers("plan_id", "review_plan.id"),
        _refers("version_id", "review_version.id"),
        sa.UniqueConstraint("set_id", "plan_id", name="uq_review_set_plan"),
    )
    op.create_index("ix_review_set_plan_plan", "review_set_plan", ["plan_id"])


def _sqlite_rules() -> Iterator[str]:
    for table in (*_NEW_TABLES, "review_decision"):
        for event in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'offsetwise: rows of {table} are never changed or removed'); END"
            )
    for name, condition, message in _RULES:
        yield (
            f"CREATE TRIGGER review_decision_{name} BEFORE INSERT ON review_decision WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, 'offsetwise: {message}'); END"
        )


def _postgresql_rules() -> Iterator[str]:
    for table in _NEW_TABLES:
        yield (
            f"CREATE TRIGGER {table}_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION offsetwise_added_to()"
        )
