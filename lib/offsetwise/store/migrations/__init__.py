"""Alembic's environment: the steps from an empty database to the newest tables."""
