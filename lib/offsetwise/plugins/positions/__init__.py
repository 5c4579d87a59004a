"""Positions files: the formats in which other systems write positions."""
