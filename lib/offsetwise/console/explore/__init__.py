"""The screens that look: overview, checkpoint, clusters, compare, lag."""
