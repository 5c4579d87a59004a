"""What a verification reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from offsetwise.apply.object_store import COPY_MARKER
from offsetwise.config import ClusterConfig, Migration
from offsetwise.engines.checkpoint import read_with_times
from offsetwise.engines.engine import CheckpointReading
from offsetwise.model import Cluster, PlannedTransaction, ReceiptStep, Snapshot
from offsetwise.storage.folders import open_tree
from offsetwise.streams.reader import read_cluster, transactions_of
from offsetwise.transactions.ended import Ends


class Eyes(Protocol):
    """What a verification reads, as it is now."""

    def checkpoint(self, uri: str) -> CheckpointReading:
        """Read a checkpoint.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        """Read files of a folder; one that cannot be read is left out.

        Raises:
            StorageError: The folder cannot be opened.
        """

    @property
    def target(self) -> ClusterConfig:
        """How the new cluster is reached, for what a target keeps there itself."""

    def new_cluster(self, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read the new cluster.

        Raises:
            ClusterError: It gave no answer.
        """

    def ends(self, cluster: str, transactions: tuple[PlannedTransaction, ...]) -> Ends:
        """Read what became of transactions on a cluster, by its name in the migration file.

        Raises:
            ClusterError: It gave no answer.
            ConfigError: The file names no such cluster.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEyes:
    """Reads what a migration names, inside its roots."""

    migration: Migration

    def checkpoint(self, uri: str) -> CheckpointReading:
        """Read a checkpoint; see `Eyes`."""
        return read_with_times(uri, roots=self._roots())

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        """Read files of a folder; see `Eyes`."""
        read = open_tree(folder, roots=self._roots()).for_large_files().read_many(dict.fromkeys(paths))
        return {path: data for path, data in read.items() if isinstance(data, bytes)}

    @property
    def target(self) -> ClusterConfig:
        """How the new cluster is reached; see `Eyes`."""
        return self.migration.target

    def new_cluster(self, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read the new cluster; see `Eyes`."""
        return read_cluster(self.migration, Cluster.NEW, topics=topics, groups=groups, mirror=False)

    def ends(self, cluster: str, transactions: tuple[PlannedTransaction, ...]) -> Ends:
        """Read what became of transactions; see `Eyes`."""
        config = self.migration.named(cluster)
        return transactions_of(config).read_ends(config, transactions)

    def _roots(self) -> tuple[str, ...]:
        return (*self.migration.checkpoint_roots, *self.migration.write_roots)


def unfinished(uri: str, eyes: Eyes) -> str | None:
    """Say why a copy counts as absent: on an object store its marker, put last, tells that it is whole."""
    if "://" not in uri or eyes.files(uri, (COPY_MARKER,)):
        return None
    return f"{uri} lacks {COPY_MARKER}: it is no whole copy, and counts as absent."


def changed_file(step: ReceiptStep, eyes: Eyes, *, gone_is_fine: bool) -> str | None:
    """Say which written file is another one now. A running job purges old ones."""
    written = {one.path: one.sha256 for one in step.files if one.sha256 is not None and not one.path.endswith(".crc")}
    found = eyes.files(step.place, tuple(written))
    for path, digest in written.items():
        if path not in found:
            if not gone_is_fine:
                return f"{step.place}/{path} was written, and cannot be read now."
        elif sha256(found[path]).hexdigest() != digest:
            return f"{step.place}/{path} is not the file that was written."
    return None
