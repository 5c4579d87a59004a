"""What a plan says of the sinks of a Flink job: what is marked as committed, and what the start gate holds. Pure."""
