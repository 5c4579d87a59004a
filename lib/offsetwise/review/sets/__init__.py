"""Plans of several jobs under review as one: submitted, decided about, withdrawn and exported together."""
