"""Targets on Kafka clusters."""
