"""What targets that are Spark checkpoints share."""
