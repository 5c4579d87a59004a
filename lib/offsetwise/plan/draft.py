"""From a comparison to a plan, or to every reason why there may be none. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from offsetwise.config import JobTraits, Migration
from offsetwise.errors import PlanError
from offsetwise.findings.codes import Code, describe
from offsetwise.lookalikes import code_points, invisible
from offsetwise.model import (
    CheckpointRequirement,
    ClusterRef,
    ClusterRequirement,
    Comparison,
    Finding,
    GroupBefore,
    Plan,
    PlannedPosition,
    PlanTotals,
    Requirements,
    Severity,
    Snapshot,
    StatedJob,
    Target,
    TargetKind,
    TopicPartition,
    TopicRequirement,
)
from offsetwise.plan.decide import Grounds, decide, grounds_of
from offsetwise.plan.gate import skew_findings, start_gate
from offsetwise.plan.predict import predict
from offsetwise.plan.request import CHECKPOINT_KINDS, FRESH_KINDS, DraftRequest, Reason, group_of, refuse, traits_of
from offsetwise.plan.strategies import REWIND, against_target, dropped_batch, way_of

DECIDED_BY_ROW: Final = frozenset(
    {
        Code.UNTRANSLATED,
        Code.NOT_YET_MIRRORED,
        Code.PENDING_BATCH_DIFFERS,
        Code.REPLAY_NOT_TOLERATED,
        Code.NATIVE_BELOW,
        Code.PARTITION_MISSING,
        Code.TOPIC_MISSING,
        Code.MIRROR_SKEW_EXCEEDS_WATERMARK,
    }
)
"""Blocking codes that drafting decides anew: from the row as it is planned, or from the clusters' topics."""
OVERRIDABLE: Final = frozenset({Code.BELOW_LOG_START, Code.TOPIC_RECREATED})
"""Blocking codes about one partition that a person's own offset, with a reason, settles."""
_ORDINARY_GROUPS: Final = frozenset({None, "Classic", "Consumer", "Unknown"})


def draft(
    comparison: Comparison,
    old: Snapshot,
    new: Snapshot,
    migration: Migration,
    request: DraftRequest,
    *,
    drafted_at: str,
) -> Plan:
    """Draft a plan.

    Args:
        comparison: What was compared; for `rewind_to` with the positions after that batch.
        old: The old cluster, as the comparison read it.
        new: The new cluster, likewise, with the groups that are to be written.
        migration: The migration.
        request: What to write, and what people decided.
        drafted_at: ISO 8601, UTC.

    Raises:
        PlanError: The plan may not be made; every reason is named.
        ConfigError: The migration names no such checkpoint.
    """
    _check_request(comparison, old, new, migration, request)
    job = traits_of(migration, comparison, request.checkpoint)
    dropped = dropped_batch(comparison)
    edits_checkpoint = any(target.kind in CHECKPOINT_KINDS for target in request.targets)
    on = grounds_of(
        comparison,
        new,
        migration.isolation_level,
        job,
        request,
        keeps_pending=edits_checkpoint and dropped is None and request.rewind_to is None,
    )
    decided = [decide(row, on) for row in comparison.partitions]
    positions = tuple(position for position, _ in decided if position is not None)
    gate = start_gate(
        comparison,
        old,
        new,
        migration,
        int(datetime.fromisoformat(new.taken_at).timestamp() * 1000),
        job=job,
        newest=request.newest,
        cutover_ms=request.cutover_ms,
    )
    skew = skew_findings(gate)
    refuse(
        (
            *_against_targets(comparison, job, request),
            *(reason for _, reasons in decided for reason in reasons),
            *_against_findings(
                (*comparison.findings, *skew), on, leaves_out=dropped is not None or request.rewind_to is not None
            ),
            *_against_clusters(comparison, old, new, positions),
            *_against_groups(new, request),
            *_against_gaps(new, positions, request),
        )
    )
    kind = REWIND if request.rewind_to is not None else way_of(request.targets[0].kind, comparison)
    return Plan(
        migration=migration.name,
        drafted_at=drafted_at,
        author=request.author,
        editors=request.editors,
        identities=request.identities,
        strategy=kind.title,
        targets=request.targets,
        rewind_to=request.rewind_to,
        compared_at=comparison.taken_at,
        isolation_level=migration.isolation_level,
        job=_stated(job, request),
        positions=positions,
        requirements=_requirements(comparison, old, new, request),
        gate=gate,
        findings=(*comparison.findings, *skew),
        prediction=predict(comparison, rewound=request.rewind_to is not None),
        keeps=kind.keeps,
        gives_up=(*kind.gives_up, *_given_up(positions, dropped, edits_checkpoint=edits_checkpoint)),
        totals=totals_of(positions),
        dropped_batch=dropped if edits_checkpoint and request.rewind_to is None else None,
    )


def totals_of(positions: Sequence[PlannedPosition]) -> PlanTotals:
    """Sum up positions. What is not known adds nothing and is counted beside."""
    return PlanTotals(
        partitions=len(positions),
        overridden=sum(position.override is not None for position in positions),
        replay=sum(position.replay or 0 for position in positions),
        skip=sum(position.skip or 0 for position in positions),
        uncounted=sum(position.replay is None or position.skip is None for position in positions),
    )


