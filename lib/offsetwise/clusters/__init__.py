"""What stands on both clusters of a migration, side by side."""
