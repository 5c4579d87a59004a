"""Review bundles that this console was started with: their comparison and snapshots, without reading a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from offsetwise import regular_files
from offsetwise.clusters.reading import ReadCluster
from offsetwise.config import Migration
from offsetwise.console.reader import Offered, Reader
from offsetwise.errors import ConfigError, FileError
from offsetwise.lag.moments import Key
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.model import Cluster, Comparison, Subject
from offsetwise.progress import Progress
from offsetwise.review.bundle import MAX_PACKED_BYTES, Bundle, open_bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    name: str
    """File name of the bundle."""
    data: bytes
    bundle: Bundle

    @property
    def migration(self) -> str:
        return f"{self.bundle.plan.migration} (bundle {self.bundle.plan_digest[:8]})"


_handed: list[Handed] = []


class _WithoutFile(dict[str, Migration]):
    def __missing__(self, name: str) -> Migration:
        raise ConfigError(
            f"{name}: expected a migration file, and a bundle has none: it holds the comparison and both snapshots. "
            "Nothing else can be read of it.",
            fix="Look at Compare, Clusters and Review, or ask whoever drafted the plan for more.",
        )


class BundleReader(Reader):
    """Reads bundles in addition to migrations: their comparison and snapshots are in them, and no cluster is read.

    Args:
        files: The migration files.
        handed: The bundles.
        folders: As in `Reader`.
    """

    def __init__(self, files: tuple[Path, ...], handed: tuple[Handed, ...], folders: tuple[Path, ...] = ()) -> None:
        super().__init__(files, folders)
        self._migrations = _WithoutFile(self._migrations)
        self._observed = {
            bundle.migration: bundle.bundle.observed for bundle in handed if bundle.bundle.observed is not None
        }

    def offered(self) -> tuple[Offered, ...]:
        return (*super().offered(), *(_offered(name, comparison) for name, comparison in self._observed.items()))

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        comparison = self._observed.get(migration)
        return super().comparison(migration, subject, progress) if comparison is None else comparison

    def cluster(self, migration: str, cluster: Cluster, progress: Progress) -> ReadCluster:
        comparison = self._observed.get(migration)
        if comparison is None:
            return super().cluster(migration, cluster, progress)
        pairs = {(row.topic, row.new_topic) for row in comparison.partitions}
        if cluster is Cluster.OLD:
            return ReadCluster(snapshot=comparison.snapshots[0], counterparts=dict(pairs), link=None)
        return ReadCluster(snapshot=comparison.snapshots[1], counterparts={new: old for old, new in pairs}, link=None)

    def observed(self, migration: str, subject: Subject, comparison: Comparison) -> Comparison | None:
        return self._observed.get(migration) or super().observed(migration, subject, comparison)

    def lag(self, migration: str, subject: Subject, window_ms: int, progress: Progress) -> LagView | None:
        return None if migration in self._observed else super().lag(migration, subject, window_ms, progress)

    def lag_of_partition(
        self, migration: str, subject: Subject, window_ms: int, key: Key, progress: Progress
    ) -> PartitionView | None:
        return (
            None
            if migration in self._observed
            else super().lag_of_partition(migration, subject, window_ms, key, progress)
        )


def load(paths: Sequence[Path]) -> tuple[Handed, ...]:
    """Read bundles.

    Raises:
        FileError: A file cannot be read, is not a bundle, or has changed since it was written.
        PlanError: The plan in a bundle contradicts itself.
    """
    return tuple(map(_load, paths))


def use(handed: Sequence[Handed]) -> None:
    _handed[:] = handed


def bundles_of_process() -> tuple[Handed, ...]:
    return tuple(_handed)


def _load(path: Path) -> Handed:
    try:
        data = regular_files.read_named(path, MAX_PACKED_BYTES)
    except OSError as error:
        raise FileError(
            f"{path}: expected a review bundle, but it cannot be read ({error.strerror}). The console was not started.",
            fix="Give the path of a bundle as the page Export wrote it.",
        ) from error
    return Handed(name=path.name, data=data, bundle=open_bundle(data, subject=path.name))


def reader(files: tuple[Path, ...], folders: tuple[Path, ...] = ()) -> Reader:
    """Return a reader of the migration files and of this process's bundles.

    Raises:
        ConfigError: A migration file cannot be used.
    """
    handed = bundles_of_process()
    return BundleReader(files, handed, folders) if handed else Reader(files, folders)


def _offered(name: str, compared: Comparison) -> Offered:
    return Offered(name=name, old=compared.old.name, new=compared.new.name, subjects=(compared.kept_in,), recorded=True)
