"""The state of Flink's sources of Kinesis, written."""
