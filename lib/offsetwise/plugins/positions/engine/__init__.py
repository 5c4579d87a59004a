"""Positions in a file: offsets of Kafka in the shape in which a tool or a system prints them."""
