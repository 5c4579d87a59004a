"""A copy of a Spark checkpoint, edited. The old folder stays as it is."""
