"""Hanging transactions of a sink's partitions, which no coordinator knows, ended by abort markers."""
