"""The read-only screens: overview, checkpoint, clusters, compare, lag."""
