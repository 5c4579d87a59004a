"""The world of a migration, read live: what a plan is held against before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offsetwise.apply.recheck import RecordPlace
from offsetwise.config import Migration, java_properties
from offsetwise.model import Checkpoint, Cluster, IsolationLevel, Snapshot
from offsetwise.progress import Progress
from offsetwise.sources import kafka
from offsetwise.sources.checkpoint import read_checkpoint
from offsetwise.translation.identify import Records
from offsetwise.workflow.comparing import digests


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWorld:
    """Reads the clusters and checkpoints that a migration names."""

    migration: Migration
    progress: Progress

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read a cluster; see `World`."""
        self.progress(f"read the {side} cluster", 0, 1)
        taken = kafka.read_cluster(side, self.migration.cluster(side), topics=topics, groups=groups, mirror=False)
        self.progress(f"read the {side} cluster", 1, 1)
        return taken

    def checkpoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint inside the migration's roots; see `World`."""
        return read_checkpoint(uri, roots=self.migration.checkpoint_roots, batches=0)

    def digests(self, uri: str, paths: tuple[str, ...]) -> Mapping[str, str]:
        """Give the SHA-256 of files of a checkpoint; see `World`."""
        return digests(self.migration, uri, paths)

    def records(
        self, side: Cluster, places: Sequence[RecordPlace], *, isolation: IsolationLevel, salt: bytes
    ) -> Mapping[RecordPlace, Records]:
        """Read single records, on Spark; see `World`."""
        from offsetwise.pipeline.places import Place, read_places  # noqa: PLC0415 - PySpark takes half a second
        from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - as above

        step = f"read {len(places)} records of the {side} cluster again"
        self.progress(step, 0, 1)
        found = read_places(
            open_session(self.migration.spark, kafka=True),
            java_properties(self.migration.cluster(side)),
            [Place(topic=topic, partition=partition, offset=offset) for topic, partition, offset in places],
            isolation=isolation,
            salt=salt,
        )
        self.progress(step, 1, 1)
        return {(each.topic, each.partition, each.offset): records for each, records in found.items()}
