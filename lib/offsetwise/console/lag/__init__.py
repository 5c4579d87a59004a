"""The Lag screen."""
