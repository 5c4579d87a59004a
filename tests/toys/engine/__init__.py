"""A job that keeps its positions in one file of JSON."""
