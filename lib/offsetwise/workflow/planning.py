"""A plan drafted, and what has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from offsetwise.config import Migration
from offsetwise.errors import CheckpointError, PlanError, StorageError
from offsetwise.model import Checkpoint, Cluster, Plan, Start, TopicPartition
from offsetwise.plan.draft import draft as draft_plan
from offsetwise.plan.drift import Drift
from offsetwise.plan.drift import drift as drift_of
from offsetwise.plan.request import DraftRequest, StartChoice
from offsetwise.progress import Progress, unheard
from offsetwise.sources import kafka
from offsetwise.sources.checkpoint import read_checkpoint
from offsetwise.sources.record_times import timestamps_at
from offsetwise.workflow.comparing import digests, observe
from offsetwise.workflow.stored import Observed


def draft(
    migration: Migration,
    request: DraftRequest,
    *,
    drafted_at: str,
    checkpoint: str | None = None,
    group: str | None = None,
    observed: Observed | None = None,
    progress: Progress = unheard,
) -> Plan:
    """Draft a plan from a checkpoint's or a group's positions.

    Args:
        migration: The migration.
        request: What to write, and what people decided.
        drafted_at: ISO 8601, UTC.
        checkpoint: The name of one of its checkpoints; or
        group: the name of a consumer group on the old cluster.
        observed: Draft from this reading instead of a new one; nothing is contacted then.
        progress: Told each step.

    Raises:
        PlanError: The plan may not be made; every reason is named.
        CheckpointError: The checkpoint cannot be used.
        ClusterError: A cluster cannot be read.
        SparkError: Spark cannot read the records.
    """
    if observed is None:
        observed = observe(
            migration,
            checkpoint=checkpoint,
            group=group,
            progress=progress,
            rewind_to=request.rewind_to,
            groups=(
                *(target.group for target in request.targets if target.group is not None),
                *(choice.group for choice in request.starts if choice.group is not None),
            ),
        )
        request = replace(
            request,
            starts=tuple(_looked_up(migration, observed, choice) for choice in request.starts),
            newest=_newest(migration, observed),
        )
    return draft_plan(
        observed.comparison,
        observed.old,
        observed.new,
        migration,
        replace(request, checkpoint=checkpoint),
        drafted_at=drafted_at,
    )


def drift(plan: Plan, migration: Migration, *, progress: Progress = unheard) -> tuple[Drift, ...]:
    """Read again what a plan requires, and say what is not as it was reviewed. No record is read.

    Raises:
        PlanError: The plan is one of another migration.
        ClusterError: A cluster cannot be read.
    """
    if plan.migration != migration.name:
        raise PlanError(
            f"The plan: expected one of migration {migration.name!r}, found one of {plan.migration!r}. "
            "Nothing was read.",
            fix="Give the migration file that the plan was drafted with.",
        )
    wanted = plan.requirements
    taken = {}
    for side, required, groups in (
        (Cluster.OLD, wanted.old, () if wanted.old_group is None else (wanted.old_group.group,)),
        (Cluster.NEW, wanted.new, tuple(each.group for each in wanted.groups)),
    ):
        progress(f"read the {side} cluster", 0, 1)
        topics = tuple(topic.name for topic in required.topics)
        config = migration.cluster(side)
        taken[side] = kafka.read_cluster(side, config, topics=topics, groups=groups, mirror=False)
        progress(f"read the {side} cluster", 1, 1)
    found: Checkpoint | None = None
    files_now: Mapping[str, str] = {}
    if wanted.checkpoint is not None:
        try:
            found = read_checkpoint(wanted.checkpoint.uri, roots=migration.checkpoint_roots, batches=0)
            files_now = digests(migration, wanted.checkpoint.uri, [path for path, _ in wanted.checkpoint.files])
        except (CheckpointError, StorageError):
            found = None  # told as a drift: what cannot be read may have changed
    return drift_of(plan, taken[Cluster.OLD], taken[Cluster.NEW], found, files=files_now)


def _looked_up(migration: Migration, observed: Observed, choice: StartChoice) -> StartChoice:
    """Ask the new cluster where a topic's records of a time begin."""
    if choice.start is not Start.TIMESTAMP or choice.timestamp_ms is None:
        return choice
    keys = [
        TopicPartition(topic=row.new_topic, partition=row.partition)
        for row in observed.comparison.partitions
        if row.topic == choice.topic
    ]
    found = kafka.offsets_for_times(migration.target, dict.fromkeys(keys, choice.timestamp_ms))
    return replace(choice, looked_up=tuple((key.partition, found.get(key)) for key in keys))


def _newest(migration: Migration, observed: Observed) -> tuple[tuple[TopicPartition, int | None], ...]:
    """Read the time of the newest record of every partition on the new cluster."""
    ends = {
        TopicPartition(topic=row.new_topic, partition=row.partition): row.new.hw - 1
        for row in observed.comparison.partitions
        if row.new.hw
    }
    found = timestamps_at(migration.target, ends.items())
    return tuple((key, found[key, offset]) for key, offset in ends.items())
