"""Problems that readers of checkpoints and clusters report in `problems`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from offsetwise.findings.register import Stage, finding, severity_of
from offsetwise.model import Problem, Severity
from offsetwise.wording import first_of

AGAIN = "Take the snapshot again."
REPAIR_OPTIONS = "--checkpoint URI --author NAME --out plan.json"
"""Arguments of a command that drafts a repair, besides its settings."""
NAMED = 12
"""How many topics or partitions a sentence lists."""


def blocking_problems(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if severity_of(problem.code) is Severity.BLOCKS]


def remedies(problems: Iterable[Problem]) -> list[str]:
    return [*dict.fromkeys(problem.fix for problem in problems if problem.fix)]


def named(names: Sequence[str]) -> str:
    return first_of(names, NAMED)


@finding(
    code="CHECKPOINT_DAMAGED",
    severity=Severity.BLOCKS,
    title="The checkpoint cannot be relied on",
    remedy="Restore the folder from a backup, or compare an older copy of it.",
    rank=110,
    stage=Stage.READER,
    heading="Damaged",
)
def checkpoint_damaged(message: str, fix: str = "") -> Iterator[tuple[str, str]]:
    """A file is missing, unreadable, or contradicts another one."""
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
    """The offsets of the start and end of some partitions were not returned."""
    yield f"{len(names):,} partitions of cluster {cluster!r} were not read, because {why}: {named(names)}."


@finding(
    code="CONFIG_UNREADABLE",
    severity=Severity.WARNS,
    title="Topic configurations were not read",
    remedy="Grant DESCRIBE_CONFIGS on the topics, or take the snapshot again.",
    rank=210,
    stage=Stage.READER,
)
def config_unreadable(cluster: str, names: Sequence[str], why: str, *, denied: bool) -> Iterator[tuple[str, str]]:
    fix = "Grant DESCRIBE_CONFIGS on them." if denied else AGAIN
    yield (
        f"The configuration of {len(names):,} topics of cluster {cluster!r} was not read, because {why}: "
        f"{named(names)}.",
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


@finding(
    code="GAP",
    severity=Severity.INFORMS,
    title="Batch ids are missing in the checkpoint",
    remedy="Nothing, if the job uses asynchronous progress tracking; else keep the option as it was when it "
    "wrote them.",
    rank=30,
    stage=Stage.READER,
    heading="Gap: batches without files",
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
