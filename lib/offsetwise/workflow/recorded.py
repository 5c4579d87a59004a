from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from offsetwise.bundled import Bundled
from offsetwise.config import Migration, load_migration
from offsetwise.model import Comparison, Plan, Reconciliation, Snapshot
from offsetwise.plan.drift import Drift, drift
from offsetwise.transactions.snapshot import SinkSnapshot
from offsetwise.workflow.drifting import drift as live_drift
from offsetwise.workflow.drifting import drift_of_sink
from offsetwise.workflow.stored import load_sink_snapshot, load_snapshots, read_file


def load_migrations(paths: Iterable[Path]) -> tuple[Migration, ...]:
    """Read migration files.

    Raises:
        ConfigError: A file cannot be used.
    """
    return tuple(load_migration(path) for path in paths)


def sample(which: Bundled = Bundled.SPARK) -> Migration:
    """Return a bundled sample migration. Its clusters do not run; its comparisons were recorded in the lab."""
    return load_migration(which.file("migration.yaml"))


def sample_comparison(checkpoint: str, which: Bundled = Bundled.SPARK) -> Comparison:
    """Return a recorded comparison of a sample migration.

    Raises:
        FileError: The sample has no such checkpoint.
    """
    recorded: Comparison = read_file(which.file(f"comparison-{checkpoint}.json"), "comparison")
    return recorded


def with_sample_snapshots(comparison: Comparison, which: Bundled = Bundled.SPARK) -> Comparison:
    """Return a recorded comparison of a sample migration with its snapshots of both clusters.

    Raises:
        FileError: A recorded snapshot cannot be read.
    """
    return replace(comparison, read_from=_snapshots(which))


def sample_reconciliation(topic: str, which: Bundled = Bundled.SPARK) -> Reconciliation:
    """Return the recorded reconciliation of a topic of a sample migration.

    Raises:
        FileError: The sample has no such topic.
    """
    recorded: Reconciliation = read_file(which.file(f"reconciliation-{topic}.json"), "reconciliation")
    return recorded


def sample_sink(which: Bundled = Bundled.FLINK) -> SinkSnapshot:
    """Return the recorded transactions on the cluster of a sample's sinks.

    Raises:
        FileError: The sample has none.
    """
    return load_sink_snapshot(which.file("sink.json"))


def sample_drift(plan: Plan, which: Bundled = Bundled.SPARK) -> tuple[Drift, ...]:
    """Compare a plan of a sample with its recording, which never changes.

    Raises:
        FileError: The sample is damaged.
    """
    if not plan.positions:
        return live_drift(plan, sample(which), sink=sample_sink(which))
    requirement = plan.requirements.checkpoint
    comparisons = (
        sample_comparison(checkpoint.name, which) for checkpoint in sample(which).checkpoints if requirement is not None
    )
    checkpoints = (comparison.checkpoint for comparison in comparisons if comparison.checkpoint is not None)
    required_checkpoint = next(
        (checkpoint for checkpoint in checkpoints if requirement is not None and checkpoint.uri == requirement.uri),
        None,
    )
    sink = None if plan.requirements.sink is None else sample_sink(which)
    return (*drift(plan, *_snapshots(which), required_checkpoint), *drift_of_sink(plan, sample(which), sink))


def _snapshots(which: Bundled) -> tuple[Snapshot, Snapshot]:
    return load_snapshots(which.file("old.json"), which.file("new.json"))
