"""A migration: its jobs, both clusters, and operations on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from offsetwise import config, new_files, workflow
from offsetwise.api.job import Compared, Job, with_settings, write_positions
from offsetwise.config import load_migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import (
    Cluster,
    Cutover,
    CutoverRequirement,
    Reconciliation,
    Snapshot,
    Status,
    Subject,
    SubjectKind,
    Target,
)
from offsetwise.plan.request import DraftRequest
from offsetwise.progress import Progress, no_progress
from offsetwise.workflow import WantedJob

if TYPE_CHECKING:
    from offsetwise.api.drafting import DraftedJob
    from offsetwise.api.plan import Plan
    from offsetwise.api.plan_set import PlanSet
    from offsetwise.api.status_watch import OfWatch
    from offsetwise.fleets import Fleet
    from offsetwise.transactions.report import SinkTransactions
    from offsetwise.transactions.snapshot import SinkSnapshot


@dataclass(frozen=True, slots=True)
class Migration:
    """Two clusters and the jobs that move from one to the other."""

    settings: config.Migration
    """The migration file, as read."""
    path: Path | None = None
    """The path of the file; None for a migration created in memory."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a migration file. Nothing is contacted.

        Raises:
            ConfigError: The file cannot be used.
        """
        return cls(load_migration(Path(path)), Path(path))

    @property
    def name(self) -> str:
        return self.settings.name

    def checkpoint(self, name: str) -> Job:
        """Return the job of a checkpoint, by its name in the migration file.

        Raises:
            ConfigError: The file has no such checkpoint.
        """
        self.settings.checkpoint(name)
        return Job(self, Subject(kind=SubjectKind.CHECKPOINT, name=name))

    def positions(self, file: str | Path, *, shape: str | None = None) -> Job:
        """Return the job of a positions file, to compare it.

        Args:
            file: The positions file. To draft a plan from it, name it under `positions` in the migration file, so that
                it is read again before anything is written.
            shape: `SHAPE` or `SHAPE:WORD`; detected if None.

        Raises:
            ConfigError: A checkpoint of the migration file has that name.
        """
        part = "positions" if shape is None else f"positions:{shape}"
        named = config.CheckpointConfig(name=str(file), uri=f"{file}#{part}")
        return Migration(self.settings.with_positions(named)).checkpoint(named.name)

    def group(self, name: str) -> Job:
        return Job(self, Subject(kind=SubjectKind.GROUP, name=name))

    def wave(self, name: str) -> tuple[Job, ...]:
        """Return the jobs of a wave, in the order of the migration file.

        Raises:
            ConfigError: The migration file has no such wave.
        """
        subjects = self.settings.wave(name).jobs_of(self.settings.all_jobs)
        return tuple(Job(self, subject) for subject in subjects)

    def job(self, *, checkpoint: str | None = None, group: str | None = None) -> Job:
        """Return the job of a checkpoint or of a group.

        Raises:
            ConfigError: Both are named, or neither; or the file has no such checkpoint.
        """
        if (checkpoint is None) == (group is None):
            Job(self).named()
        return self.group(str(group)) if checkpoint is None else self.checkpoint(checkpoint)

    def snapshot(self, cluster: Cluster, *, topics: Sequence[str] | None = None) -> Snapshot:
        """Read one cluster: all topics, or the named ones, and the groups of the migration.

        Raises:
            ClusterError: The cluster does not answer.
        """
        return workflow.snapshot(self.settings, cluster, topics=None if topics is None else tuple(topics))

    def fleet(self, *, parquet: str | Path | None = None, progress: Progress = no_progress) -> Fleet:
        """Read all checkpoints of the migration: those in its file, and all others below `checkpoint_roots`.

        Only what decides the restart of each is read; more than 3 are read on the migration's Spark.

        Args:
            parquet: A file to write, with a row for each checkpoint, in the order of `rows`. It must not exist.
            progress: Called with each step; its exception stops the reading.

        Returns:
            A row for each checkpoint, with its names in the migration file; an unreadable one is a row with the reason.
                `troubles` has the roots that could not be read, or not completely.

        Raises:
            FileError: The Parquet file exists, or its folder does not: nothing is read then. Or it cannot be written.
            SparkError: Spark cannot be started, or the job failed.
            WorkerError: The workers cannot run the parser.
        """
        from offsetwise.api.fleet import fleet_of  # noqa: PLC0415 - other commands do not need the files of fleets

        return fleet_of(self.settings, parquet, progress)

    def compare_all(
        self,
        jobs: Iterable[Job] | None = None,
        *,
        out: str | Path | None = None,
        parquet: str | Path | None = None,
        max_age_s: float = 3_600.0,
        snapshots: tuple[Snapshot, Snapshot] | None = None,
        records: bool = True,
        heard: Callable[[Compared], None] = lambda _: None,
        progress: Progress = no_progress,
    ) -> tuple[Compared, ...]:
        """Compare many jobs at once: each cluster is read once, and records in one search.

        Args:
            jobs: Jobs of this migration; None for all in its file.
            out: A folder for a file of each comparison, written as soon as it is made, and `summary.json` at the end.
                Still valid comparisons in it are not made again.
            parquet: A file to write at the end, with a row for each partition of each job. It must not exist.
            max_age_s: The maximum age of a comparison in the folder, in seconds.
            snapshots: The old and the new cluster as read before; then no cluster is contacted, and no record read.
            records: Whether to read records, with Spark. Without, no answer is better than CLAIMED.
            heard: Called with each job as soon as it is ready.
            progress: Called with each step.

        Returns:
            Each job with its comparison, or with the reason why it cannot be compared, in the order in which they
                became ready.

        Raises:
            ClusterError: A cluster cannot be read at all.
            ConfigError: No job, or properties with which Spark cannot read.
            FileError: The folder or file cannot be used. Files written before are kept.
            SparkError: Spark cannot read the records.
        """
        if parquet is not None:
            new_files.require_new(Path(parquet))
        requested = None if jobs is None else [WantedJob.of(job.named()) for job in jobs]
        done = []
        for comparison in workflow.compare_all(
            self.settings,
            requested,
            out=None if out is None else Path(out),
            max_age_s=max_age_s,
            snapshots=snapshots,
            content=records,
            progress=progress,
        ):
            compared = Compared(
                job=Job(self, Subject(kind=comparison.job.kind, name=comparison.job.name)),
                comparison=None if isinstance(comparison.outcome, OffsetwiseError) else comparison.outcome,
                error=comparison.outcome if isinstance(comparison.outcome, OffsetwiseError) else None,
                reused=comparison.reused,
                file=comparison.file,
            )
            heard(compared)
            done.append(compared)
        if parquet is not None:
            write_positions(Path(parquet), done)
        return tuple(done)

    def draft_all(
        self,
        *targets: Target,
        author: str,
        jobs: Iterable[Job] | None = None,
        wave: str | None = None,
        editors: Sequence[str] = (),
        cutover_ms: int | None = None,
        require: CutoverRequirement | None = None,
        settings: Mapping[str, object] | None = None,
        out: str | Path | None = None,
        max_age_s: float = 3_600.0,
        heard: Callable[[DraftedJob], None] = lambda _: None,
        progress: Progress = no_progress,
    ) -> PlanSet:
        """Return a set of plans, one for each of many jobs; `document.refused` has the reasons why a job has none.

        Args:
            targets: What to write; each job gets those that move jobs of its engine, under its own name.
            author: Who drafts the plans; barred from approving any of them.
            jobs: Jobs of this migration; None for all in its file.
            wave: The wave of the jobs, recorded in the set.
            editors: Who edited earlier versions; barred too.
            cutover_ms: When the jobs are to start on the new cluster, epoch ms.
            require: The state of the cutover that `apply` requires.
            settings: As for `Job.draft`; each target gets its own.
            out: A folder for the plans and `plan-set.json`. Still valid plans in it are not drafted again.
            max_age_s: The maximum age of the comparison of such a plan, in seconds.
            heard: Called with each job as soon as it is ready.
            progress: Called with each step.
        """
        from offsetwise.api.drafting import draft_all  # noqa: PLC0415 - approvals import the clients of clouds

        values = with_settings(settings or {})
        request = DraftRequest(
            targets=targets, author=author, editors=tuple(editors), cutover_ms=cutover_ms, cutover=require, **values
        )
        return draft_all(self, request, jobs, wave=wave, out=out, max_age_s=max_age_s, heard=heard, progress=progress)

    def transactions(
        self,
        checkpoint: str,
        *,
        topics: Sequence[str] = (),
        apart_s: float = 2,
        upgrade: bool = False,
        snapshot: SinkSnapshot | None = None,
        progress: Progress = no_progress,
    ) -> SinkTransactions:
        """Return the transactions of a Flink job's exactly-once sinks, each with a decision and its reason.

        Args:
            checkpoint: The name of a checkpoint in the migration file, or the path of another one of such a job.
            topics: Topics to search besides those that open transactions name.
            apart_s: The seconds between two observations of the cluster, in which a running job proceeds.
            upgrade: Whether to check the steps to two-phase commit (FLIP-319) as well.
            snapshot: The cluster as read before; it is not contacted then.
            progress: Called with each step.

        Raises:
            ConfigError: The file does not state the cluster that the sink writes to, or its properties cannot be used.
            UsageError: The checkpoint has no Kafka sink that writes in transactions, or the snapshot is of other sinks.
            StorageError: The checkpoint cannot be read.
            CheckpointError: It is no checkpoint.
            ClusterError: The cluster does not answer.
        """
        return workflow.sink_transactions(
            self.settings,
            checkpoint,
            topics=tuple(topics),
            apart_s=apart_s,
            upgrade=upgrade,
            snapshot=snapshot,
            progress=progress,
        )

    def sink_snapshot(
        self, *checkpoints: str, topics: Sequence[str] = (), apart_s: float = 2, progress: Progress = no_progress
    ) -> SinkSnapshot:
        """Read the transactions on the cluster of some checkpoints' sinks into a snapshot.

        `transactions` and `Job.draft` take it instead of the live cluster. Arguments and errors are those of
        `transactions`; the sinks must write to one cluster.
        """
        return workflow.sink_snapshot(
            self.settings, checkpoints, topics=tuple(topics), apart_s=apart_s, progress=progress
        )

    def cutover(
        self,
        *,
        topics: Sequence[str] = (),
        plan: Plan | None = None,
        still_for_s: float | None = None,
        every_s: float = 5.0,
        until_copied: bool = False,
        records: bool = True,
        heard: Callable[[Cutover], None] = lambda _: None,
        progress: Progress = no_progress,
    ) -> Cutover:
        """Watch whether the old logs have stopped growing and are on the new cluster; see `workflow.cutover`."""
        return workflow.cutover(
            self.settings,
            topics=tuple(topics),
            plan=None if plan is None else (plan.document, plan.digest),
            still_for_s=still_for_s,
            every_s=every_s,
            until_copied=until_copied,
            records=records,
            heard=heard,
            progress=progress,
        )

    def status(
        self,
        *,
        folder: str | Path | None = None,
        wave: str | None = None,
        trust: Sequence[str | Path] = (),
        lag_at_most: int = 0,
        snapshots: tuple[Snapshot, Snapshot] | None = None,
        watch: bool = False,
        every_s: float = 5.0,
        records: bool = True,
        heard: Callable[[Status], None] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
        progress: Progress = no_progress,
        **of_watch: Unpack[OfWatch],
    ) -> Status:
        """Return the state of every job, from current readings; docs/status.md has the table of states.

        Args:
            folder: The folder with comparisons, plans, approvals and receipts.
            wave: Only the jobs of one wave.
            trust: The `.pub` files of reviewers besides those that the migration file trusts.
            lag_at_most: A moved job with at most this many records to read counts as caught up, even if it had fewer.
            snapshots: The old and the new cluster as read before; no cluster is contacted then.
            watch: Repeat until every job has caught up, and watch the old logs meanwhile.
            every_s: Seconds between two observations of a watch.
            records: Whether a watch searches for the copies of the records, with Spark. Without, nothing is MIRRORED.
            heard: Called with every status.
            note: Called with a sentence about each thing that cannot be read.
            progress: Called with each step.
            of_watch: For a watch: `still_for_s`, `keep_going`, `heard_logs`; see `OfWatch`.
        """
        from offsetwise.api import status_watch  # noqa: PLC0415 - approvals import the clients of clouds

        request = status_watch.requested(
            self.settings, self.path, folder, wave=wave, trust=trust, lag_at_most=lag_at_most, snapshots=snapshots
        )
        if not watch:
            return status_watch.read_once(request, heard, note, progress).status
        return status_watch.watch_status(request, every_s=every_s, records=records, heard=heard, note=note, **of_watch)

    def reconcile(self, topic: str, *, progress: Progress = no_progress) -> Reconciliation:
        """Count the records of a whole topic on both clusters, on Spark; see `workflow.reconcile`."""
        return workflow.reconcile(self.settings, topic, progress=progress)
