"""The rows that stateful queries of Spark keep."""
