"""Consumer groups: Kafka keeps the positions of their jobs."""
