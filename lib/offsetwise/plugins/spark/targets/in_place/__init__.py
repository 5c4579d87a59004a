"""The Spark checkpoint itself, edited in place with its originals kept."""
