"""The Checkpoint screen."""
