"""Kinesis Client Library: applications that keep their positions in a table of DynamoDB."""
