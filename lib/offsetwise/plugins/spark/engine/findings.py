from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from offsetwise.findings.reading import REPAIR_OPTIONS, named
from offsetwise.findings.register import Stage, finding
from offsetwise.model import Severity


@finding(
    code="BATCH_MISSING",
    severity=Severity.BLOCKS,
    title="The batch before the last one is lost, and Spark does not start",
    remedy="Draft a repaired copy without the last batch (--set repair=drop-batch-after-gap), or begin a new "
    "checkpoint.",
    rank=112,
    stage=Stage.READER,
    continuing=True,
)
def batch_missing(
    first: int, last: int, *, oldest: int, restartable: bool, committed: bool
) -> Iterator[tuple[str, str]]:
    """Batch ids right before the newest planned one have no file, and no other retained id is missing.

    Args:
        first: The first missing batch.
        last: The last missing batch; the batch after it is planned.
        oldest: The oldest retained id, after which no other is missing.
        restartable: Whether Spark starts after the batch before `first`, once the last batch is left out.
        committed: Whether the last batch is committed.
    """
    known = last + 1 if committed else first - 1
    seed = f"Begin a new checkpoint at the positions after batch {known}: draft with --target seeded-checkpoint."
    repair = (
        f"Draft a repaired copy that leaves batch {last + 1} out and goes on after batch {first - 1}: offsetwise draft "
        f"--set repair=drop-batch-after-gap {REPAIR_OPTIONS}."
    )
    ids = f"batch {first}" if first == last else f"batches {first} to {last}"
    yield (
        f"Batch {last + 1} is planned, and {ids} before it {'is' if first == last else 'are'} in neither offsets/ nor "
        f"commits/, though no other id from {oldest} on is missing: files were lost. Spark reads offsets/{last} on "
        f'restart and fails: "batch {last} doesn\'t exist".',
        f"{repair} Only a query with asynchronous progress tracking starts as it is."
        if restartable
        else f"{seed} Without batch {last + 1} Spark would read offsets/{first - 2}, which is lost too.",
    )


@finding(
    code="TOPIC_DROPPED",
    severity=Severity.BLOCKS,
    title="The pending batch lacks partitions that the job has read",
    remedy="Let the query subscribe to the topic again and draft a repaired copy (--set repair=restore-topic), or run "
    "it once without the topic.",
    rank=114,
    stage=Stage.READER,
    continuing=True,
)
def topic_dropped(batch: int, dropped: Sequence[str], topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A planned, uncommitted batch has no end for partitions that the batch before it has.

    Args:
        batch: The pending batch.
        dropped: Each partition with its end offset in the batch before, as text.
        topics: Their topics.
    """
    yield (
        f"Batch {batch} is planned and not committed, and lacks {named(dropped)}: the topic had left the subscription, "
        "or lost partitions. With failOnDataLoss=true Spark refuses to run the batch. With false it runs the batch "
        "without them, their records from there on are not read, and a topic that is subscribed to again begins at "
        "earliest; Trigger.AvailableNow fails either "
        "way.",
        f"To go on reading {_listed(topics)}, subscribe to {_them(topics)} again and put {_them(topics)} back into the "
        f"batch in a repaired copy: offsetwise draft --set repair=restore-topic --set topic={_setting(topics)} "
        f"{REPAIR_OPTIONS}. To give {_them(topics)} up, start the query on the old cluster with failOnDataLoss=false "
        "and a trigger other than AvailableNow, and stop it after the batch.",
    )


@finding(
    code="TOPIC_LEFT",
    severity=Severity.INFORMS,
    title="The last committed batch lacks partitions that an earlier one has",
    remedy="Nothing, if the job gave the topic up. Else draft a repaired copy with it: --set repair=restore-topic.",
    rank=35,
    stage=Stage.READER,
)
def topic_left(batch: int, earlier: int, dropped: Sequence[str], topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield (
        f"Batch {batch} is committed and lacks {named(dropped)}, where batch {earlier} ended: the query does not read "
        "it any more, and begins it at earliest if it subscribes to it again.",
        f"Nothing, if the job gave {_listed(topics)} up. To go on reading {_them(topics)} from there, subscribe to "
        f"{_them(topics)} again and draft a repaired copy: offsetwise draft --set repair=restore-topic --set "
        f"topic={_setting(topics)} {REPAIR_OPTIONS}.",
    )


def _listed(topics: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(topics))


def _them(topics: Sequence[str]) -> str:
    return "it" if len(set(topics)) == 1 else "them"


def _setting(topics: Sequence[str]) -> str:
    """Return the value of `--set topic=`: all topics, as Spark needs them in one copy."""
    return quote(",".join(dict.fromkeys(topics)))
