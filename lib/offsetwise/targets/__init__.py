"""The targets of a plan. A new target is one folder of its system's plug-in, registered in its `registration`.

A folder has two modules. `spec` describes the target and is pure: plans and the console use it. `writer` prepares,
writes, undoes and verifies; only `apply` and `verify` load it. Code that targets of several systems share is here.
"""

from offsetwise.model import Target


def SparkCopy() -> Target:
    """An edited copy of the Spark checkpoint at `output`."""
    return Target(kind="spark-checkpoint")


def SparkInPlace() -> Target:
    """The Spark checkpoint itself, with its originals kept next to it."""
    return Target(kind="spark-checkpoint-in-place")


def StartingOffsets() -> Target:
    """A file with the starting offsets of a job without positions of its own."""
    return Target(kind="starting-offsets")


def SeededCheckpoint() -> Target:
    """A fresh Spark checkpoint that holds initial offsets only."""
    return Target(kind="seeded-checkpoint")


def FlinkSavepoint() -> Target:
    """An edited copy of the Flink savepoint at `output`."""
    return Target(kind="flink-savepoint")


def FlinkSavepointWithoutSources() -> Target:
    """A copy of the Flink savepoint without positions: its Kafka sources begin as the job says."""
    return Target(kind="flink-savepoint-without-sources")


def FlinkSavepointFromPositions() -> Target:
    """A Flink savepoint created from positions alone, at `output`."""
    return Target(kind="flink-savepoint-from-positions")


def FlinkSavepointConverted() -> Target:
    """A copy of the Flink savepoint whose legacy Kinesis consumer has become a KinesisStreamsSource."""
    return Target(kind="flink-savepoint-converted")


def StartingPosition() -> Target:
    """A file with the starting position of a Spark query without a checkpoint in a Kinesis stream."""
    return Target(kind="starting-position")


def AtTimestamp() -> Target:
    """A file with the one time at which a job begins every shard of a Kinesis stream."""
    return Target(kind="at-timestamp")


def PositionsFile() -> Target:
    """The positions file that was read, with the new offsets, in the same shape."""
    return Target(kind="positions-file")


def Connector(name: str) -> Target:
    """The offsets of a sink connector on the new cluster, by its name in the migration file."""
    return Target(kind="connector", group=name)


def ConsumerGroup(group: str) -> Target:
    """The offsets of a consumer group on the new cluster."""
    return Target(kind="consumer-group", group=group)


def KclLeases(application: str) -> Target:
    """The lease table of a KCL application, which has its name."""
    return Target(kind="kcl-leases", group=application)


def SinkTransactions() -> Target:
    """The transactions that the job's sinks left open, committed or aborted as the checkpoint says."""
    return Target(kind="sink-transactions")


def HangingTransactions() -> Target:
    """Transactions of the sink's partitions that no coordinator knows, aborted; in a separate plan."""
    return Target(kind="hanging-transactions")
