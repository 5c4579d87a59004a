"""A file that says where a Spark query without a checkpoint begins in a stream of Kinesis."""
