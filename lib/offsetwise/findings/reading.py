"""What the readers of a checkpoint or a cluster find wrong, put into `problems`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote

from offsetwise.findings.register import Stage, finding, severity_of
from offsetwise.model import Problem, Severity

AGAIN = "Take the snapshot again."
REPAIR_OPTIONS = "--checkpoint URI --author NAME --out plan.json"
"""What a command that drafts a repair needs besides its settings."""
NAMED = 12
"""How many topics or partitions a sentence names."""


def blocking_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that block a plan: why a checkpoint has no usable position, when it has none."""
    return [problem for problem in problems if severity_of(problem.code) is Severity.BLOCKS]


def remedies(problems: Iterable[Problem]) -> list[str]:
    """Return what to do about problems, each remedy once."""
    return [*dict.fromkeys(problem.fix for problem in problems if problem.fix)]


@finding(
    code="CHECKPOINT_DAMAGED",
    severity=Severity.BLOCKS,
    title="The checkpoint cannot be relied on",
    remedy="Restore the folder from a backup, or compare an older copy of it.",
    rank=110,
    stage=Stage.READER,
)
def checkpoint_damaged(message: str, fix: str = "") -> Iterator[tuple[str, str]]:
    """A file is missing, cannot be read, or contradicts another one."""
    yield message, fix


@finding(
    code="TOPIC_UNREADABLE",
    severity=Severity.WARNS,
    title="A topic was not described",
    remedy="Grant DESCRIBE on the topic, or take the snapshot again.",
    rank=190,
    stage=Stage.READER,
)
def topic_unreadable(name: str, cluster: str, why: str, *, denied: bool) -> Iterator[tuple[str, str]]:
    """The cluster did not describe a topic that it has."""
    fix = "Grant DESCRIBE on it." if denied else AGAIN
    yield f"Topic {name!r} on cluster {cluster!r} was not described: {why}.", fix


@finding(
    code="PARTITION_UNREADABLE",
    severity=Severity.WARNS,
    title="Partitions were not read",
    remedy="Check the brokers that lead them, then take the snapshot again.",
    rank=200,
    stage=Stage.READER,
)
def partition_unreadable(cluster: str, names: Sequence[str], why: str) -> Iterator[str]:
    """Where the logs of some partitions begin and end was not answered."""
    yield f"{len(names)} partitions of cluster {cluster!r} were not read, because {why}: {_some(names)}."


@finding(
    code="CONFIG_UNREADABLE",
    severity=Severity.WARNS,
    title="Topic configurations were not read",
    remedy="Grant DESCRIBE_CONFIGS on the topics, or take the snapshot again.",
    rank=210,
    stage=Stage.READER,
)
def config_unreadable(cluster: str, names: Sequence[str], why: str, *, denied: bool) -> Iterator[tuple[str, str]]:
    """The cluster did not give the configuration of some topics."""
    fix = "Grant DESCRIBE_CONFIGS on them." if denied else AGAIN
    yield (
        f"The configuration of {len(names)} topics of cluster {cluster!r} was not read, because {why}: {_some(names)}.",
        fix,
    )


@finding(
    code="GROUP_UNREADABLE",
    severity=Severity.WARNS,
    title="A consumer group was not read",
    remedy="Grant DESCRIBE on the group and its topics, or take the snapshot again.",
    rank=220,
    stage=Stage.READER,
)
def group_unreadable(name: str, cluster: str, why: str, *, denied: bool) -> Iterator[tuple[str, str]]:
    """What a group has committed was not answered."""
    fix = "Grant DESCRIBE on the group and its topics." if denied else AGAIN
    yield f"The offsets of group {name!r} on cluster {cluster!r} were not read, because {why}.", fix


@finding(
    code="MIRROR_UNREADABLE",
    severity=Severity.WARNS,
    title="One of MirrorMaker's topics was not read whole",
    remedy="Grant READ on the topic, or take the snapshot again.",
    rank=230,
    stage=Stage.READER,
)
def mirror_unreadable(name: str, cluster: str, why: str, *, denied: bool) -> Iterator[tuple[str, str]]:
    """Syncs, checkpoints or heartbeats of MirrorMaker are missing from what was read."""
    fix = "Grant READ on it." if denied else AGAIN
    yield f"MirrorMaker's topic {name!r} on cluster {cluster!r} was not read whole: {why}.", fix


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


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
    """Batch ids right before the newest planned one have no file, and no other id is missing among those kept.

    Args:
        first: The first of them.
        last: The last of them; the batch after it is planned.
        oldest: The oldest id kept, from which on no other is missing.
        restartable: Whether Spark starts after the batch before `first`, once the last one is left out.
        committed: Whether the last one is committed.
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
    """A planned, uncommitted batch has no end for partitions that the batch before it ended at.

    Args:
        batch: The pending one.
        dropped: Each partition with the offset at which the batch before ended, as text.
        topics: Their topics.
    """
    yield (
        f"Batch {batch} is planned and not committed, and lacks {_some(dropped)}: the topic had left the subscription, "
        "or lost partitions. With failOnDataLoss=true Spark refuses to run the batch. With false it runs the batch "
        "without them, their records from there on are not read, and a topic that is subscribed to again begins at "
        "earliest; Trigger.AvailableNow fails either "
        "way.",
        f"To go on reading {topics[0]}, subscribe to it again and put it back into the batch in a repaired copy: "
        f"offsetwise draft --set repair=restore-topic --set topic={quote(topics[0])} {REPAIR_OPTIONS}. To give it up, "
        "start the query on the old cluster with failOnDataLoss=false and a trigger other than AvailableNow, and stop "
        "it after the batch.",
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
    """A committed batch has no end for partitions that a batch before it ended at."""
    yield (
        f"Batch {batch} is committed and lacks {_some(dropped)}, where batch {earlier} ended: the query does not read "
        "it any more, and begins it at earliest if it subscribes to it again.",
        f"Nothing, if the job gave {topics[0]} up. To go on reading it from there, subscribe to it again and draft a "
        f"repaired copy: offsetwise draft --set repair=restore-topic --set topic={quote(topics[0])} {REPAIR_OPTIONS}.",
    )


@finding(
    code="GAP",
    severity=Severity.INFORMS,
    title="Batch ids are missing in the checkpoint",
    remedy="Nothing, if the job uses asynchronous progress tracking; else keep the option as it was when it "
    "wrote them.",
    rank=30,
    stage=Stage.READER,
)
def gap(first: int, last: int, *, newest: bool) -> Iterator[tuple[str, str]]:
    """Batch ids from `first` to `last` have a file neither in offsets/ nor in commits/."""
    effect = (
        "The job restarts only with asynchronous progress tracking switched on."
        if newest
        else "That is normal with asynchronous progress tracking; without it, files were lost."
    )
    ids = f"Batch {first} is" if first == last else f"Batches {first} to {last} are"
    yield (
        f"{ids} in neither offsets/ nor commits/. {effect}",
        "Check that the job runs with asyncProgressTrackingEnabled=true; if not, restore the folder.",
    )
