"""A copy of a Flink savepoint with its legacy Kinesis consumer converted to a KinesisStreamsSource."""
