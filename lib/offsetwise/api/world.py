"""The world of a migration, read live: what a plan is held against before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offsetwise.apply.recheck import RecordPlace
from offsetwise.config import Migration, java_properties
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Checkpoint, Cluster, IsolationLevel, Plan, Snapshot
from offsetwise.ports.stretches import ReadStretch, Stretch
from offsetwise.progress import Progress
from offsetwise.streams.reader import read_again, read_cluster
from offsetwise.transactions.report import SinkTransactions
from offsetwise.translation.identify import Records
from offsetwise.workflow.scenes import digests
from offsetwise.workflow.sinks import transactions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWorld:
    """Reads the clusters and checkpoints that a migration names."""

    migration: Migration
    progress: Progress

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read a cluster; see `World`."""
        return read_cluster(self.migration, side, topics=topics, groups=groups, mirror=False, progress=self.progress)

    def checkpoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint inside the migration's roots; see `World`."""
        return read_checkpoint(uri, roots=self.migration.checkpoint_roots, batches=0)

    def digests(self, uri: str, paths: tuple[str, ...]) -> Mapping[str, str]:
        """Give the SHA-256 of files of a checkpoint; see `World`."""
        return digests(self.migration, uri, paths)

    def transactions(self, plan: Plan) -> SinkTransactions:
        """Look twice at the transactions of the job's sinks; see `World`."""
        return transactions_of(self.migration, plan, progress=self.progress)

    def stretches(self, side: Cluster, wanted: Sequence[Stretch], *, salt: bytes) -> Sequence[ReadStretch]:
        """Read the records around places of a stream again; see `World`."""
        step = f"read the records around {len(wanted)} places of the {side} cluster again"
        self.progress(step, 0, 1)
        found = read_again(self.migration, side, wanted, salt=salt)
        self.progress(step, 1, 1)
        return found

    def records(
        self, side: Cluster, places: Sequence[RecordPlace], *, isolation: IsolationLevel, salt: bytes
    ) -> Mapping[RecordPlace, Records]:
        """Read single records, on Spark; see `World`."""
        from offsetwise.pipeline.places import read_places  # noqa: PLC0415 - PySpark takes half a second
        from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - as above

        step = f"read {len(places)} records of the {side} cluster again"
        self.progress(step, 0, 1)
        found = read_places(
            open_session(self.migration.spark, kafka=True),
            java_properties(self.migration.cluster(side)),
            places,
            isolation=isolation,
            salt=salt,
        )
        self.progress(step, 1, 1)
        return found
