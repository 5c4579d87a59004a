"""Flink's checkpoints and savepoints."""
