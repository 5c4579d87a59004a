"""The offsets of a sink connector of Kafka Connect, written by its workers."""
