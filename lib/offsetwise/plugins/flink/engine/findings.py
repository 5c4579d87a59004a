from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from offsetwise.findings import Stage, finding
from offsetwise.model import Severity


@finding(
    code="CHECKPOINT_UNALIGNED",
    severity=Severity.WARNS,
    title="The checkpoint holds records in flight",
    remedy="Take a savepoint: it is always aligned.",
    rank=240,
    stage=Stage.READER,
)
def checkpoint_unaligned() -> Iterator[str]:
    yield (
        "It is unaligned: it holds records in flight, read before its offsets. They stay in the state, and it is not "
        "edited."
    )


@finding(
    code="TRANSACTION_PENDING",
    severity=Severity.WARNS,
    title="The checkpoint holds transactions of a sink",
    remedy="Ask the sink's cluster whether they are committed: `offsetwise transactions`, or `kafka-transactions.sh "
    "describe --transactional-id NAME`.",
    rank=250,
    stage=Stage.READER,
    of_sink=True,
)
def transaction_pending(names: str, meaning: str, first: str) -> Iterator[tuple[str, str]]:
    yield (
        f"Transactions of the sink were prepared and not yet committed when this was taken: {names}. After a clean "
        "stop they are committed by now. If they are not, only the cluster the sink wrote to can commit them. "
        f"{meaning}",
        "Ask that cluster: kafka-transactions.sh --bootstrap-server HOST:PORT describe --transactional-id "
        f"{quote(first)}",
    )


@finding(
    code="CHECKPOINT_NOT_RETAINED",
    severity=Severity.WARNS,
    title="The checkpoint goes when its job is cancelled",
    remedy="Stop the job with a savepoint.",
    rank=280,
    stage=Stage.READER,
)
def checkpoint_not_retained(number: int | None) -> Iterator[tuple[str, str]]:
    yield (
        f"Flink deletes checkpoint {number} when its job is cancelled: nothing would be left to move.",
        "Stop the job with a savepoint; and set execution.checkpointing.externalized-checkpoint-retention to "
        "RETAIN_ON_CANCELLATION.",
    )


@finding(
    code="CHECKPOINT_INTERVAL",
    severity=Severity.INFORMS,
    title="The checkpoint interval bounds the replay",
    remedy="Nothing, if the job may read so much again; keep `execution.checkpointing.interval` at 10 s or more, and "
    "set `execution.checkpointing.min-pause`.",
    rank=80,
    stage=Stage.READER,
)
def checkpoint_interval(span: str, most: str) -> Iterator[tuple[str, str]]:
    yield (
        f"By the times of their files the retained checkpoints were taken {span}: after a failure the job "
        f"reads again what came since the last one, here up to {most}.",
        "Keep execution.checkpointing.interval at 10 s or more, and set execution.checkpointing.min-pause, so that the "
        "job works between two of them.",
    )
