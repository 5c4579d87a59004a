"""Flink: its checkpoints and savepoints, the targets written for its jobs, and its part of the screens."""
