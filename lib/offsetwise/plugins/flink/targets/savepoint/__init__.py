"""A copy of a Flink savepoint, edited. The old folder stays as it is."""
