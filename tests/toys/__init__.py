"""Small things of every registered kind, which `lib/` knows nothing of."""
