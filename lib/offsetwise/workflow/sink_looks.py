from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from offsetwise.config import CheckpointConfig, ClusterConfig, Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.registry import engine_of
from offsetwise.errors import ClusterError, ConfigError, OffsetwiseError, UsageError
from offsetwise.findings.committed import open_transactions
from offsetwise.garbage import collected_seldom
from offsetwise.model import Checkpoint
from offsetwise.ports.stream import spec_of
from offsetwise.progress import Progress
from offsetwise.streams.reader import transactions_reader
from offsetwise.transactions.observed import HeldTransactions
from offsetwise.transactions.report import LookPair, SinkAnswer, report
from offsetwise.transactions.snapshot import SinkSnapshot
from offsetwise.transactions.timing import seen_timeout_ms
from offsetwise.transactions.upgrade import TransactionFacts

_ASIDE_S: Final = 5
"""The timeout for facts that no decision about a transaction depends on: brokers' settings, and time-outs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    stated: CheckpointConfig
    read: Checkpoint
    transactions: HeldTransactions
    cluster: ClusterConfig
    """The cluster that they write to."""
    after: ClusterConfig
    """The cluster that they write to once the job has moved."""


def read_sink(migration: Migration, checkpoint: str, progress: Progress) -> Sink:
    stated = _stated(migration, checkpoint)
    named = any(config.name == checkpoint for config in migration.checkpoints)
    cluster = cluster_of(migration, stated, checkpoint)
    progress("read the checkpoint", 0, 1)
    uri, roots = (stated.uri, migration.checkpoint_roots) if named else (checkpoint, None)
    read = read_checkpoint(uri, roots=roots, history=0)
    progress("read the checkpoint", 1, 1)
    after = migration.sink(stated, moved=True) or cluster
    return Sink(stated=stated, read=read, transactions=_transactions_of(read, migration), cluster=cluster, after=after)


def observe(
    cluster: ClusterConfig,
    pending: HeldTransactions,
    configs: Iterable[ClusterConfig],
    *,
    topics: tuple[str, ...],
    apart_s: float,
    progress: Progress,
) -> SinkSnapshot:
    step = f"look twice at cluster {cluster.name}"
    progress(step, 0, 1)
    with collected_seldom():
        observations = transactions_reader(cluster).look_at_transactions(
            cluster, pending, topics=topics, apart_s=apart_s
        )
    progress(step, 1, 1)
    of = {config.name: config for config in configs}
    return SinkSnapshot(
        name=cluster.name,
        looks=observations,
        topics=topics,
        facts=tuple(_facts(config) for config in of.values()),
    )


def ask_sink(migration: Migration, stated: CheckpointConfig, read: Checkpoint) -> SinkAnswer | None:
    """Read the state of the transactions that a checkpoint holds open.

    Returns:
        None if it holds none, the migration file does not state the cluster, or that does not answer.
    """
    cluster = migration.sink(stated)
    if cluster is None or not open_transactions(read.details):
        return None
    try:
        transactions = _transactions_of(read, migration)
        observations = transactions_reader(cluster).look_at_transactions(
            cluster, transactions, apart_s=0, timeout_s=_ASIDE_S
        )
    except OffsetwiseError:
        return None
    sink = Sink(stated=stated, read=read, transactions=transactions, cluster=cluster, after=cluster)
    return SinkAnswer(
        transactions=report(transactions, observations, elsewhere=elsewhere(sink, observations)).transactions,
        timeout_ms=seen_timeout_ms(
            observations.second.answers[name] for name in transactions.own(observations.second.answers)
        ),
    )


def require_of(snapshot: SinkSnapshot, sink: Sink) -> None:
    """Raise if a snapshot is not about the sink's cluster and transactions: their state would be unknown."""
    if snapshot.name != sink.cluster.name:
        raise UsageError(
            f"The snapshot: expected one of cluster {sink.cluster.name!r}, which the sink of {sink.read.uri} writes "
            f"to, found one of {snapshot.name!r}. Nothing was decided.",
            fix="Give the snapshot of that cluster.",
        )
    answers = snapshot.looks.second.answers
    missing = sorted({transaction.transactional_id for transaction in sink.transactions.transactions} - answers.keys())
    if missing:
        raise UsageError(
            f"The snapshot: expected an answer about each transactional id that {sink.read.uri} holds, found none "
            f"about {missing[0]!r}{f' and {len(missing) - 1:,} more' if len(missing) > 1 else ''}. Nothing was "
            "decided.",
            fix="Give the snapshot that was taken for this checkpoint.",
        )


