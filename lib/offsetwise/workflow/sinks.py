from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from offsetwise.config import Migration
from offsetwise.errors import UsageError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.findings.sinks import prefix_overlaps, transaction_timeout_refused
from offsetwise.garbage import collected_seldom
from offsetwise.model import (
    Comparison,
    Finding,
    NamingStrategy,
    Plan,
    PlannedTransaction,
    Settlement,
)
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sinks.ending import Ending, counted, settle
from offsetwise.progress import Progress, no_progress
from offsetwise.streams.reader import transactions_reader
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.ended import ShownTransaction, TransactionPlace
from offsetwise.transactions.observed import HeldTransactions, together
from offsetwise.transactions.report import SinkTransactions, report
from offsetwise.transactions.snapshot import HeldRecords, SinkSnapshot
from offsetwise.transactions.timing import PREPARED, Timeout, seen_timeout_ms
from offsetwise.transactions.upgrade import TransactionFacts, Upgrade, judge
from offsetwise.workflow.sink_looks import Sink, cluster_of, elsewhere, observe, read_sink, require_of

COUNTING: Final = "count the records of transactions"
"""The name of a progress step."""


def sink_transactions(
    migration: Migration,
    checkpoint: str,
    *,
    topics: tuple[str, ...] = (),
    apart_s: float = 2,
    upgrade: bool = False,
    snapshot: SinkSnapshot | None = None,
    progress: Progress = no_progress,
) -> SinkTransactions:
    """Find the transactions of a checkpoint's sinks, and decide about each. Nothing is written or created.

    Args:
        migration: The migration.
        checkpoint: The name of one of its checkpoints; or a path, of another checkpoint of such a job.
        topics: Topics to search besides those that open transactions name.
        apart_s: The seconds between two observations, in which a running job proceeds.
        upgrade: Whether to check the steps to two-phase commit too; always if the checkpoint has its schema.
        snapshot: Decide from this instead of the live cluster; nothing is contacted then.
        progress: Called with each step.

    Raises:
        ConfigError: The file has no such checkpoint, or does not state the cluster that its sink writes to.
        UsageError: The checkpoint has no Kafka sink that writes in transactions; or the snapshot is not of its sinks.
        StorageError: It cannot be read, or a named path lies outside the migration's roots.
        CheckpointError: It is no checkpoint.
        ClusterError: The cluster does not answer.
    """
    sink = read_sink(migration, checkpoint, progress)
    upgrade = upgrade or any(transaction.schema == PREPARED for transaction in sink.transactions.transactions)
    if snapshot is None:
        configs = (sink.after, sink.cluster) if upgrade else (sink.after,)
        snapshot = observe(sink.cluster, sink.transactions, configs, topics=topics, apart_s=apart_s, progress=progress)
    else:
        require_of(snapshot, sink)
    return _decided(sink, snapshot, upgrade=upgrade)


def sink_snapshot(
    migration: Migration,
    checkpoints: Sequence[str],
    *,
    topics: tuple[str, ...] = (),
    apart_s: float = 2,
    progress: Progress = no_progress,
) -> SinkSnapshot:
    """Read the cluster of some checkpoints' sinks into a snapshot, so that `sink_transactions` needs no cluster later.

    Args:
        migration: The migration.
        checkpoints: As for `sink_transactions`; their sinks write to one cluster.
        topics: Topics to search besides those that open transactions name.
        apart_s: The seconds between two observations.
        progress: Called with each step.

    Raises:
        UsageError: The sinks write to several clusters. All other errors as in `sink_transactions`.
    """
    sinks = [read_sink(migration, checkpoint, progress) for checkpoint in checkpoints]
    clusters = {sink.cluster.name: sink.cluster for sink in sinks}
    if len(clusters) != 1:
        raise UsageError(
            f"Checkpoints {', '.join(checkpoints)}: expected sinks that write to one cluster, found "
            f"{', '.join(sorted(clusters)) or 'none'}. No cluster was asked.",
            fix="Take one snapshot for each of these clusters.",
        )
    ((_, cluster),) = clusters.items()
    configs = (cluster, *(sink.after for sink in sinks))
    pending = together(sink.transactions for sink in sinks)
    snapshot = observe(cluster, pending, configs, topics=topics, apart_s=apart_s, progress=progress)
    still_open = (row for sink in sinks for row in _decided(sink, snapshot, upgrade=False).open)
    planned = {transaction.name: transaction for row in still_open for transaction in _begun(row)}
    progress(COUNTING, 0, 1)
    logs = transactions_reader(cluster).read_ends(cluster, tuple(planned.values()), count=True).logs
    progress(COUNTING, 1, 1)
    return replace(snapshot, records=_counted_records(logs))


def _counted_records(logs: Mapping[TransactionPlace, ShownTransaction]) -> tuple[HeldRecords, ...]:
    return tuple(
        HeldRecords(
            **position.partition._asdict(),
            producer_id=position.producer_id,
            start_offset=position.start_offset,
            records=shown.records,
        )
        for position, shown in logs.items()
    )