def _check_request(
    comparison: Comparison, old: Snapshot, new: Snapshot, migration: Migration, request: DraftRequest
) -> None:
    """Refuse what does not fit together, before anything is judged."""
    kinds = [target.kind for target in request.targets]
    if not kinds or len(set(request.targets)) != len(kinds):
        raise _unfit("at least one target, each once", f"{len(kinds)}", "Name each target once.")
    if len(CHECKPOINT_KINDS & set(kinds)) > 1:
        raise _unfit("the checkpoint copied or edited in place", "both", "Name one of them.")
    beside = {TargetKind.CONSUMER_GROUP, TargetKind.STARTING_OFFSETS}
    if TargetKind.FLINK_SAVEPOINT_WITHOUT_SOURCES in kinds and not beside & set(kinds):
        fix = "Add --target consumer-group:GROUP, or --target starting-offsets."
        raise _unfit("a place for the positions beside a savepoint that keeps none", "no other target", fix)
    for target in request.targets:
        if (target.kind is TargetKind.CONSUMER_GROUP) != bool(target.group):
            raise _unfit("a group's name for a consumer group, and for nothing else", str(target), "Name the group.")
    if not request.author.strip():
        raise _unfit("an author", "none", "Say who drafts it: --author NAME.")
    for name in (request.author, *request.editors):
        if unseen := invisible(name):
            raise _unfit(
                "names whose characters can all be seen",
                f"{code_points(unseen)} in {name[:80]!a}",
                "Write the name of the author or editor without it.",
            )
    for name, wanted, found in (
        ("migration", migration.name, comparison.migration),
        ("old cluster", comparison.old.cluster_id, old.cluster_id),
        ("new cluster", comparison.new.cluster_id, new.cluster_id),
    ):
        if wanted != found:
            raise _unfit(f"one {name}", f"{wanted!r} and {found!r}", "Compare again, and draft from that.")
    if not comparison.partitions:
        raise _unfit("partitions to plan", "none", "Compare a checkpoint or a group that has positions.")
    back = request.rewind_to
    if back is not None and any(row.restart and row.restart[0].batch != back for row in comparison.partitions):
        raise _unfit(f"the positions after batch {back}", "those of another", f"Compare again with batch {back}.")


def _against_targets(comparison: Comparison, job: JobTraits, request: DraftRequest) -> Iterator[Reason]:
    seen: set[Reason] = set()
    for target in request.targets:
        for reason in against_target(
            target.kind,
            comparison,
            job,
            rewound=request.rewind_to is not None,
            sink_rewound=request.sink_rewound,
        ):
            if reason not in seen:
                seen.add(reason)
                yield reason


def _against_findings(findings: Sequence[Finding], on: Grounds, *, leaves_out: bool) -> Iterator[Reason]:
    """Let every finding that blocks do so, unless the plan itself settles it."""
    for finding in findings:
        kind = describe(finding.code)
        if finding.severity is not Severity.BLOCKS or kind.unedited:
            continue
        if finding.code == Code.MIRROR_SKEW_EXCEEDS_WATERMARK:
            yield Reason(code=finding.code, told=finding.message, fix=finding.remedy)
            continue
        if finding.code in DECIDED_BY_ROW:
            continue
        if finding.code == Code.CHECKPOINT_POLLUTED and leaves_out:
            # The positions are those of a committed batch: an edit drops the polluted one, and every other target
            # never names it.
            continue
        if finding.code in OVERRIDABLE and _overridden(finding, on):
            continue
        yield Reason(code=finding.code, told=finding.message, fix=finding.remedy)


def _overridden(finding: Finding, on: Grounds) -> bool:
    if finding.topic is None or finding.partition is None:
        return False
    key = TopicPartition(topic=finding.topic, partition=finding.partition)
    return key in on.overrides or finding.topic in on.starts


def _against_clusters(
    comparison: Comparison, old: Snapshot, new: Snapshot, positions: Sequence[PlannedPosition]
) -> Iterator[Reason]:
    """A plan must be able to say which clusters and topics it was made for."""
    for snapshot in (old, new):
        if snapshot.cluster_id is None:
            told = f"{snapshot.name!r} did not tell its cluster id, so the plan could not be held to it."
            yield Reason(code="CLUSTER_ID", told=told, fix="Compare again when the cluster answers.")
    used = (
        (old, {row.topic for row in comparison.partitions if row.old_offset is not None}),
        (new, {row.new_topic for row in comparison.partitions}),
    )
    for snapshot, names in used:
        found = {topic.name: topic for topic in snapshot.topics}
        for name in sorted(names):
            topic = found.get(name)
            if topic is None or topic.error is not None:
                why = "it does not exist" if topic is None else f"it could not be read: {topic.error}"
                told = f"Topic {name!r} on {snapshot.name!r}: {why}."
                yield Reason(code=Code.TOPIC_MISSING, told=told, fix=describe(Code.TOPIC_MISSING).remedy)
    planned = {(one.source, one.topic, one.partition) for one in positions}
    if len(planned) != len(positions):
        told = "One partition of one source stands in the comparison twice."
        yield Reason(code=Code.CHECKPOINT_DAMAGED, told=told, fix="Compare again.")


