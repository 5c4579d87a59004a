"""A fresh Spark checkpoint that contains initial offsets only."""
