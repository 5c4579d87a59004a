from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings.reading import REPAIR_OPTIONS
from offsetwise.findings.register import Stage, finding
from offsetwise.model import Severity


@finding(
    code="REPARTITION_UNFINISHED",
    severity=Severity.BLOCKS,
    title="A repartition of the state was not finished, and Spark does not start",
    remedy="Finish the repartition, or draft a repaired copy without its batch (--set repair=drop-pending-batch).",
    rank=113,
    stage=Stage.READER,
    continuing=True,
)
def repartition_unfinished(batch: int, before: str, after: str) -> Iterator[tuple[str, str]]:
    """A planned, uncommitted batch has another number of shuffle partitions than the one before it.

    Args:
        batch: The planned batch.
        before: `spark.sql.shuffle.partitions` of the batch before it.
        after: `spark.sql.shuffle.partitions` of the planned batch.
    """
    yield (
        f"Batch {batch} is planned and not committed, with {after} shuffle partitions after {before}: a repartition of "
        "the state that was not finished. Spark 4.2 refuses to start (STREAMING_UNFINISHED_REPARTITION_DETECTED), an "
        "older Spark would look for state that is not there. The batch reads no records.",
        f"Run the repartition again with {after} partitions and let it finish, with the Spark that began it; or draft "
        f"a repaired copy that goes on after batch {batch - 1} with {before} partitions: offsetwise draft --set "
        f"repair=drop-pending-batch {REPAIR_OPTIONS}.",
    )


@finding(
    code="OFFSET_LOG_V2",
    severity=Severity.INFORMS,
    title="Spark before 4.2 cannot read the offset log",
    remedy="Start the query, and every copy of this checkpoint, with Spark 4.2 or later.",
    rank=37,
    stage=Stage.READER,
)
def offset_log_v2(batch: int) -> Iterator[str]:
    yield (
        f"offsets/{batch} has version 2, which Spark writes since 4.2: an older one fails on restart "
        "(INVALID_LOG_VERSION). The log keeps its version, also in a copy, whatever "
        "spark.sql.streaming.offsetLog.formatVersion says."
    )


@finding(
    code="SOURCES_NAMED_IN_V1",
    severity=Severity.WARNS,
    title="Spark 4.3 refuses named sources on this offset log",
    remedy="Stay with Spark 4.2, or begin a new checkpoint at the positions (--target seeded-checkpoint).",
    rank=106,
    stage=Stage.READER,
)
def sources_named_in_v1(batch: int) -> Iterator[str]:
    yield (
        f"offsets/{batch} has version 1, which holds no names, and records named sources "
        "(spark.sql.streaming.queryEvolution.enableSourceEvolution=true): Spark 4.2 goes on with it, Spark 4.3 refuses "
        "to start (CANNOT_ENABLE_ON_EXISTING_CHECKPOINT), and no Spark upgrades the log."
    )


@finding(
    code="COMMITS_LOST",
    severity=Severity.WARNS,
    title="Commits are lost before a planned batch, and Spark takes their batches as done",
    remedy="Restore the commits from a backup, or let Spark go on: it only warns.",
    rank=107,
    stage=Stage.READER,
)
def commits_lost(first: int, last: int) -> Iterator[str]:
    """Batches are planned and not committed, and another one is planned after them.

    Args:
        first: The first uncommitted batch.
        last: The last uncommitted batch; the batch after it is the newest planned one.
    """
    ids = f"Batch {first} is" if first == last else f"Batches {first} to {last} are"
    yield (
        f"{ids} planned and not committed, yet batch {last + 1} is planned after: commits are lost. Spark plans a "
        f"batch only once the one before is done; it warns, and batch {last + 1} starts at the end of batch {last}."
    )


@finding(
    code="CHECKPOINT_SUPERSEDED",
    severity=Severity.BLOCKS,
    title="The pipeline goes on from another version of this checkpoint",
    remedy="Give the folder with the highest number. If it has no offsets/ yet, the flow begins anew: state its start "
    "with startingOffsets in the flow's source.",
    rank=117,
    stage=Stage.READER,
)
def checkpoint_superseded(version: int, newest: str) -> Iterator[str]:
    """A flow of a declarative pipeline has a folder with a higher number, from a full refresh.

    Args:
        version: The number of this folder.
        newest: The path of the folder with the highest number.
    """
    yield (
        f"Version {version} of a flow's checkpoint: a declarative pipeline goes on from the folder with the highest "
        f"number alone, {newest}, and never reads this one again."
    )
