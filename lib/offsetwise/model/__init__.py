"""The values every stage hands to the next: frozen, typed, and free of any library.

This package needs the standard library only, because it is shipped to Spark's workers.
Files carry these values as JSON (`files.py`); there an `Offset` or a `Count` is a decimal
string, since JSON numbers lose integers above 2^53.

Everything called an offset is a position: the **next record to read**.
"""

from offsetwise.model.checkpoints import (
    Batch,
    BatchSource,
    Checkpoint,
    CheckpointSource,
    SourcePosition,
    StateStore,
    TopicOffsets,
)
from offsetwise.model.closed_sets import (
    Cluster,
    Exactness,
    IsolationLevel,
    Link,
    Method,
    RawVerdict,
    Severity,
    Side,
    Writers,
)
from offsetwise.model.clusters import (
    GroupOffset,
    GroupState,
    Heartbeat,
    MirrorCheckpoint,
    MirrorState,
    MirrorTopic,
    OffsetSync,
    PartitionState,
    Snapshot,
    TopicState,
)
from offsetwise.model.comparison import (
    Ahead,
    BelongsTo,
    Candidate,
    ClusterRef,
    Comparison,
    Evidence,
    LogRange,
    Neighbour,
    PartitionComparison,
    RawReuse,
    RestartPoint,
    Summary,
)
from offsetwise.model.findings import (
    Finding,
    Problem,
)
from offsetwise.model.lag import (
    GroupPosition,
    LagPart,
    LagPartition,
    LagSample,
    MissingPart,
    SampledCluster,
)
from offsetwise.model.offsets import (
    Count,
    DecimalString,
    Offset,
    TopicPartition,
)
from offsetwise.model.reconciliation import (
    PartitionReconciliation,
    RangeDifference,
    Reconciliation,
)

__all__ = [
    "Ahead",
    "Batch",
    "BatchSource",
    "BelongsTo",
    "Candidate",
    "Checkpoint",
    "CheckpointSource",
    "Cluster",
    "ClusterRef",
    "Comparison",
    "Count",
    "DecimalString",
    "Evidence",
    "Exactness",
    "Finding",
    "GroupOffset",
    "GroupPosition",
    "GroupState",
    "Heartbeat",
    "IsolationLevel",
    "LagPart",
    "LagPartition",
    "LagSample",
    "Link",
    "LogRange",
    "Method",
    "MirrorCheckpoint",
    "MirrorState",
    "MirrorTopic",
    "MissingPart",
    "Neighbour",
    "Offset",
    "OffsetSync",
    "PartitionComparison",
    "PartitionReconciliation",
    "PartitionState",
    "Problem",
    "RangeDifference",
    "RawReuse",
    "RawVerdict",
    "Reconciliation",
    "RestartPoint",
    "SampledCluster",
    "Severity",
    "Side",
    "Snapshot",
    "SourcePosition",
    "StateStore",
    "Summary",
    "TopicOffsets",
    "TopicPartition",
    "TopicState",
    "Writers",
]
