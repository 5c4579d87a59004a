from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from offsetwise.config import Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ConfigError, OffsetwiseError, PlanError
from offsetwise.findings.committed import open_transactions
from offsetwise.model import (
    Checkpoint,
    Comparison,
    Plan,
    ServiceRead,
    Start,
    Subject,
    TableBefore,
    Target,
    TargetBefore,
    TopicPartition,
    epoch_ms,
)
from offsetwise.plan.draft import draft as draft_plan
from offsetwise.plan.reading import contradictions
from offsetwise.plan.repair.draft import check_repair, with_repair
from offsetwise.plan.request import DraftRequest, StartChoice, check_request, takers
from offsetwise.plan.settings import settings_of
from offsetwise.plan.sinks.ending import ends_of
from offsetwise.plan.sinks.settled import draft_settling
from offsetwise.plan.target import TargetRole, groups_of, target_type, target_types
from offsetwise.ports.stream import spec_of
from offsetwise.position import offset_or_none
from offsetwise.progress import Progress, no_progress
from offsetwise.streams.reader import offsets_for_times, timestamps_at
from offsetwise.transactions.snapshot import SinkSnapshot
from offsetwise.workflow.comparing import compare
from offsetwise.workflow.repairing import repaired_checkpoint
from offsetwise.workflow.sinks import settling_of, sink_of


def draft(
    migration: Migration,
    subject: Subject | None,
    request: DraftRequest,
    *,
    drafted_at: str,
    comparison: Comparison | None = None,
    sink: SinkSnapshot | None = None,
    progress: Progress = no_progress,
) -> Plan:
    """Draft a plan from a checkpoint's or a group's positions.

    Args:
        migration: The migration.
        subject: One of its checkpoints, or a consumer group of the old cluster. None for the subject of `comparison`: a
            checkpoint is then looked up in the migration by its URI.
        request: The targets and people's decisions.
        drafted_at: ISO 8601, UTC.
        comparison: Draft from this instead of a new one; then only the cluster of the sink is read, if a target ends
            its transactions or the copy of the savepoint marks them as committed.
        sink: Decide about transactions of the job's sinks from this instead of their live cluster.
        progress: Called with each step.

    Raises:
        PlanError: There are objections; the message names all of them.
        CheckpointError: The checkpoint cannot be used.
        ClusterError: A cluster cannot be read.
        ConfigError: The migration has no such checkpoint, or there is neither a job nor a comparison.
        SparkError: Spark cannot read the records.
    """
    request = replace(request, subject=subject)
    if request.repair is not None:
        return _consistent(_repaired(migration, request, comparison, drafted_at=drafted_at, progress=progress))
    return _consistent(
        _drafted(migration, request, drafted_at=drafted_at, comparison=comparison, sink=sink, progress=progress)
    )


def draft_compared(
    migration: Migration,
    request: DraftRequest,
    comparison: Comparison,
    *,
    drafted_at: str,
    progress: Progress = no_progress,
) -> Plan:
    """Draft a plan from a fresh comparison with the live clusters, with the same result as `draft`.

    Args:
        migration: The migration.
        request: The targets, with the subject. If it has the times of the newest records, they are not read.
        comparison: The comparison.
        drafted_at: ISO 8601, UTC.
        progress: Called with each step.

    Raises:
        PlanError: There are objections; the message names all of them.
        ClusterError: A cluster cannot be read.
    """
    return _consistent(_drafted(migration, request, drafted_at=drafted_at, prepared=comparison, progress=progress))


def _consistent(plan: Plan) -> Plan:
    """Return the plan if it could be read again: files that it is drafted from may contradict themselves."""
    wrong = next(contradictions(plan), None)
    if wrong is None:
        return plan
    raise PlanError(
        f"The plan: expected readings that agree with themselves, but {wrong}. Nothing was written.",
        fix="Compare again, and draft from what that writes.",
    )


