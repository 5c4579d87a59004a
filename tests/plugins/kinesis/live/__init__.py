"""Kinesis and its engines as they are: servers on loopback, the KCL, Spark's qubole connector, Flink's old consumer."""
