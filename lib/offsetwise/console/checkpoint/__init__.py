"""The Checkpoint screen: where the job restarts, what its batches did, and what a failure would read again."""
