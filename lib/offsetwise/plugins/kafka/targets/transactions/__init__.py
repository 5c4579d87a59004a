"""What targets that end transactions of a job's sinks share: the requests, the journal and the verification."""
