"""Spark's part of the screens."""
