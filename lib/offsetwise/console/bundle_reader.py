"""Where the console gets its data when it was started with review bundles: no cluster is asked about them."""

from __future__ import annotations

from pathlib import Path

from offsetwise.clusters.reading import ReadCluster
from offsetwise.config import Migration
from offsetwise.console import bundles
from offsetwise.console.bundles import Handed
from offsetwise.console.data import WorkflowReader
from offsetwise.console.desk import Offered, Subject, SubjectKind
from offsetwise.errors import ConfigError
from offsetwise.lag.moments import Key
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.model import Cluster, Comparison
from offsetwise.progress import Progress
from offsetwise.watch.background import Sampling
from offsetwise.workflow import Observed


def reader(files: tuple[Path, ...]) -> WorkflowReader:
    """Give what reads the migrations of these files, and the bundles that are offered.

    Raises:
        ConfigError: A migration file cannot be used.
    """
    handed = bundles.handed()
    return BundleReader(files, handed) if handed else WorkflowReader(files)


class _WithoutFile(dict[str, Migration]):
    """Migrations by name; of a bundle there is none."""

    def __missing__(self, name: str) -> Migration:
        raise ConfigError(
            f"{name}: expected a migration file, and a bundle has none: it holds the comparison and both snapshots. "
            "Nothing else can be read of it.",
            fix="Look at Compare, Clusters and Review, or ask whoever drafted the plan for more.",
        )


class BundleReader(WorkflowReader):
    """Reads bundles beside migrations: their comparison and snapshots are there, and no cluster is asked.

    Args:
        files: The migration files.
        handed: The bundles.
    """

    def __init__(self, files: tuple[Path, ...], handed: tuple[Handed, ...]) -> None:
        super().__init__(files)
        self._migrations = _WithoutFile(self._migrations)
        self._observed = {each.migration: each.bundle.observed for each in handed if each.bundle.observed is not None}

    def offered(self) -> tuple[Offered, ...]:
        """Give the sample, the migrations of the files, and the bundles."""
        return (*super().offered(), *(_offered(name, seen) for name, seen in self._observed.items()))

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        """Compare; of a bundle, give the comparison in it."""
        seen = self._observed.get(migration)
        return super().comparison(migration, subject, progress) if seen is None else seen.comparison

    def cluster(self, migration: str, cluster: Cluster, progress: Progress) -> ReadCluster:
        """Read one cluster; of a bundle, give the snapshot in it."""
        seen = self._observed.get(migration)
        if seen is None:
            return super().cluster(migration, cluster, progress)
        pairs = {(row.topic, row.new_topic) for row in seen.comparison.partitions}
        if cluster is Cluster.OLD:
            return ReadCluster(snapshot=seen.old, counterparts=dict(pairs), link=None)
        return ReadCluster(snapshot=seen.new, counterparts={new: old for old, new in pairs}, link=None)

    def observed(self, migration: str, subject: Subject, comparison: Comparison) -> Observed | None:
        """Give a comparison with the clusters as it read them."""
        return self._observed.get(migration) or super().observed(migration, subject, comparison)

    def lag(self, migration: str, subject: Subject, window_ms: int) -> LagView | None:
        """Look up what was sampled lately; of a bundle, nothing was."""
        return None if migration in self._observed else super().lag(migration, subject, window_ms)

    def lag_of_partition(self, migration: str, subject: Subject, key: Key, window_ms: int) -> PartitionView | None:
        """Look up what was sampled lately of one partition."""
        return None if migration in self._observed else super().lag_of_partition(migration, subject, key, window_ms)

    def sampling(self, migration: str) -> Sampling | None:
        """Say what this process's sampler of a migration does."""
        return None if migration in self._observed else super().sampling(migration)


def _offered(name: str, seen: Observed) -> Offered:
    compared = seen.comparison
    if compared.group is not None:
        subject = Subject(kind=SubjectKind.GROUP, name=compared.group)
    else:
        uri = "?" if compared.checkpoint is None else compared.checkpoint.uri
        subject = Subject(kind=SubjectKind.CHECKPOINT, name=uri)
    return Offered(name=name, old=compared.old.name, new=compared.new.name, subjects=(subject,), recorded=True)
