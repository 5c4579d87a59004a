"""Show the state of both clusters of a migration, side by side."""
