from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offsetwise.model import OpenPartition
from offsetwise.transactions.observed import Described, LogSearch, Missing
from offsetwise.wording import many, utc

UNSEARCHED: Final = (
    " But its subtask has begun another one since, as when a newer checkpoint is taken, and none could be looked for: "
    "where the job keeps its checkpoints is not known. An abort loses what a newer one holds. Name the job's folder "
    "in checkpoint_roots; else whoever approves the abort has to state that there is none."
)
IN_USE_AGAIN: Final = (
    "Its name is in use again, with epoch {now}: a name goes back to the pool after a commit and after an abort. The "
    "coordinator does not keep how the one with epoch {then} ended; the control records in the topic's log tell."
)
ABORTED: Final = (
    "so that its records are lost although the checkpoint counts them as written. Start from an earlier checkpoint, or "
    "write them again."
)
FALSE_ALARM: Final = (
    " The epoch is {epoch} since, so that a restore on this cluster logs that it is already fenced and speaks of data "
    "loss: that is a false alarm."
)
_SHOWN: Final = 4
MISSING: Final = {
    Missing.ABSENT: "The cluster has no such transactional id: it has expired (7 days after its last use), or the "
    "checkpoint's sink writes to another cluster.",
    Missing.UNAVAILABLE: "Its coordinator did not answer in time, so nothing is known of it. Ask again.",
    Missing.NOT_ASKED: "No transaction was ever made on this cluster: it has no topic __transaction_state. The "
    "checkpoint's sink writes to another cluster.",
    Missing.UNSUPPORTED: "The brokers are older than Kafka 3.0 and do not say what state a transaction is in.",
}


def begun_since(answer: Described) -> str:
    return (
        f"The broker has it open with the same producer and epoch, but since {utc(answer.start_ms or 0)}, after the "
        "checkpoint was written: it is another transaction, as on a cluster with equal ids, or the file is dated "
        "earlier than it was written. Check `sink_cluster`, or give the file as it was written."
    )


def written_since(at_ms: int) -> str:
    """Return the reason that records with a held producer and epoch were written after the checkpoint."""
    return (
        f"The log has records of its producer and epoch that are dated {utc(at_ms)}, after the checkpoint was written: "
        "they are another transaction's, as on a cluster with equal ids, or the file is dated earlier than it was "
        "written. Check `sink_cluster`, or give the file as it was written."
    )


def records_told(partitions: Sequence[OpenPartition], *, whole: bool) -> str:
    """Return a sentence on the records of a transaction in the logs; "at least" unless `whole`."""
    count = sum(at.records or 0 for at in partitions)
    names = list(dict.fromkeys(str(at.topic_partition) for at in partitions))
    more = f" and {many(len(names) - _SHOWN, 'more partition')}" if len(names) > _SHOWN else ""
    message = f"{many(count, 'record')} of it {'is' if count == 1 else 'are'} in {', '.join(names[:_SHOWN])}{more}."
    return message if whole else f"At least {message}"


def not_in_logs(search: LogSearch | None) -> str:
    if search is None:
        return "name the topics of the sink with --topic, so that their logs are searched for it."
    topics = ", ".join(search.topics)
    if search.unread:
        more = f", and {len(search.unread) - 1:,} more" if len(search.unread) > 1 else ""
        return (
            f"the logs of {topics} were searched and not read whole ({search.unread[0]}{more}). Start from a newer "
            "checkpoint, which does not hold it."
        )
    return (
        f"the logs of {topics} have no end of it any more. If the sink writes to other topics, name them with --topic; "
        "else start from a newer checkpoint, which does not hold it."
    )
