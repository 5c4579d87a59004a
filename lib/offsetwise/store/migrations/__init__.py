"""Alembic's environment: the migrations from an empty database to the newest tables."""