def _repaired(
    migration: Migration, request: DraftRequest, comparison: Comparison | None, *, drafted_at: str, progress: Progress
) -> Plan:
    if request.checkpoint is None or comparison is not None:
        raise ConfigError(
            "draft: expected a checkpoint of the migration file to repair and to compare, found "
            f"{'a comparison' if comparison is not None else 'none'}. Nothing was read.",
            fix="Name it with --checkpoint, without --comparison.",
        )
    check_repair(request)
    uri, values = migration.checkpoint(request.checkpoint).uri, dict(request.settings)
    before, repaired = repaired_checkpoint(uri, request.repair or "", values, roots=migration.checkpoint_roots)
    plan = _drafted(migration, request, drafted_at=drafted_at, progress=progress, repaired=repaired.checkpoint)
    return with_repair(plan, before, repaired, request)


def _compared(
    migration: Migration, request: DraftRequest, repaired: Checkpoint | None, progress: Progress
) -> Comparison:
    if request.subject is None:
        raise ConfigError(
            "draft: expected a checkpoint or a group, or a comparison, found none of them. Nothing was read.",
            fix="Name one checkpoint of the migration file, or one consumer group.",
        )
    starts = (choice.group for choice in request.starts if choice.group is not None)
    return compare(
        _with_stated(migration, request.subject, request),
        request.subject,
        progress=progress,
        rewind_to=request.rewind_to,
        repaired=repaired,
        groups=(*groups_of(request.targets), *starts),
    )


def _drafted(
    migration: Migration,
    request: DraftRequest,
    *,
    drafted_at: str,
    comparison: Comparison | None = None,
    sink: SinkSnapshot | None = None,
    progress: Progress,
    repaired: Checkpoint | None = None,
    prepared: Comparison | None = None,
) -> Plan:
    ending = None
    check_request(request)
    _check_cutover(migration, request)
    if request.mark_settled or ends_of(request.targets):
        transactions = request.sink or sink_of(migration, request, comparison, snapshot=sink, progress=progress)
        request = replace(request, sink=transactions)
    if ends_of(request.targets):
        ending = settling_of(
            migration, request, transactions, now_ms=epoch_ms(drafted_at), snapshot=sink, progress=progress
        )
        if all(target_type(target.kind).role is TargetRole.TRANSACTIONS for target in request.targets):
            of = migration.checkpoint(request.checkpoint or "")
            read = read_checkpoint(of.uri, roots=migration.checkpoint_roots, history=0)
            return draft_settling(read, ending, migration, request, drafted_at=drafted_at)
    if comparison is None:
        comparison = prepared or _compared(migration, request, repaired, progress)
        request = _with_readings(migration, request, comparison, progress)
    else:
        request = replace(request, before=(*request.before, *_read_before(comparison.services, request.targets)))
    plan = draft_plan(comparison, migration, request, drafted_at=drafted_at, ending=ending)
    return replace(plan, from_files=True) if comparison.from_files else plan


def _with_readings(
    migration: Migration, request: DraftRequest, comparison: Comparison, progress: Progress
) -> DraftRequest:
    request = replace(
        request,
        starts=tuple(_looked_up(migration, comparison, choice) for choice in request.starts),
        newest=request.newest or newest_of(migration, [comparison])[0],
        tables=tuple(_tables(migration, request, comparison)),
        before=tuple(_before(migration, request)),
    )
    of_checkpoint = None if request.checkpoint is None else comparison.checkpoint
    if request.sink is None and of_checkpoint is not None and open_transactions(of_checkpoint.details):
        with suppress(OffsetwiseError):  # the start gate says that nobody was asked, and how to ask
            request = replace(request, sink=sink_of(migration, request, comparison, progress=progress))
    return request


