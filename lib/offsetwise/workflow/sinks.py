"""The transactions that a job's sinks have left on the cluster that they write to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from offsetwise.config import CheckpointConfig, ClusterConfig, Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ClusterError, ConfigError, UsageError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.findings.sinks import prefix_overlaps, transaction_timeout_refused
from offsetwise.garbage import collected_seldom
from offsetwise.model import Checkpoint, Finding, NamingStrategy, Plan
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sinks.settling import Settling, counted, settle
from offsetwise.progress import Progress, unheard
from offsetwise.streams.reader import reader_of
from offsetwise.streams.spec import spec_of
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.observed import Held
from offsetwise.transactions.report import Looks, SinkTransactions, report
from offsetwise.transactions.timing import PREPARED
from offsetwise.transactions.upgrade import Facts, Upgrade, judge
from offsetwise.workflow.stored import Observed

_FACTS_S: Final = 5
"""How long brokers are asked for their settings, which no decision about a transaction waits for."""


def sink_transactions(
    migration: Migration,
    checkpoint: str,
    *,
    topics: tuple[str, ...] = (),
    apart_s: float = 2,
    upgrade: bool = False,
    progress: Progress = unheard,
) -> SinkTransactions:
    """Find the transactions of a checkpoint's sinks, and decide about each. Nothing is written or created.

    Args:
        migration: The migration.
        checkpoint: The name of one of its checkpoints; or a path, of another checkpoint of such a job.
        topics: Topics to look at beside those that open transactions name.
        apart_s: The time between two looks, in which a job that runs moves.
        upgrade: Whether to judge the steps to two-phase commit too; they are where the checkpoint has its schema.
        progress: Told each step.

    Raises:
        ConfigError: The file names no such checkpoint, or does not state the cluster that its sink writes to.
        UsageError: The checkpoint has no Kafka sink that writes in transactions.
        StorageError: It cannot be read, or one that is named lies outside the migration's roots.
        CheckpointError: It is no checkpoint.
        ClusterError: The cluster gave no answer.
    """
    stated = _stated(migration, checkpoint)
    named = any(each.name == checkpoint for each in migration.checkpoints)
    cluster = _cluster(migration, stated, checkpoint)
    progress("read the checkpoint", 0, 2)
    uri, roots = (stated.uri, migration.checkpoint_roots) if named else (checkpoint, None)
    read = read_checkpoint(uri, roots=roots, batches=0)
    held = _held(read)
    progress(f"look twice at cluster {cluster.name}", 1, 2)
    with collected_seldom():
        looks = reader_of(cluster).look_at_transactions(cluster, held, topics=topics, apart_s=apart_s)
        progress(f"look twice at cluster {cluster.name}", 2, 2)
        made = report(held, looks, elsewhere=_elsewhere(stated, cluster, looks))
    after = migration.sink(stated, moved=True) or cluster
    facts = _facts(after)
    made = replace(made, findings=tuple(_findings(held, made, facts, stated)))
    if upgrade or any(each.schema == PREPARED for each in held.transactions):
        of_sink = facts if after == cluster else _facts(cluster)
        made = replace(made, upgrade=_upgrade(stated, read, made, of_sink, facts))
    return made


def _findings(held: Held, made: SinkTransactions, after: Facts, stated: CheckpointConfig) -> Iterator[Finding]:
    """Give what is worth knowing before the job starts again."""
    for problem in transaction_timeout_refused(after, stated.job.transaction_timeout_ms):
        yield transaction_timeout_refused.finding(problem.message, problem.fix)
    others = [row.transactional_id or "" for row in made.transactions if row.decision is Decision.OTHER_JOB]
    for prefix, strategy in held.strategies().items():
        names = [name for name in others if name.startswith(prefix)]
        if strategy is NamingStrategy.POOLING and names:
            for problem in prefix_overlaps(prefix, f"{min(names)} of another job"):
                yield prefix_overlaps.finding(problem.message)


def _upgrade(stated: CheckpointConfig, read: Checkpoint, made: SinkTransactions, sink: Facts, after: Facts) -> Upgrade:
    return judge(
        read,
        sink,
        after,
        timeout_ms=stated.job.transaction_timeout_ms,
        live=any(each.decision is Decision.LIVE for each in made.transactions),
        damage=next((each.message for each in read.problems if each.code == checkpoint_damaged.code), None),
    )


def _facts(cluster: ClusterConfig) -> Facts:
    """Ask a cluster's brokers; where none can be reached, what they would say is not known."""
    try:
        return reader_of(cluster).transaction_facts(cluster, timeout_s=_FACTS_S)
    except ClusterError:
        return Facts(name=cluster.name, brokers=())


def transactions_of(migration: Migration, plan: Plan, *, progress: Progress = unheard) -> SinkTransactions:
    """Find the transactions again that a plan was drafted for; see `sink_transactions`."""
    required, sink = plan.requirements.checkpoint, plan.requirements.sink
    uri = "" if required is None else required.uri
    name = next((each.name for each in migration.checkpoints if each.uri == uri), uri)
    return sink_transactions(migration, name, topics=() if sink is None else sink.topics, progress=progress)


