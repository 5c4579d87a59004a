"""What Flink's connectors for Kinesis and DynamoDB Streams keep in their state."""

from typing import Final

LEGACY_STATE: Final = "Kinesis-Stream-Shard-State"
"""Of the legacy FlinkKinesisConsumer."""