def _check_cutover(migration: Migration, request: DraftRequest) -> None:
    """Raise if the request requires a state of old logs that cannot be watched."""
    stream = spec_of(migration.source.stream)
    if request.cutover is None or stream.ends_watched:
        return
    required = " and ".join(request.cutover.states)
    raise PlanError(
        f"The plan: expected an old cluster whose logs have ends that can be watched, to require that they are "
        f"{required}; found one of {stream.label}. Nothing was drafted.",
        fix="Leave --require out. Before the plan is applied, stop the producers and compare: the lag of the job on "
        "the old stream says what it has not read.",
    )


def _tables(migration: Migration, request: DraftRequest, comparison: Comparison) -> Iterator[TableBefore]:
    for target in request.targets:
        before = target_type(target.kind).table(migration.target, target, comparison.snapshots[1])
        if before is not None:
            yield before


def _before(migration: Migration, request: DraftRequest) -> Iterator[TargetBefore]:
    for target in request.targets:
        before = target_type(target.kind).before_of(migration, target, request.settings)
        if before is not None:
            yield TargetBefore(target=target, before=before)


def with_services(migration: Migration, comparison: Comparison) -> Comparison:
    """Read the services that a plan for a comparison can write to; for each that must not be written to, the reason.

    So that a plan is drafted later from readings of one time, without contacting anything.
    """
    reads = []
    for kind in target_types():
        if comparison.engine not in {way.engine for way in kind.ways}:
            continue
        for name in kind.services(migration):
            target = Target(kind=kind.name, group=name)
            try:
                before = kind.before_of(migration, target, ())
            except OffsetwiseError as error:
                read = ServiceRead(target=kind.name, name=name, before=None, problem=error.problem, fix=error.fix or "")
            else:
                read = ServiceRead(target=kind.name, name=name, before=before)
            reads.append(read)
    return replace(comparison, services=tuple(reads))


def _read_before(services: Iterable[ServiceRead], targets: Iterable[Target]) -> Iterator[TargetBefore]:
    """Yield the state of the services of a draft at the time of the comparison.

    Raises:
        PlanError: One of them could not have been written to.
    """
    reads = {(read.target, read.name): read for read in services}
    for target in targets:
        read = reads.get((target.kind, target.group or ""))
        if read is not None and read.before is None:
            raise PlanError(read.problem, fix=f"{read.fix} Compare again, so that it is read anew.")
        if read is not None and read.before is not None:
            yield TargetBefore(target=target, before=read.before)


def _with_stated(migration: Migration, subject: Subject, request: DraftRequest) -> Migration:
    stated = dict(
        chain.from_iterable(settings_of(model, request.settings).job_keys.items() for model in takers(request).values())
    )
    if not stated:
        return migration
    return migration.model_copy(
        update={
            "checkpoints": tuple(
                checkpoint.model_copy(update={"job": checkpoint.job.stating(stated)})
                if checkpoint.name == subject.checkpoint
                else checkpoint
                for checkpoint in migration.checkpoints
            )
        }
    )


def _looked_up(migration: Migration, comparison: Comparison, choice: StartChoice) -> StartChoice:
    if choice.start is not Start.TIMESTAMP or choice.timestamp_ms is None:
        return choice
    keys = [row.new_topic_partition for row in comparison.partitions if row.topic == choice.topic]
    results = offsets_for_times(migration.target, dict.fromkeys(keys, choice.timestamp_ms))
    return replace(choice, looked_up=tuple((key.partition, results.get(key)) for key in keys))


def newest_of(
    migration: Migration, comparisons: Sequence[Comparison]
) -> list[tuple[tuple[TopicPartition, int | None], ...]]:
    """Read the time of the newest record of every partition on the new cluster, for all comparisons at once."""
    ends = [
        {row.new_topic_partition: end - 1 for row in comparison.partitions if (end := offset_or_none(row.new.hw))}
        for comparison in comparisons
    ]
    results = timestamps_at(migration.target, dict.fromkeys(item for offsets in ends for item in offsets.items()))
    return [tuple((key, results[key, offset]) for key, offset in offsets.items()) for offsets in ends]
