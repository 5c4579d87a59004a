"""Differences between two files of one kind: positions, findings, states, and everything else in them."""
