"""The closed sets: all values that files, findings and screens may use for a property."""

from __future__ import annotations

from enum import StrEnum


class ApplicationEvidence(StrEnum):
    """What shows that a group is an application of Kafka Streams."""

    TYPE = "group-type"
    """The broker lists it as a streams group (KIP-1071)."""
    ASSIGNOR = "assignor"
    """Its members use the assignor `stream`."""
    CLIENT_IDS = "client-ids"
    """Its members have client ids of Kafka Streams threads."""
    METADATA = "commit-metadata"
    """Its commits have the metadata of Kafka Streams."""
    REPARTITION = "repartition-offsets"
    """It has committed offsets of a topic with its name and the suffix `-repartition`."""


class Cluster(StrEnum):
    """Which of the two clusters: `old` is the source, `new` the target of the migration."""

    OLD = "old"
    NEW = "new"


class IsolationLevel(StrEnum):
    """What the job reads, in Kafka's words."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class Link(StrEnum):
    """How the records came to the new cluster."""

    MIRRORMAKER = "mirrormaker"
    PRESERVING = "preserving"
    OTHER = "other"


class NamingStrategy(StrEnum):
    """How a Flink KafkaSink names its transactions, in Flink's words (`TransactionNamingStrategy`)."""

    INCREMENTING = "INCREMENTING"
    """A name is used once: it ends with the id of a checkpoint."""
    POOLING = "POOLING"
    """Names are reused."""


class OffsetReset(StrEnum):
    """Where a consumer begins without a commit, in the words of the Java client's `auto.offset.reset`."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"
    """None: the client fails."""


class Writers(StrEnum):
    """Who writes to the new topics."""

    MIRROR_ONLY = "mirror-only"
    MIXED = "mixed"
    UNKNOWN = "unknown"


class Exactness(StrEnum):
    """How well a translated offset is known. See the design, "Exactness, per partition"."""

    EXACT = "EXACT"
    POSITION_EXACT = "POSITION_EXACT"
    PRESERVED = "PRESERVED"
    BOUNDED = "BOUNDED"
    CLAIMED = "CLAIMED"
    UNKNOWN = "UNKNOWN"

    @property
    def proven(self) -> bool:
        """Whether records proved the position itself."""
        return self in (Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.PRESERVED)


class Method(StrEnum):
    """What a translated offset was derived from."""

    CONTENT = "content"
    PRESERVED = "preserved"
    MIRROR_CHECKPOINT = "mirror-checkpoint"
    MIRROR_SYNC = "mirror-sync"
    HEADER = "header"
    TIMESTAMP = "timestamp"
    EARLIEST = "earliest"
    NONE = "none"


class RawVerdict(StrEnum):
    """What would happen if the old number were used on the new cluster."""

    SAME = "SAME"
    LOSS = "LOSS"
    REPLAY = "REPLAY"
    CONFUSION = "CONFUSION"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    UNKNOWN = "UNKNOWN"


class Severity(StrEnum):
    """What a finding means for the migration."""

    BLOCKS = "blocks"
    WARNS = "warns"
    INFORMS = "informs"


class Side(StrEnum):
    """What a record is for the job."""

    READ = "read"
    UNREAD = "unread"
    FOREIGN = "foreign"
