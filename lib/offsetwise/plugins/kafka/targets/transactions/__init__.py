"""What targets share that end transactions of a job's sinks: the requests, the journal and the verification."""
