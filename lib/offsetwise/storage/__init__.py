"""Read-only access to folders on every kind of file system."""
