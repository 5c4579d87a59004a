"""Tapes, whose positions are labels: no number, and nothing tells how far two are apart."""
