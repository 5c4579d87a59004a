"""Positions in a file: Kafka offsets in the format in which a tool or a system prints them."""
