"""Flink's part of the screens."""
