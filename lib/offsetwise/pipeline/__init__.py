"""Spark: the session, reading records as identities, and the reconciliation of whole topics."""
