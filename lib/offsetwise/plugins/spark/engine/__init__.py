"""Spark Structured Streaming's checkpoints."""
