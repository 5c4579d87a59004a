"""Plans of several jobs that are reviewed as one: submitted, decided, withdrawn and exported together."""