def sink_of(
    migration: Migration, request: DraftRequest, observed: Observed | None, *, progress: Progress = unheard
) -> SinkTransactions:
    """Look at the transactions of the sinks of whatever a plan is drafted from; see `sink_transactions`.

    Args:
        migration: The migration.
        request: It names the checkpoint, where a person did.
        observed: What is drafted from; None where that is still to be read.
        progress: Told each step.

    Raises:
        UsageError: The positions are a group's; or the checkpoint has no Kafka sink that writes in transactions.
    """
    read = None if observed is None else observed.comparison.checkpoint
    name = request.checkpoint
    if name is None and read is not None:
        name = next((each.name for each in migration.checkpoints if each.uri == read.uri), None)
    if name is None:
        raise UsageError(
            "draft: expected a checkpoint of the migration file, whose sink's transactions are looked at, found "
            "none. Nothing was drafted.",
            fix="Name it with --checkpoint.",
        )
    return sink_transactions(migration, name, topics=request.sink_topics, progress=progress)


def settling_of(
    migration: Migration,
    request: DraftRequest,
    found: SinkTransactions,
    *,
    now_ms: int,
    progress: Progress = unheard,
) -> Settling:
    """Plan the end of the transactions of a checkpoint's sinks that the request's targets end.

    Args:
        migration: The migration.
        request: What to write, and what people decided; it names the checkpoint.
        found: What the cluster of the sink says; see `sink_of`.
        now_ms: The time now.
        progress: Told each step.

    Raises:
        PlanError: Something speaks against it; every reason is named.
        ConfigError: The file names no such checkpoint, or does not state the cluster that its sink writes to.
        ClusterError: The cluster gave no answer.
    """
    name = request.checkpoint or ""
    stated = migration.checkpoint(name)
    cluster = _cluster(migration, stated, name)
    made = settle(
        found, cluster=cluster.name, topics=request.sink_topics, request=request, job=stated.job, now_ms=now_ms
    )
    progress("count the records of transactions", 0, 1)
    ends = reader_of(cluster).read_ends(cluster, made.transactions, count=True)
    progress("count the records of transactions", 1, 1)
    return counted(made, {place: shown.records for place, shown in ends.logs.items()})


def _stated(migration: Migration, checkpoint: str) -> CheckpointConfig:
    """Give what the file states about a checkpoint; of a path, about the checkpoint of the same job."""
    if "/" not in checkpoint or any(each.name == checkpoint for each in migration.checkpoints):
        return migration.checkpoint(checkpoint)
    folder = checkpoint.rstrip("/").rpartition("/")[0]
    same = [each for each in migration.checkpoints if each.uri.rstrip("/").rpartition("/")[0] == folder]
    clusters = {each.job.sink_cluster for each in migration.checkpoints} - {None}
    if not same and len(clusters) == 1:
        same = [each for each in migration.checkpoints if each.job.sink_cluster is not None]
    if not same:
        raise ConfigError(
            f"{checkpoint}: expected a checkpoint beside one that migration {migration.name!r} names, or one cluster "
            f"that all its sinks write to, found {len(clusters)} such clusters, so nobody could be asked.",
            fix="Add the checkpoint under `checkpoints` of the migration file, with `job.sink_cluster`.",
        )
    return same[0]


def _cluster(migration: Migration, stated: CheckpointConfig, checkpoint: str) -> ClusterConfig:
    """Give the cluster that is asked: the one that is stated, or that has an address which is stated."""
    cluster = migration.sink(stated)
    servers = _addresses(stated)
    if cluster is None and servers:
        known = (migration.source, migration.target, *migration.sinks)
        cluster = next((one for one in known if spec_of(one.stream).addresses(one.properties) & servers), None)
    if cluster is None:
        raise ConfigError(
            f"Checkpoint {checkpoint!r}: expected job.sink_cluster in the migration file, found none, so nobody could "
            "be asked about the transactions of its sink.",
            fix="State `sink_cluster: old`, `new`, or the name of a cluster under `sinks`.",
        )
    return cluster


def _addresses(stated: CheckpointConfig) -> frozenset[str]:
    return frozenset(each.strip().lower() for each in (stated.job.sink_servers or "").split(",") if each.strip())


def _elsewhere(stated: CheckpointConfig, cluster: ClusterConfig, looks: Looks) -> str | None:
    """Say why the sink writes to another cluster than the one that was asked."""
    servers = _addresses(stated)
    if not servers or servers & (looks.brokers | spec_of(cluster.stream).addresses(cluster.properties)):
        return None
    return (
        f"The migration file states that the sink writes to {stated.job.sink_servers}, which is no broker of cluster "
        f"{cluster.name!r} (cluster id {looks.cluster_id or 'unknown'}). Correct sink_cluster or sink_servers."
    )


def _held(read: Checkpoint) -> Held:
    details = read.details
    number = details.checkpoint_id
    if number is None or not (details.transactional_id_prefixes or details.transactions):
        raise UsageError(
            f"{read.uri}: expected a Flink checkpoint of a job with an exactly-once Kafka sink, found a checkpoint of "
            f"{read.engine} without one. No cluster was asked.",
            fix="Give a checkpoint whose transactions `offsetwise inspect` lists, or whose sink has a transactional id "
            "prefix.",
        )
    newer = max((each.id for each in details.retained if each.id > number), default=None)
    return Held(
        checkpoint_id=number,
        written_ms=details.written_ms,
        prefixes=details.transactional_id_prefixes,
        transactions=details.transactions,
        newer=newer,
    )