def _decided(sink: Sink, snapshot: SinkSnapshot, *, upgrade: bool) -> SinkTransactions:
    observations = snapshot.looks_of(sink.transactions)
    with collected_seldom():
        transactions = report(sink.transactions, observations, elsewhere=elsewhere(sink, observations))
    after = snapshot.facts_of(sink.after.name)
    own = (observations.second.answers[name] for name in sink.transactions.own(observations.second.answers))
    timeout = Timeout(stated_ms=sink.stated.job.transaction_timeout_ms, seen_ms=seen_timeout_ms(own))
    transactions = replace(transactions, findings=tuple(_findings(sink.transactions, transactions, after, timeout)))
    if not upgrade:
        return transactions
    return replace(
        transactions, upgrade=_upgrade(sink, transactions, snapshot.facts_of(sink.cluster.name), after, timeout)
    )


def _begun(row: SinkTransaction) -> Iterator[PlannedTransaction]:
    """Yield an open transaction as one whose records can be counted; nothing if it cannot be found in a log."""
    if row.producer_id is not None and row.epoch is not None and row.partitions:
        yield PlannedTransaction(
            transactional_id=row.transactional_id,
            producer_id=row.producer_id,
            epoch=row.epoch,
            decision=Settlement.ABORT,
            version=None,
            partitions=row.partitions,
            deadline=row.deadline,
            reason=row.reason,
        )


def _findings(
    pending: HeldTransactions, decided: SinkTransactions, after: TransactionFacts, timeout: Timeout
) -> Iterator[Finding]:
    for problem in transaction_timeout_refused(after, timeout):
        yield transaction_timeout_refused.finding(problem.message, fix=problem.fix)
    others = [row.transactional_id or "" for row in decided.transactions if row.decision is Decision.OTHER_JOB]
    for prefix, strategy in pending.strategies().items():
        names = [name for name in others if name.startswith(prefix)]
        if strategy is NamingStrategy.POOLING and names:
            for problem in prefix_overlaps(prefix, f"{min(names)} of another job"):
                yield prefix_overlaps.finding(problem.message)


def _upgrade(
    of: Sink, decided: SinkTransactions, sink: TransactionFacts, after: TransactionFacts, timeout: Timeout
) -> Upgrade:
    return judge(
        of.read,
        sink,
        after,
        timeout=timeout,
        live=any(transaction.decision is Decision.LIVE for transaction in decided.transactions),
        damage=next((problem.message for problem in of.read.problems if problem.code == checkpoint_damaged.code), None),
    )


def transactions_of(
    migration: Migration, plan: Plan, *, snapshot: SinkSnapshot | None = None, progress: Progress = no_progress
) -> SinkTransactions:
    required, sink = plan.requirements.checkpoint, plan.requirements.sink
    uri = "" if required is None else required.uri
    name = next((checkpoint.name for checkpoint in migration.checkpoints if checkpoint.uri == uri), uri)
    topics = () if sink is None else sink.topics
    return sink_transactions(migration, name, topics=topics, snapshot=snapshot, progress=progress)


def sink_of(
    migration: Migration,
    request: DraftRequest,
    comparison: Comparison | None,
    *,
    snapshot: SinkSnapshot | None = None,
    progress: Progress = no_progress,
) -> SinkTransactions:
    """Read the transactions of the sinks of the plan's job; see `sink_transactions`.

    Args:
        migration: The migration.
        request: It names the checkpoint, if a person did.
        comparison: The comparison to draft from; None if it is not made yet.
        snapshot: Decide from this instead of the live cluster.
        progress: Called with each step.

    Raises:
        UsageError: The positions are a group's; or the checkpoint has no Kafka sink that writes in transactions.
    """
    read = None if comparison is None else comparison.checkpoint
    name = request.checkpoint
    if name is None and read is not None:
        name = next((checkpoint.name for checkpoint in migration.checkpoints if checkpoint.uri == read.uri), None)
    if name is None:
        raise UsageError(
            "draft: expected a checkpoint of the migration file, whose sink's transactions are looked at, found "
            "none. Nothing was drafted.",
            fix="Name it with --checkpoint.",
        )
    return sink_transactions(migration, name, topics=request.sink_topics, snapshot=snapshot, progress=progress)


def settling_of(
    migration: Migration,
    request: DraftRequest,
    decided: SinkTransactions,
    *,
    now_ms: int,
    snapshot: SinkSnapshot | None = None,
    progress: Progress = no_progress,
) -> Ending:
    """Plan the end of the transactions of a checkpoint's sinks that the request's targets end.

    Args:
        migration: The migration.
        request: The targets and people's decisions; it names the checkpoint.
        decided: The transactions on the cluster of the sink; see `sink_of`.
        now_ms: The current time, epoch ms.
        snapshot: The snapshot that `decided` comes from, if not the live cluster: it has the record counts.
        progress: Called with each step.

    Raises:
        PlanError: There are objections; the message names all of them.
        ConfigError: The file has no such checkpoint, or does not state the cluster that its sink writes to.
        ClusterError: The cluster does not answer.
    """
    name = request.checkpoint or ""
    stated = migration.checkpoint(name)
    cluster = cluster_of(migration, stated, name)
    topics = tuple(dict.fromkeys((*request.sink_topics, *decided.topics_of_ends)))
    result = settle(decided, cluster=cluster.name, topics=topics, request=request, job=stated.job, now_ms=now_ms)
    if snapshot is not None:
        return counted(result, snapshot.counts())
    progress(COUNTING, 0, 1)
    ends = transactions_reader(cluster).read_ends(cluster, result.transactions, count=True)
    progress(COUNTING, 1, 1)
    return counted(result, {position: shown.records for position, shown in ends.logs.items()})
