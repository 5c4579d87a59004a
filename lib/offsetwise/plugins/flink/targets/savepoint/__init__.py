"""An edited copy of a Flink savepoint. The old folder is not changed."""
