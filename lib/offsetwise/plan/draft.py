"""Draft a plan from a comparison, or raise with every objection. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from offsetwise.config import JobTraits, Migration
from offsetwise.errors import PlanError
from offsetwise.findings import describe
from offsetwise.findings.logs import partition_missing, topic_missing
from offsetwise.findings.reading import checkpoint_damaged, group_unreadable
from offsetwise.findings.target_position import (
    native_below,
    no_commit,
    not_yet_mirrored,
    pending_batch_differs,
    replay_not_tolerated,
    untranslated,
)
from offsetwise.model import (
    CheckpointRequirement,
    ClusterRef,
    ClusterRequirement,
    Comparison,
    Finding,
    GateCheck,
    GroupBefore,
    MarkedTransaction,
    Plan,
    PlannedPosition,
    PlannedTransaction,
    PlanTotals,
    Problem,
    Requirements,
    Severity,
    Snapshot,
    StatedJob,
    Target,
    TopicPartition,
    TopicRequirement,
    UnsetPartition,
    epoch_ms,
)
from offsetwise.plan.decide import Grounds, decide, grounds_of, is_left_unset
from offsetwise.plan.gate import mirror_skew_exceeds_watermark, start_gate
from offsetwise.plan.predict import predict
from offsetwise.plan.refusals import cluster_id, group_type, proof_not_repeated
from offsetwise.plan.request import NAMED, DraftRequest, check_readings, check_request, refuse, takers, traits_of
from offsetwise.plan.settings import accepted, plan_fields
from offsetwise.plan.sinks.ending import Ending
from offsetwise.plan.sinks.gate import grounds_of_sinks
from offsetwise.plan.sinks.marking import marks_of, requirement_of
from offsetwise.plan.strategies import against_target, left_out, terms_for, way_of
from offsetwise.plan.target import TargetRole, groups_of, target_type
from offsetwise.plan.ways import Way
from offsetwise.ports.stream import are_two
from offsetwise.wording import first_of
from offsetwise.wording.terms import in_words

DECIDED_BY_ROW: Final = frozenset(
    kind.code
    for kind in (
        untranslated,
        not_yet_mirrored,
        pending_batch_differs,
        replay_not_tolerated,
        native_below,
        no_commit,
        partition_missing,
        topic_missing,
    )
)
"""Blocking codes that drafting decides again: from the planned row, or from the topics of the clusters."""
_READ_GROUP: Final = (
    "Draft it without a comparison, which reads the group; or take the snapshots and compare again with the group "
    "among `groups` of the migration file."
)


def draft(
    comparison: Comparison,
    migration: Migration,
    request: DraftRequest,
    *,
    drafted_at: str,
    ending: Ending | None = None,
) -> Plan:
    """Draft a plan.

    Args:
        comparison: For `rewind_to` with the positions after that batch. Its new snapshot has the groups to write.
        migration: The migration.
        request: The targets and people's decisions.
        drafted_at: ISO 8601, UTC.
        ending: The transactions of the job's sinks to end; None if no target ends any.

    Raises:
        PlanError: There are objections; the message names all of them.
        ConfigError: The migration has no such checkpoint.
    """
    check_request(request)
    check_readings(comparison, migration, request)
    settled = _settled(comparison, migration, request, ending)
    decided = [decide(row, settled.on) for row in comparison.partitions]
    positions = tuple(position for position, _ in decided if position is not None)
    reasons = [reason for _, reasons in decided for reason in reasons]
    refuse(_objections(comparison, request, settled, positions, reasons), migration.terms)
    plan = _put_together(comparison, migration, request, settled, positions, drafted_at=drafted_at)
    unfit = tuple(problem for target in plan.targets for problem in target_type(target.kind).unfit(plan))
    refuse(unfit, migration.terms)
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settled:
    """What holds of the whole plan, whatever its positions are."""

    job: JobTraits
    edits_checkpoint: bool
    dropped: int | None
    """The polluted batch that an edit of the checkpoint leaves out; None if there is none."""
    on: Grounds
    left_unset: tuple[UnsetPartition, ...]
    ended: tuple[PlannedTransaction, ...]
    marks: tuple[MarkedTransaction, ...]
    ending: Ending | None
    gate: tuple[GateCheck, ...]
    skew: tuple[Finding, ...]


def _settled(comparison: Comparison, migration: Migration, request: DraftRequest, ending: Ending | None) -> _Settled:
    job = traits_of(migration, comparison.kept_in, request.checkpoint)
    dropped = left_out(comparison)
    edits_checkpoint = any(target_type(target.kind).role is TargetRole.STATE for target in request.targets)
    keeps_pending = edits_checkpoint and dropped is None and request.rewind_to is None
    on = grounds_of(comparison, migration.isolation_level, job, request, keeps_pending=keeps_pending)
    details = None if comparison.checkpoint is None else comparison.checkpoint.details
    ended = () if ending is None else ending.transactions
    marks = marks_of(details, request, job, ended) if request.mark_settled else ()
    read_ms = epoch_ms(on.new.taken_at)
    sinks = grounds_of_sinks(details, request, job, marks, ended, read_ms=read_ms)
    newest, when, required = request.newest, request.cutover_ms, request.cutover
    gate = start_gate(
        comparison, migration, read_ms, job=job, newest=newest, cutover_ms=when, required=required, sinks=sinks
    )
    return _Settled(
        job=job,
        edits_checkpoint=edits_checkpoint,
        dropped=dropped,
        on=on,
        left_unset=tuple(
            UnsetPartition(topic=row.topic, partition=row.partition, new_topic=row.new_topic)
            for row in comparison.partitions
            if is_left_unset(row, on)
        ),
        ended=ended,
        marks=marks,
        ending=ending,
        gate=gate if ending is None else (*gate, *ending.gate),
        skew=tuple(mirror_skew_exceeds_watermark.finding(at.message) for at in mirror_skew_exceeds_watermark(gate)),
    )


def _objections(
    comparison: Comparison,
    request: DraftRequest,
    settled: _Settled,
    positions: Sequence[PlannedPosition],
    reasons: Sequence[Problem],
) -> tuple[Problem, ...]:
    """Return every reason against a plan, with those against single positions."""
    old, new = comparison.snapshots
    leaves_out = settled.dropped is not None or request.rewind_to is not None
    return (
        *dict.fromkeys(
            reason
            for target in request.targets
            for reason in against_target(
                target.kind,
                comparison,
                settled.job,
                rewound=request.rewind_to is not None,
                sink_rewound=request.sink_rewound,
            )
        ),
        *reasons,
        *_against_findings((*comparison.findings, *settled.skew), settled.on, leaves_out=leaves_out),
        *_against_clusters(comparison, positions),
        *(
            problem
            for at in positions
            for problem in proof_not_repeated(at, on_one_topic=not are_two(old, at.topic, new, at.new_topic))
        ),
        *_against_groups(new, request),
    )


def _put_together(
    comparison: Comparison,
    migration: Migration,
    request: DraftRequest,
    settled: _Settled,
    positions: tuple[PlannedPosition, ...],
    *,
    drafted_at: str,
) -> Plan:
    job, totals, rewound = settled.job, totals_of(positions), request.rewind_to is not None
    ending, way = settled.ending, _way(comparison.engine, migration, request, settled, totals.overridden)
    foretold = predict(comparison, rewound=rewound)
    sink = requirement_of(migration, job, request, settled.marks) if ending is None else ending.requirement
    return Plan(
        migration=migration.name,
        drafted_at=drafted_at,
        author=request.author,
        editors=request.editors,
        identities=request.identities,
        strategy=way.title,
        targets=tuple(sorted(request.targets, key=_ends_no_transactions)),
        rewind_to=request.rewind_to,
        compared_at=comparison.taken_at,
        isolation_level=migration.isolation_level,
        job=stated_of(job, request),
        positions=positions,
        requirements=replace(_requirements(comparison, request), sink=sink),
        gate=settled.gate,
        findings=(*comparison.findings, *settled.skew, *(() if request.sink is None else request.sink.findings)),
        prediction=replace(foretold, told=in_words(foretold.told, migration.terms)),
        keeps=way.keeps,
        gives_up=way.gives_up,
        totals=totals,
        dropped_batch=settled.dropped if settled.edits_checkpoint and not rewound else None,
        transactions=settled.ended,
        marks=settled.marks,
        **plan_fields(takers(request), request.settings),
        settings=accepted(takers(request), request.settings),
        left_unset=settled.left_unset,
    )


def _ends_no_transactions(target: Target) -> bool:
    # Those that end some come first: a copy of the savepoint records how they ended.
    return target_type(target.kind).role is not TargetRole.TRANSACTIONS


def _way(engine: str, migration: Migration, request: DraftRequest, settled: _Settled, overridden: int) -> Way:
    """Return the way that the job moves, with everything that this plan gives up."""
    first = next(target for target in request.targets if _ends_no_transactions(target))
    way = way_of(first.kind, engine, rewound=request.rewind_to is not None)
    way = way.worded(terms_for(way, migration))
    losses = (in_words(loss, migration.terms) for loss in _given_up(settled, request, overridden))
    return replace(way, gives_up=(*way.gives_up, *losses))


def totals_of(positions: Sequence[PlannedPosition]) -> PlanTotals:
    """Sum up positions. A replay or skip that is unknown counts as 0 and in `uncounted`."""
    return PlanTotals(
        partitions=len(positions),
        overridden=sum(position.override is not None for position in positions),
        replay=sum(position.replay or 0 for position in positions),
        skip=sum(position.skip or 0 for position in positions),
        uncounted=sum(position.replay is None or position.skip is None for position in positions),
    )


def _against_findings(findings: Sequence[Finding], on: Grounds, *, leaves_out: bool) -> Iterator[Problem]:
    """Yield the findings that block, except those that the plan itself resolves."""
    for finding in findings:
        kind = describe(finding.code)
        resolved = kind.unedited or kind.continuing or finding.code in DECIDED_BY_ROW
        if finding.severity is not Severity.BLOCKS or resolved:
            continue
        if kind.of_pending and leaves_out:
            # The positions are those of what was committed: an edit drops what was not, and no other target names it.
            continue
        if kind.overridable and _overridden(finding, on):
            continue
        yield Problem(code=finding.code, message=finding.message, fix=finding.remedy)


def _overridden(finding: Finding, on: Grounds) -> bool:
    key = finding.topic_partition
    return key is not None and (key in on.overrides or key.topic in on.starts)


def _against_clusters(comparison: Comparison, positions: Sequence[PlannedPosition]) -> Iterator[Problem]:
    """Yield objections if the id of a cluster or topic is unknown: a plan is bound to both."""
    old, new = comparison.snapshots
    for snapshot in (old, new):
        yield from cluster_id(snapshot)
    used = (
        (old, {row.topic for row in comparison.partitions if row.old_offset is not None}),
        (new, {row.new_topic for row in comparison.partitions}),
    )
    for snapshot, names in used:
        results = {topic.name: topic for topic in snapshot.topics}
        for name in sorted(names):
            topic = results.get(name)
            if topic is None or topic.error is not None:
                why = "it does not exist" if topic is None else f"it could not be read: {topic.error}"
                yield topic_missing.problem(f"Topic {name!r} on {snapshot.name!r}: {why}.")
    planned = {(position.source, position.topic, position.partition) for position in positions}
    if len(planned) != len(positions):
        message = "One partition of one source is in the comparison twice."
        yield checkpoint_damaged.problem(message, fix="Compare again.")


def _against_groups(new: Snapshot, request: DraftRequest) -> Iterator[Problem]:
    for name in groups_of(request.targets):
        group = new.group(name)
        if group is None or group.error is not None or group.state is None:
            why = "it was not read" if group is None else f"it could not be read: {group.error or 'no state'}"
            message = f"Group {name!r} on {new.name!r}: {why}, so nobody knows what would be overwritten."
            yield group_unreadable.problem(message, fix=_READ_GROUP if group is None else "")
        else:
            yield from group_type(group)


def stated_of(job: JobTraits, request: DraftRequest) -> StatedJob:
    stated = StatedJob(
        stateful=job.stateful,
        watermark_ms=job.watermark_ms,
        sink=job.sink,
        tolerates_replay=job.tolerates_replay,
        sink_rewound=request.sink_rewound or None,
    )
    return job.in_plan(stated)


def _given_up(settled: _Settled, request: DraftRequest, chosen: int) -> Iterator[str]:
    if settled.dropped is not None and settled.edits_checkpoint:
        yield f"batch {settled.dropped}, which carries the other cluster's numbers: it is left out"
    left_unset = settled.left_unset
    if chosen:
        yield f"the proof of {chosen:,} position{'s' if chosen > 1 else ''} that people decided"
    commits = _group_starts(settled, request) if left_unset else {}
    begin_by_setting = [partition for partition in left_unset if partition.new_topic_partition not in commits]
    if begin_by_setting:
        partitions = first_of([str(partition.topic_partition) for partition in begin_by_setting], NAMED)
        yield f"any offset of {partitions}, without a commit: the client's auto.offset.reset decides there"
    for at, message in islice(commits.items(), NAMED):
        yield f"any offset of {at}, without a commit on the old cluster: {message}"
    if len(commits) > NAMED:
        yield f"any offset of {len(commits) - NAMED:,} more partitions with a commit on the new cluster alone"


def _group_starts(settled: _Settled, request: DraftRequest) -> dict[TopicPartition, str]:
    unset = {partition.new_topic_partition for partition in settled.left_unset}
    groups = (settled.on.new.group(name) for name in groups_of(request.targets))
    return {
        at: f"{group.name} has committed {offset.offset:,} on the new one, and begins there"
        for group in groups
        if group is not None
        for offset in group.offsets
        if (at := offset.topic_partition) in unset
    }


def _requirements(comparison: Comparison, request: DraftRequest) -> Requirements:
    checkpoint, (old, new) = comparison.checkpoint, comparison.snapshots
    old_names = {row.topic for row in comparison.partitions}
    new_names = {row.new_topic for row in comparison.partitions}
    new_keys = {row.new_topic_partition for row in comparison.partitions}
    old_keys = {row.topic_partition for row in comparison.partitions}
    return Requirements(
        old=_cluster(comparison.old, old, old_names),
        new=_cluster(comparison.new, new, new_names),
        checkpoint=None if checkpoint is None else CheckpointRequirement.of(checkpoint),
        groups=tuple(_group(new, name, new_keys) for name in groups_of(request.targets)),
        old_group=None if comparison.group is None else _group(old, comparison.group, old_keys),
        tables=request.tables,
        targets=request.before,
        cutover=request.cutover,
    )


def _cluster(ref: ClusterRef, snapshot: Snapshot, names: set[str]) -> ClusterRequirement:
    return ClusterRequirement(
        name=ref.name,
        cluster_id=snapshot.cluster_id,
        topics=tuple(
            TopicRequirement(name=topic.name, id=topic.id, partitions=len(topic.partitions), shards=topic.shards)
            for topic in sorted(snapshot.topics, key=lambda topic: topic.name)
            if topic.name in names and topic.error is None
        ),
    )


def _group(snapshot: Snapshot, name: str, keys: set[TopicPartition]) -> GroupBefore:
    state = snapshot.group(name)
    if state is None:
        raise PlanError(
            f"Group {name!r} on {snapshot.name!r}: expected what it has committed, but it was not read. "
            "Nothing was written.",
            fix=_READ_GROUP,
        )
    offsets = sorted((*at, offset.offset) for offset in state.offsets if (at := offset.topic_partition) in keys)
    return GroupBefore(group=name, state=state.state, offsets=tuple(offsets))
