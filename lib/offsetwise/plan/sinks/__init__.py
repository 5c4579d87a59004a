"""The sinks of a Flink job in a plan: which transactions are ended, which are marked as committed, and the gate."""
