"""Transactions of a sink's partitions that no coordinator knows, ended by abort markers."""
