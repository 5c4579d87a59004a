"""Kafka: the stream, and what is written to its clusters: offsets of groups, ends of transactions."""
