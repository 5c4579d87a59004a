"""Watch the lag: take samples repeatedly, store them, and publish them to people and Prometheus."""
