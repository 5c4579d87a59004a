"""Consumer groups: Kafka stores the positions of their jobs."""
