"""A Flink savepoint built from positions alone."""
