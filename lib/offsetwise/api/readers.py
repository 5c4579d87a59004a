"""Live readers of the clusters, checkpoints and files of a migration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from offsetwise.apply.readers import RecordPlace
from offsetwise.config import ClusterConfig, Migration, java_properties
from offsetwise.engines.checkpoint import read_checkpoint, read_with_times
from offsetwise.engines.engine import CheckpointReading
from offsetwise.errors import MissingError, NotAFolderError, StorageError
from offsetwise.model import Checkpoint, Cluster, Cutover, IsolationLevel, Plan, PlannedTransaction, Snapshot
from offsetwise.ports.stretches import ReadStretch, Stretch
from offsetwise.progress import Progress, no_progress
from offsetwise.storage.folders import open_tree
from offsetwise.storage.location import is_live
from offsetwise.streams.reader import read_again, read_cluster, transactions_reader
from offsetwise.transactions.ended import Ends
from offsetwise.transactions.report import SinkTransactions
from offsetwise.translation.identify import Records
from offsetwise.wording import duration
from offsetwise.workflow.cutting_over import cutover
from offsetwise.workflow.scenes import digests
from offsetwise.workflow.sinks import transactions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReaders:
    """Reads what a migration names; see `apply.readers.Readers`."""

    migration: Migration
    progress: Progress = no_progress

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        return read_cluster(self.migration, side, topics=topics, groups=groups, mirror=False, progress=self.progress)

    def checkpoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint inside the migration's roots."""
        return read_checkpoint(uri, roots=self.migration.checkpoint_roots, history=0)

    def with_times(self, uri: str) -> CheckpointReading:
        """Read a checkpoint or a copy inside the migration's roots, with the times of its files.

        For the folder of a job that retains checkpoints, it is the newest of them.
        """
        return read_with_times(uri, roots=self._roots, newest=True)

    def begun_checkpoint(self, stated: str | None) -> str | None:
        """Return the checkpoint of the moved job; None if the job has written none yet.

        Args:
            stated: Its location in the migration file, which is an empty or missing folder until then.
        """
        if stated is None or is_live(stated):
            return stated
        try:
            return stated if open_tree(stated, roots=self._roots).entries("") else None
        except NotAFolderError:
            return stated  # positions that another tool keeps in a file
        except MissingError:
            return None
        except StorageError:
            return stated  # reading it reports why it cannot be read

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        read = open_tree(folder, roots=self._roots).for_large_files().read_many(dict.fromkeys(paths))
        return {path: data for path, data in read.items() if isinstance(data, bytes)}

    def digests(self, checkpoint: Checkpoint, paths: tuple[str, ...]) -> Mapping[str, str]:
        return digests(self.migration, checkpoint, paths)

    def transactions(self, plan: Plan) -> SinkTransactions:
        return transactions_of(self.migration, plan, progress=self.progress)

    def cutover(self, plan: Plan) -> Cutover:
        def heard(cutover: Cutover) -> None:
            still_ms = min((row.still_ms for row in cutover.partitions), default=0)
            step = f"watch the old logs stand still for {duration(cutover.still_for_ms)}"
            self.progress(step, min(still_ms, cutover.still_for_ms) // 1000, cutover.still_for_ms // 1000)

        return cutover(self.migration, plan=(plan, None), heard=heard, progress=self.progress)

    def stretches(self, side: Cluster, requests: Sequence[Stretch], *, salt: bytes) -> Sequence[ReadStretch]:
        step = f"read the records around {len(requests):,} positions of the {side} cluster again"
        self.progress(step, 0, 1)
        stretches = read_again(self.migration, side, requests, salt=salt)
        self.progress(step, 1, 1)
        return stretches

    def records(
        self, side: Cluster, positions: Sequence[RecordPlace], *, isolation: IsolationLevel, salt: bytes
    ) -> Mapping[RecordPlace, Records]:
        from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - as above
        from offsetwise.pipeline.single_records import read_places  # noqa: PLC0415 - PySpark takes half a second

        step = f"read {len(positions):,} records of the {side} cluster again"
        self.progress(step, 0, 1)
        results = read_places(
            open_session(self.migration.spark, kafka=True),
            java_properties(self.migration.cluster(side)),
            positions,
            isolation=isolation,
            salt=salt,
        )
        self.progress(step, 1, 1)
        return results

    @property
    def target(self) -> ClusterConfig:
        return self.migration.target

    def ends(self, cluster: str, transactions: tuple[PlannedTransaction, ...]) -> Ends:
        config = self.migration.named(cluster)
        return transactions_reader(config).read_ends(config, transactions)

    @property
    def _roots(self) -> tuple[str, ...]:
        return (*self.migration.checkpoint_roots, *self.migration.write_roots)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedReaders(LiveReaders):
    """Answers from one reading of the new cluster if it has the topics and groups; reads everything else."""

    new: Callable[[], Snapshot]
    """Returns the reading; called at the first use of the cluster."""

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        if side is Cluster.NEW:
            new = self.new()
            if {topic.name for topic in new.topics} >= {*topics} and {group.name for group in new.groups} >= {*groups}:
                return new
        return LiveReaders.cluster(self, side, topics, groups)
