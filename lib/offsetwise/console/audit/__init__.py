"""The Audit screen."""
