"""The Draft screen."""
