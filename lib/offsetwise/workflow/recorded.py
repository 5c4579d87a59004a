"""Migration files, and the bundled sample with what was recorded of it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files as package_files
from pathlib import Path

from offsetwise.config import Migration, load_migration
from offsetwise.model import Comparison, Plan, Reconciliation
from offsetwise.plan.drift import Drift, drift
from offsetwise.workflow.stored import Observed, load_snapshots, read_file


def load_migrations(paths: Iterable[Path]) -> tuple[Migration, ...]:
    """Read migration files.

    Raises:
        ConfigError: A file cannot be used.
    """
    return tuple(load_migration(path) for path in paths)


def sample() -> Migration:
    """Give the bundled sample migration. Its clusters do not run; its comparisons were recorded from the lab."""
    return load_migration(_recorded("migration.yaml"))


def sample_comparison(checkpoint: str) -> Comparison:
    """Give a recorded comparison of the sample migration.

    Raises:
        FileError: The sample has no such checkpoint.
    """
    recorded: Comparison = read_file(_recorded(f"comparison-{checkpoint}.json"), "comparison")
    return recorded


def sample_observed(comparison: Comparison) -> Observed:
    """Give a recorded comparison of the sample migration with both clusters as they were read for it.

    Raises:
        FileError: A recorded snapshot cannot be read.
    """
    old, new = load_snapshots(_recorded("old.json"), _recorded("new.json"))
    return Observed(comparison=comparison, old=old, new=new)


def sample_reconciliation(topic: str) -> Reconciliation:
    """Give the recorded reconciliation of a topic of the sample migration.

    Raises:
        FileError: The sample has no such topic.
    """
    recorded: Reconciliation = read_file(_recorded(f"reconciliation-{topic}.json"), "reconciliation")
    return recorded


def sample_drift(plan: Plan) -> tuple[Drift, ...]:
    """Hold a plan of the sample against the recording, which never changes.

    Raises:
        FileError: The sample is damaged.
    """
    migration = sample()
    taken = load_snapshots(_recorded("old.json"), _recorded("new.json"))
    wanted = plan.requirements.checkpoint
    comparisons = (sample_comparison(one.name) for one in migration.checkpoints if wanted is not None)
    held = (each.checkpoint for each in comparisons if each.checkpoint is not None)
    found = next((each for each in held if wanted is not None and each.uri == wanted.uri), None)
    return drift(plan, *taken, found)


def _recorded(name: str) -> Path:
    return Path(str(package_files("offsetwise") / "sample" / name))