def _facts(cluster: ClusterConfig) -> TransactionFacts:
    try:
        return transactions_reader(cluster).transaction_facts(cluster, timeout_s=_ASIDE_S)
    except ClusterError:
        return TransactionFacts(name=cluster.name, brokers=())


def _stated(migration: Migration, checkpoint: str) -> CheckpointConfig:
    if "/" not in checkpoint or any(config.name == checkpoint for config in migration.checkpoints):
        return migration.checkpoint(checkpoint)
    folder = checkpoint.rstrip("/").rpartition("/")[0]
    same = [config for config in migration.checkpoints if config.uri.rstrip("/").rpartition("/")[0] == folder]
    clusters = {config.job.sink_cluster for config in migration.checkpoints} - {None}
    if not same and len(clusters) == 1:
        same = [config for config in migration.checkpoints if config.job.sink_cluster is not None]
    if not same:
        raise ConfigError(
            f"{checkpoint}: expected a checkpoint beside one that migration {migration.name!r} names, or one cluster "
            f"that all its sinks write to, found {len(clusters):,} such clusters, so nobody could be asked.",
            fix="Add the checkpoint under `checkpoints` of the migration file, with `job.sink_cluster`.",
        )
    return same[0]


def cluster_of(migration: Migration, stated: CheckpointConfig, checkpoint: str) -> ClusterConfig:
    cluster = migration.sink(stated)
    servers = _addresses(stated)
    if cluster is None and servers:
        known = (migration.source, migration.target, *migration.sinks)
        cluster = next(
            (config for config in known if spec_of(config.stream).addresses(config.properties) & servers), None
        )
    if cluster is None:
        raise ConfigError(
            f"Checkpoint {checkpoint!r}: expected job.sink_cluster in the migration file, found none, so nobody could "
            "be asked about the transactions of its sink.",
            fix="State `sink_cluster: old`, `new`, or the name of a cluster under `sinks`.",
        )
    return cluster


def _addresses(stated: CheckpointConfig) -> frozenset[str]:
    return frozenset(
        address.strip().lower() for address in (stated.job.sink_servers or "").split(",") if address.strip()
    )


def elsewhere(sink: Sink, observations: LookPair) -> str | None:
    """Return why the sink writes to another cluster than the one that was read; None if nothing shows that."""
    stated, cluster = sink.stated, sink.cluster
    servers = _addresses(stated)
    if not servers or servers & (observations.brokers | spec_of(cluster.stream).addresses(cluster.properties)):
        return None
    return (
        f"The migration file states that the sink writes to {stated.job.sink_servers}, which is not a broker of "
        f"cluster {cluster.name!r} (cluster id {observations.cluster_id or 'unknown'}). Correct "
        "sink_cluster or sink_servers."
    )


def _transactions_of(read: Checkpoint, migration: Migration) -> HeldTransactions:
    details = read.details
    number = details.checkpoint_id
    if number is None or not (details.transactional_id_prefixes or details.transactions):
        raise UsageError(
            f"{read.uri}: expected a Flink checkpoint of a job with an exactly-once Kafka sink, found a checkpoint of "
            f"{read.engine} without one. No cluster was asked.",
            fix="Give a checkpoint whose transactions `offsetwise inspect` lists, or whose sink has a transactional id "
            "prefix.",
        )
    near = (*migration.checkpoint_roots, *(checkpoint.uri for checkpoint in migration.checkpoints))
    newer, searched = engine_of(read.engine).newer(read.uri, number, near)
    return HeldTransactions(
        checkpoint_id=number,
        written_ms=details.written_ms,
        prefixes=details.transactional_id_prefixes,
        transactions=details.transactions,
        pooled=details.pooled_prefixes,
        newer=newer,
        searched=searched,
    )
