"""Why a transaction is decided as it is, where the sentence is long."""

from __future__ import annotations

from typing import Final

from offsetwise.transactions.observed import Described, Missing
from offsetwise.wording import utc

UNSEARCHED: Final = (
    " But its subtask has begun another one since, as when a newer checkpoint is taken, and none could be looked for: "
    "where the job keeps its checkpoints is not known. An abort loses what a newer one holds. Name the job's folder "
    "in checkpoint_roots; else whoever approves the abort has to state that there is none."
)
IN_USE_AGAIN: Final = (
    "Its name is in use again, with epoch {now}: a name goes back to the pool after a commit and after an abort. The "
    "coordinator does not keep how the one with epoch {then} ended; the control records in the topic's log tell. Start "
    "from a newer checkpoint, which does not hold it."
)
MISSING: Final = {
    Missing.ABSENT: "The cluster has no such transactional id: it has expired (7 days after its last use), or the "
    "checkpoint's sink writes to another cluster.",
    Missing.UNAVAILABLE: "Its coordinator did not answer in time, so nothing is known of it. Ask again.",
    Missing.NOT_ASKED: "No transaction was ever made on this cluster: it has no topic __transaction_state. The "
    "checkpoint's sink writes to another cluster.",
    Missing.UNSUPPORTED: "The brokers are older than Kafka 3.0 and do not say what state a transaction is in.",
}


def begun_since(answer: Described) -> str:
    """Say that what is open began after the checkpoint was written."""
    return (
        f"The broker has it open with the same producer and epoch, but since {utc(answer.start_ms or 0)}, after the "
        "checkpoint was written: it is another transaction, as on a cluster with equal ids, or the file is dated "
        "earlier than it was written. Check `sink_cluster`, or give the file as it was written."
    )
