"""Positions files: the shapes in which other systems write positions down."""
