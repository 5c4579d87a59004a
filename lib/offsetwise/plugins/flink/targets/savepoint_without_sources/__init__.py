"""A copy of a Flink savepoint without positions: its Kafka sources begin as the job says."""
