"""A file with the starting offsets of a job without positions of its own, for Spark or Flink."""
