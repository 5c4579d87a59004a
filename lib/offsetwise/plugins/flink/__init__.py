"""Flink: its checkpoints and savepoints, what is written for its jobs, its part of the screens."""
