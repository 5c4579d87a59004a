"""Spark: checkpoints of its queries, the targets written for them, their state, and their part of the screens."""
