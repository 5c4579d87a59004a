"""What targets of Flink jobs share."""
