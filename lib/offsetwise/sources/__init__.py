"""Readers, one per system; what a driver raises becomes an error of ours here."""
