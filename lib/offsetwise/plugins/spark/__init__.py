"""Spark: the checkpoints of its queries, what is written for them, their state, their part of the screens."""
