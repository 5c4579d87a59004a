"""A fresh Spark checkpoint that holds initial offsets only."""
