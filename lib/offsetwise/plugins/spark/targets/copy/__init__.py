"""An edited copy of a Spark checkpoint. The old folder is not changed."""
