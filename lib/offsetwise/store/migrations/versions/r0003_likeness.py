"""Bars whoever looks like an author or editor from deciding, and counts two who look alike once.

Rows from before have no likeness: for them the review alone compares, as it does for everybody.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"
branch_labels = None
depends_on = None

_OWN_PLAN = """
    NEW.separation = 1 AND EXISTS (
        SELECT 1 FROM review_editor AS e WHERE e.plan_id = NEW.plan_id
        AND ((e.issuer = NEW.issuer AND e.subject = NEW.subject) OR e.address = NEW.address
            OR e.likeness = NEW.likeness))
"""
_TOLD = "nobody decides about a plan that they wrote or edited"


def upgrade() -> None:
    for table in ("review_editor", "review_decision"):
        op.add_column(table, sa.Column("likeness", sa.Text, nullable=True))
    op.create_index("ux_review_decision_likeness", "review_decision", ["submission_id", "likeness"], unique=True)
    if op.get_bind().dialect.name == "sqlite":
        op.execute(sa.text("DROP TRIGGER review_decision_own_plan"))
        op.execute(
            sa.text(
                f"CREATE TRIGGER review_decision_own_plan BEFORE INSERT ON review_decision WHEN {_OWN_PLAN} "
                f"BEGIN SELECT RAISE(ABORT, 'offsetwise: {_TOLD}'); END"
            )
        )
    else:
        op.execute(
            sa.text(
                "CREATE OR REPLACE FUNCTION offsetwise_own_plan() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                f"IF {_OWN_PLAN} THEN RAISE EXCEPTION 'offsetwise: {_TOLD}'; END IF; RETURN NEW; END $$"
            )
        )


def downgrade() -> None:
    raise NotImplementedError("plans, approvals and the audit log are kept")
