"""What targets of shards share."""
