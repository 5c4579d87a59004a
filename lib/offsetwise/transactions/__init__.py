"""The transactions of a job's exactly-once Kafka sink: what a checkpoint holds, beside what the cluster says. Pure."""
