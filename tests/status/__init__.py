"""How far jobs have come."""
