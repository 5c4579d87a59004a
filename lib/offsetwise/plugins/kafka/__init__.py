"""Kafka: the stream, and what is written to its clusters: offsets of groups, and ends of transactions."""
