"""Watching the lag: samples taken again and again, kept in the store, told to people and to Prometheus."""