def _against_groups(new: Snapshot, request: DraftRequest) -> Iterator[Reason]:
    for name in (target.group for target in request.targets if target.group is not None):
        group = group_of(new, name)
        if group is None or group.error is not None or group.state is None:
            why = "it was not read" if group is None else f"it could not be read: {group.error or 'no state'}"
            told = f"Group {name!r} on {new.name!r}: {why}, so nobody knows what would be overwritten."
            yield Reason(
                code=Code.GROUP_UNREADABLE, told=told, fix="Add it to `groups` of the migration and try again."
            )
        elif group.type not in _ORDINARY_GROUPS or name.startswith("connect-"):
            told = f"Group {name!r} is of type {group.type or 'Connect'}, whose offsets are not written from outside."
            yield Reason(code="GROUP_TYPE", told=told, fix="Use the means of the system that the group belongs to.")


def _against_gaps(new: Snapshot, positions: Sequence[PlannedPosition], request: DraftRequest) -> Iterator[Reason]:
    """A fresh checkpoint needs exactly all partitions."""
    if not any(target.kind in FRESH_KINDS for target in request.targets):
        return
    counted = {topic.name: len(topic.partitions) for topic in new.topics}
    for name in sorted({one.new_topic for one in positions}):
        have = {one.partition for one in positions if one.new_topic == name}
        if have != set(range(counted.get(name, 0))):
            told = f"{name} has {counted.get(name, 0):,} partitions, the plan has a position for {len(have):,}."
            yield Reason(code=Code.PARTITION_MISSING, told=told, fix="Compare again, so that every partition is there.")


def _stated(job: JobTraits, request: DraftRequest) -> StatedJob:
    return StatedJob(
        stateful=job.stateful,
        watermark_ms=job.watermark_ms,
        sink=job.sink,
        tolerates_replay=job.tolerates_replay,
        sink_rewound=request.sink_rewound or None,
    )


def _given_up(positions: Sequence[PlannedPosition], dropped: int | None, *, edits_checkpoint: bool) -> Iterator[str]:
    if dropped is not None and edits_checkpoint:
        yield f"batch {dropped}, which carries the other cluster's numbers: it is left out"
    chosen = sum(position.override is not None for position in positions)
    if chosen:
        yield f"the proof of {chosen:,} position{'s' if chosen > 1 else ''} that people decided"


def _requirements(comparison: Comparison, old: Snapshot, new: Snapshot, request: DraftRequest) -> Requirements:
    checkpoint = comparison.checkpoint
    old_names = {row.topic for row in comparison.partitions}
    new_names = {row.new_topic for row in comparison.partitions}
    targets: list[Target] = [target for target in request.targets if target.group is not None]
    new_keys = {(row.new_topic, row.partition) for row in comparison.partitions}
    old_keys = {(row.topic, row.partition) for row in comparison.partitions}
    return Requirements(
        old=_cluster(comparison.old, old, old_names),
        new=_cluster(comparison.new, new, new_names),
        checkpoint=None
        if checkpoint is None
        else CheckpointRequirement(
            uri=checkpoint.uri,
            engine=checkpoint.engine,
            job_id=checkpoint.job_id,
            last_planned_batch=checkpoint.last_planned_batch,
            last_committed_batch=checkpoint.last_committed_batch,
            files=checkpoint.offset_files,
        ),
        groups=tuple(_group(new, target.group, new_keys) for target in targets if target.group is not None),
        old_group=None if comparison.group is None else _group(old, comparison.group, old_keys),
    )


def _cluster(ref: ClusterRef, snapshot: Snapshot, names: set[str]) -> ClusterRequirement:
    return ClusterRequirement(
        name=ref.name,
        cluster_id=snapshot.cluster_id,
        topics=tuple(
            TopicRequirement(name=topic.name, id=topic.id, partitions=len(topic.partitions))
            for topic in sorted(snapshot.topics, key=lambda topic: topic.name)
            if topic.name in names and topic.error is None
        ),
    )


def _group(snapshot: Snapshot, name: str, keys: set[tuple[str, int]]) -> GroupBefore:
    found = group_of(snapshot, name)
    if found is None:
        raise PlanError(
            f"Group {name!r} on {snapshot.name!r}: expected what it has committed, but it was not read. "
            "Nothing was written.",
            fix="Compare again with the group among `groups` of the migration file.",
        )
    offsets = sorted((each.topic, each.partition, each.offset) for each in found.offsets)
    return GroupBefore(
        group=name, state=found.state, offsets=tuple(each for each in offsets if (each[0], each[1]) in keys)
    )


def _unfit(expected: str, found: str, fix: str) -> PlanError:
    return PlanError(f"The plan: expected {expected}, found {found}. Nothing was written.", fix=fix)
