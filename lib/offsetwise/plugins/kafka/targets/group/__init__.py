"""Committed offsets of a consumer group on the new cluster."""
