"""The state of Flink's connectors for Kinesis and DynamoDB Streams."""

from typing import Final

LEGACY_STATE: Final = "Kinesis-Stream-Shard-State"
"""Name of the legacy FlinkKinesisConsumer's state."""
