"""Kinesis and DynamoDB Streams: the stream, applications of the KCL and their leases, targets of every engine."""
