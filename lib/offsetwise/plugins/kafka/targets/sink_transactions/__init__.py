"""The open transactions of a job's sinks, committed or aborted as its checkpoint says."""
