"""One folder for each system: what keeps its positions, what reads it, what writes to it. `builtin` registers them."""
