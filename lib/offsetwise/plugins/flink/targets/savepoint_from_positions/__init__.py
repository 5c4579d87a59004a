"""A Flink savepoint made of positions alone."""
