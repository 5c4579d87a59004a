"""Kafka clusters, read without writing."""
