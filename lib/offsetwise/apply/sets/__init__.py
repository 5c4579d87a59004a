"""Sets of plans: one after the other, and what came of each."""
