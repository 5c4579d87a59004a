"""A copy of a Flink savepoint whose legacy consumer of Kinesis has become a KinesisStreamsSource."""
