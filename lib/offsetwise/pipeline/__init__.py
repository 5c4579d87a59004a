"""Spark: the session, records as identities, and the reconciliation of whole topics."""
