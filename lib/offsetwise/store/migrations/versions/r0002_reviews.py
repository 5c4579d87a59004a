from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_OPEN = "state IN ('draft', 'submitted', 'approved')"
_ADDED_TO = (
    "review_audit",
    "review_version",
    "review_editor",
    "review_file",
    "review_version_file",
    "review_submission",
    "review_decision",
    "review_comment",
    "review_receipt",
)
"""Tables whose rows are never changed or removed."""

_OWN_PLAN = """
    NEW.separation = 1 AND EXISTS (
        SELECT 1 FROM review_editor AS e WHERE e.plan_id = NEW.plan_id
        AND ((e.issuer = NEW.issuer AND e.subject = NEW.subject) OR e.address = NEW.address))
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


def upgrade() -> None:
    _audit()
    _plans()
    _versions()
    _editors()
    _files()
    _submissions()
    _decisions()
    _comments()
    _receipts()
    rules = _sqlite_rules if op.get_bind().dialect.name == "sqlite" else _postgresql_rules
    for statement in rules():
        op.execute(sa.text(statement))


def downgrade() -> None:
    """Refuse: the audit log is not taken away."""
    raise NotImplementedError("plans, approvals and the audit log are kept")


def _escaped(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _who() -> tuple[sa.Column[str], ...]:
    return _escaped("issuer"), _escaped("subject"), _escaped("name")


def _when(name: str = "at_ms") -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _written_with() -> sa.Column[int]:
    reference = sa.ForeignKey("review_audit.seq", deferrable=True, initially="DEFERRED")
    return sa.Column("audit_seq", _ID, reference, nullable=False)


def _refers(name: str, to: str, *, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(name, _ID, sa.ForeignKey(to), nullable=False, primary_key=primary_key)


def _audit() -> None:
    op.create_table(
        "review_audit",
        sa.Column("seq", _ID, primary_key=True, autoincrement=False),
        _when(),
        _escaped("issuer", nullable=True),
        _escaped("subject", nullable=True),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("result", sa.String(10), nullable=False),
        sa.Column("plan_id", _ID),
        sa.Column("digest", sa.String(64)),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False, unique=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
    )
    op.create_index("ix_review_audit_plan", "review_audit", ["plan_id"])


def _plans() -> None:
    op.create_table(
        "review_plan",
        sa.Column("id", _ID, primary_key=True),
        _escaped("migration"),
        _escaped("moves"),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        _when("changed_at_ms"),
        sa.CheckConstraint(
            "state IN ('draft', 'submitted', 'approved', 'rejected', 'withdrawn', 'applied')",
            name="ck_review_plan_state",
        ),
    )
    op.create_index(
        "ux_review_plan_open",
        "review_plan",
        ["moves"],
        unique=True,
        sqlite_where=sa.text(_OPEN),
        postgresql_where=sa.text(_OPEN),
    )


def _versions() -> None:
    op.create_table(
        "review_version",
        sa.Column("id", _ID, primary_key=True),
        _refers("plan_id", "review_plan.id"),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("facts", sa.Text, nullable=False),
        *_who(),
        _when(),
        _written_with(),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("plan_id", "number", name="uq_review_version"),
    )


def _editors() -> None:
    op.create_table(
        "review_editor",
        _refers("plan_id", "review_plan.id", primary_key=True),
        sa.Column("issuer", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, primary_key=True),
        _escaped("address", nullable=True),
        sa.Column("since_number", sa.Integer, nullable=False),
        _written_with(),
    )


def _files() -> None:
    op.create_table(
        "review_file",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "review_version_file",
        _refers("version_id", "review_version.id", primary_key=True),
        sa.Column("kind", sa.String(20), primary_key=True),
        sa.Column("digest", sa.String(64), sa.ForeignKey("review_file.digest"), nullable=False),
    )


def _submissions() -> None:
    op.create_table(
        "review_submission",
        sa.Column("id", _ID, primary_key=True),
        _refers("version_id", "review_version.id"),
        sa.Column("round", sa.Integer, nullable=False),
        *_who(),
        _when(),
        _when("expires_at_ms"),
        _written_with(),
        sa.UniqueConstraint("version_id", "round", name="uq_review_submission"),
    )


def _decisions() -> None:
    op.create_table(
        "review_decision",
        sa.Column("id", _ID, primary_key=True),
        _refers("plan_id", "review_plan.id"),
        _refers("submission_id", "review_submission.id"),
        sa.Column("digest", sa.String(64), nullable=False),
        *_who(),
        _escaped("address", nullable=True),
        sa.Column("verdict", sa.String(10), nullable=False),
        _when(),
        _when("expires_at_ms"),
        sa.Column("nonce", sa.String(32), nullable=False, unique=True),
        sa.Column("envelope", sa.LargeBinary, nullable=False),
        sa.Column("separation", sa.SmallInteger, nullable=False),
        _written_with(),
        sa.UniqueConstraint("submission_id", "issuer", "subject", name="uq_review_decision"),
        sa.CheckConstraint("verdict IN ('approved', 'rejected')", name="ck_review_decision_verdict"),
        sa.CheckConstraint("separation IN (0, 1)", name="ck_review_decision_separation"),
    )


def _comments() -> None:
    op.create_table(
        "review_comment",
        sa.Column("id", _ID, primary_key=True),
        _refers("plan_id", "review_plan.id"),
        sa.Column("number", sa.Integer, nullable=False),
        *_who(),
        _when(),
        _escaped("body"),
        _written_with(),
    )
    op.create_index("ix_review_comment_plan", "review_comment", ["plan_id"])


def _receipts() -> None:
    op.create_table(
        "review_receipt",
        sa.Column("id", _ID, primary_key=True),
        _refers("plan_id", "review_plan.id"),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        *_who(),
        _when(),
        _written_with(),
    )


def _sqlite_rules() -> Iterator[str]:
    for table in _ADDED_TO:
        for event in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'offsetwise: rows of {table} are never changed or removed'); END"
            )
    # INSERT OR REPLACE would remove a row without asking the trigger above, unless the connection says otherwise.
    yield (
        "CREATE TRIGGER review_audit_no_replace BEFORE INSERT ON review_audit "
        "WHEN EXISTS (SELECT 1 FROM review_audit AS a WHERE a.seq = NEW.seq OR a.hash = NEW.hash "
        "OR a.previous = NEW.previous) "
        "BEGIN SELECT RAISE(ABORT, 'offsetwise: rows of review_audit are never changed or removed'); END"
    )
    yield (
        "CREATE TRIGGER review_plan_no_delete BEFORE DELETE ON review_plan "
        "BEGIN SELECT RAISE(ABORT, 'offsetwise: plans are never removed'); END"
    )
    for name, condition, message in _RULES:
        yield (
            f"CREATE TRIGGER review_decision_{name} BEFORE INSERT ON review_decision WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, 'offsetwise: {message}'); END"
        )


def _postgresql_rules() -> Iterator[str]:
    yield (
        "CREATE FUNCTION offsetwise_added_to() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'offsetwise: rows of % are never changed or removed', TG_TABLE_NAME; END $$"
    )
    for table in _ADDED_TO:
        yield (
            f"CREATE TRIGGER {table}_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION offsetwise_added_to()"
        )
    yield (
        "CREATE TRIGGER review_plan_no_delete BEFORE DELETE OR TRUNCATE ON review_plan "
        "FOR EACH STATEMENT EXECUTE FUNCTION offsetwise_added_to()"
    )
    for name, condition, message in _RULES:
        yield (
            f"CREATE FUNCTION offsetwise_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF {condition} THEN RAISE EXCEPTION 'offsetwise: {message}'; END IF; RETURN NEW; END $$"
        )
        yield (
            f"CREATE TRIGGER review_decision_{name} BEFORE INSERT ON review_decision "
            f"FOR EACH ROW EXECUTE FUNCTION offsetwise_{name}()"
        )
