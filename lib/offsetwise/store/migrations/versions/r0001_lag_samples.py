from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "lag_subject",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("migration", sa.Text, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.UniqueConstraint("migration", "kind", "name", name="uq_lag_subject"),
    )
    op.create_table(
        "lag_layout",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "lag_sample",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("subject_id", _ID, sa.ForeignKey("lag_subject.id"), nullable=False),
        sa.Column("layout_id", _ID, sa.ForeignKey("lag_layout.id"), nullable=False),
        sa.Column("base_id", _ID, sa.ForeignKey("lag_sample.id")),
        sa.Column("taken_at_ms", sa.BigInteger, nullable=False),
        sa.Column("interval_ms", sa.BigInteger),
        sa.Column("missing", sa.SmallInteger, nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("totals", sa.Text, nullable=False),
        sa.UniqueConstraint("subject_id", "taken_at_ms", name="uq_lag_sample"),
    )
    op.create_index("ix_lag_sample_base", "lag_sample", ["base_id"])
    op.create_index("ix_lag_sample_layout", "lag_sample", ["layout_id"])
    op.create_table(
        "lag_payload",
        sa.Column("sample_id", _ID, sa.ForeignKey("lag_sample.id"), primary_key=True),
        sa.Column("chunk", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    for name in ("lag_payload", "lag_sample", "lag_layout", "lag_subject"):
        op.drop_table(name)
