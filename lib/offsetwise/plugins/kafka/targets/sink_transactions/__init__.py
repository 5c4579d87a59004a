"""The transactions that a job's sinks left open, committed or aborted as its checkpoint says."""
