"""The time at which a job begins every shard, where it cannot be given their places."""
