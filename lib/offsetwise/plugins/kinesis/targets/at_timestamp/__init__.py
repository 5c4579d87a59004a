"""The time at which a job begins every shard, if it cannot be given their positions."""
