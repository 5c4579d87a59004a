"""What a plan can write to. A new target is one folder of its system's plug-in, registered in its `registration`.

A folder has two modules. `spec` says what the target is and is pure: plans and the console go by it. `writer` prepares,
writes, takes back and verifies; `apply` and `verify` alone load it. What targets of several systems share stands here.
"""

from offsetwise.model import Target


def SparkCopy() -> Target:
    """A copy of the Spark checkpoint, edited; it stands where `output` says."""
    return Target(kind="spark-checkpoint")


def SparkInPlace() -> Target:
    """The Spark checkpoint itself, its originals kept beside."""
    return Target(kind="spark-checkpoint-in-place")


def StartingOffsets() -> Target:
    """A file that says where a job without positions of its own begins."""
    return Target(kind="starting-offsets")


def SeededCheckpoint() -> Target:
    """A fresh Spark checkpoint that holds initial offsets only."""
    return Target(kind="seeded-checkpoint")


def FlinkSavepoint() -> Target:
    """A copy of the Flink savepoint, edited; it stands where `output` says."""
    return Target(kind="flink-savepoint")


def FlinkSavepointWithoutSources() -> Target:
    """A copy of the Flink savepoint that keeps no position: its Kafka sources begin as the job says."""
    return Target(kind="flink-savepoint-without-sources")


def FlinkSavepointFromPositions() -> Target:
    """A Flink savepoint made of positions alone; it stands where `output` says."""
    return Target(kind="flink-savepoint-from-positions")


def FlinkSavepointConverted() -> Target:
    """A copy of the Flink savepoint whose legacy consumer of Kinesis has become a KinesisStreamsSource."""
    return Target(kind="flink-savepoint-converted")


def StartingPosition() -> Target:
    """A file that says where a Spark query without a checkpoint begins in a stream of Kinesis."""
    return Target(kind="starting-position")


def AtTimestamp() -> Target:
    """A file with the one time at which a job begins every shard of a stream of Kinesis."""
    return Target(kind="at-timestamp")


def PositionsFile() -> Target:
    """The positions file that was read, with the new offsets, in its shape."""
    return Target(kind="positions-file")


def Connector(name: str) -> Target:
    """The offsets of a sink connector on the new cluster, by its name in the migration file."""
    return Target(kind="connector", group=name)


def ConsumerGroup(group: str) -> Target:
    """The offsets of a consumer group on the new cluster."""
    return Target(kind="consumer-group", group=group)


def KclLeases(application: str) -> Target:
    """The lease table of an application of the KCL, which has its name."""
    return Target(kind="kcl-leases", group=application)


def SinkTransactions() -> Target:
    """The transactions that the job's sinks left open, committed or aborted as the checkpoint says."""
    return Target(kind="sink-transactions")


def HangingTransactions() -> Target:
    """Transactions of the sink's partitions that no coordinator knows, aborted; a plan of their own."""
    return Target(kind="hanging-transactions")
