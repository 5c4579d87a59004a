"""Sink connectors of Kafka Connect, whose offsets are read from its workers by REST."""
