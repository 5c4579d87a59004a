"""Sink connectors of Kafka Connect."""
