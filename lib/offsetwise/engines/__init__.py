"""Engines: what keeps positions, and how each one's checkpoints are read."""
