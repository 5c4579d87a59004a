"""The Clusters screen."""
