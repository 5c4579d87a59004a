"""What Flink's DynamicKafkaSource keeps of several clusters."""
