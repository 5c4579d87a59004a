"""Amazon Kinesis Data Streams, and DynamoDB Streams, which have shards too."""
