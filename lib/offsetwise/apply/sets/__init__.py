"""Sets of plans: run one after the other, with the outcome of each."""
