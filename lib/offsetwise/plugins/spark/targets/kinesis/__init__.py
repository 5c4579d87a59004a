"""Positions of Kinesis in what is written for Spark queries."""
