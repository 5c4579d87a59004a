"""The state of Flink's DynamicKafkaSource, which reads several clusters."""
