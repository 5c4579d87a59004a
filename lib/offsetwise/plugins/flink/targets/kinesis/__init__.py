"""Edits of the state of Flink's Kinesis sources."""
