"""Kinesis Client Library: applications that store their positions in a table of DynamoDB."""
