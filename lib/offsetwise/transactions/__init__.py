"""The transactions of a job's exactly-once Kafka sink: those of a checkpoint, compared with the cluster. Pure."""
