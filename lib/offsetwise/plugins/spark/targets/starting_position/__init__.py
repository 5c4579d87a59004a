"""A file with the starting position of a Spark query of Kinesis without a checkpoint."""
