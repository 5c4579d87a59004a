"""Sink connectors of Kafka Connect, whose offsets its workers tell over REST."""
