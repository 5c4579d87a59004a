"""Plans of several jobs: their set, and what of a request concerns each of them."""
