"""The Spark checkpoint itself, its originals kept beside."""
