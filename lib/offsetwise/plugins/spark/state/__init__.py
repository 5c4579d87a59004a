"""The rows in the state stores of Spark's stateful queries."""
