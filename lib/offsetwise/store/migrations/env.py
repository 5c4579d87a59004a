"""Run by Alembic: migrates over the given connection, inside its transaction."""

from __future__ import annotations

from alembic import context

from offsetwise.store.review_tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=context.config.attributes["version_table"],
    transactional_ddl=True,
)
context.run_migrations()
