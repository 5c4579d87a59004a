"""A copy of a Flink savepoint that keeps no position: its Kafka sources begin as the job says."""
