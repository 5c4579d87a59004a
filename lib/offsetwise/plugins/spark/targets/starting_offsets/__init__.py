"""A file that says where a job without positions of its own begins: Spark's `startingOffsets`, or Flink's words."""
