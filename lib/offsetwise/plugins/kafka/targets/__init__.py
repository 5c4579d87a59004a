"""What is written to clusters of Kafka."""
