"""What single releases of Spark write into a checkpoint, or refuse to start from."""
