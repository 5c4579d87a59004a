"""The target `bookmarks:SHELF`."""
