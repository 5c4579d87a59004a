"""A folder with the positions as a CSV."""
