"""Engines: the systems that keep positions, and how their checkpoints are read."""
