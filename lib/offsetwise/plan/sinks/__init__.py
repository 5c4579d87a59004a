"""What a plan says of the sinks of a Flink job: what is settled, what is marked as committed, what its gate holds."""
