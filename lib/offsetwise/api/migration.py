"""A migration and its jobs: read, compare, count, draft."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from offsetwise import config, workflow
from offsetwise.config import load_migration
from offsetwise.errors import ConfigError, OffsetwiseError, UsageError
from offsetwise.model import (
    Checkpoint,
    Cluster,
    Comparison,
    Cutover,
    CutoverRequirement,
    Override,
    Reconciliation,
    Snapshot,
    Subject,
    SubjectKind,
    Target,
    TopicPartition,
    time_of,
)
from offsetwise.plan import options
from offsetwise.plan.request import DraftRequest, SettlementChoice, StartChoice, Unset
from offsetwise.plan.settings import texts
from offsetwise.progress import Progress, unheard
from offsetwise.workflow import WantedJob

if TYPE_CHECKING:
    from offsetwise.api.plan import Plan
    from offsetwise.transactions.report import SinkTransactions
    from offsetwise.transactions.snapshot import SinkSnapshot

_UNNAMED: Final = "expected either a checkpoint or a group, found both or neither. Nothing was read."
_NAME_ONE: Final = "Name one checkpoint of the migration file, or one consumer group."


@dataclass(frozen=True, slots=True)
class Migration:
    """Two clusters and the jobs that move from one to the other."""

    settings: config.Migration
    """The migration file, as read."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a migration file. Nothing is contacted.

        Raises:
            ConfigError: The file cannot be used.
        """
        return cls(load_migration(Path(path)))

    @property
    def name(self) -> str:
        """As the file names it."""
        return self.settings.name

    def checkpoint(self, name: str) -> Job:
        """Return the job of a checkpoint, by its name in the migration file.

        Raises:
            ConfigError: The file names no such checkpoint.
        """
        self.settings.checkpoint(name)
        return Job(self, Subject(kind=SubjectKind.CHECKPOINT, name=name))

    def positions(self, file: str | Path, *, shape: str | None = None) -> Job:
        """Return the job whose positions stand in a file, to compare them.

        Args:
            file: The positions file. To draft a plan from it, name it under `positions` in the migration file, where
                it is read again before anything is written.
            shape: `SHAPE` or `SHAPE:WORD`; recognised where none is given.

        Raises:
            ConfigError: A checkpoint of the migration file has that name.
        """
        named = config.PositionsConfig(name=str(file), file=str(file), shape=shape)
        return Migration(self.settings.with_positions(named)).checkpoint(named.name)

    def group(self, name: str) -> Job:
        """Return the job of a consumer group of the old cluster."""
        return Job(self, Subject(kind=SubjectKind.GROUP, name=name))

    def job(self, *, checkpoint: str | None = None, group: str | None = None) -> Job:
        """Return the one of both that is named.

        Raises:
            ConfigError: Both are named, or neither; or the file names no such checkpoint.
        """
        if (checkpoint is None) == (group is None):
            raise ConfigError(_UNNAMED, fix=_NAME_ONE)
        return self.group(str(group)) if checkpoint is None else self.checkpoint(checkpoint)

    def snapshot(self, cluster: Cluster, *, topics: Sequence[str] | None = None) -> Snapshot:
        """Read one cluster: all topics, or those named, and the groups of the migration.

        Raises:
            ClusterError: The cluster gave no answer.
        """
        return workflow.snapshot(self.settings, cluster, topics=None if topics is None else tuple(topics))

    def compare_all(
        self,
        jobs: Iterable[Job] | None = None,
        *,
        out: str | Path | None = None,
        max_age_s: float = 3_600.0,
        snapshots: tuple[Snapshot, Snapshot] | None = None,
        records: bool = True,
        heard: Callable[[Compared], None] = lambda _: None,
        progress: Progress = unheard,
    ) -> tuple[Compared, ...]:
        """Compare many jobs at once: each cluster is read once, and records in one search.

        Args:
            jobs: Jobs of this migration; None for all that its file names.
            out: A folder that gets a file for each comparison as soon as it is made, and `summary.json` in the end.
                What is there and still holds is not made again.
            max_age_s: How old that may be.
            snapshots: The old and the new cluster as read before; no cluster is contacted then, and no record read.
            records: Whether to read records, with Spark. Without, no answer is better than CLAIMED.
            heard: Called with each job as soon as it is ready.
            progress: Told each step.

        Returns:
            Each job with its comparison, or with the reason why it cannot be compared, as they became ready.

        Raises:
            ClusterError: A cluster cannot be read at all.
            ConfigError: No job, or properties that Spark cannot read with.
            FileError: The folder cannot be used. What was written before stays.
            SparkError: Spark cannot read the records.
        """
        wanted = None if jobs is None else [WantedJob.of(job._named()) for job in jobs]
        done = []
        for comparison in workflow.compare_all(
            self.settings,
            wanted,
            out=None if out is None else Path(out),
            max_age_s=max_age_s,
            snapshots=snapshots,
            content=records,
            progress=progress,
        ):
            compared = Compared(
                job=Job(self, Subject(kind=comparison.wanted.kind, name=comparison.wanted.name)),
                comparison=None if isinstance(comparison.outcome, OffsetwiseError) else comparison.outcome,
                error=comparison.outcome if isinstance(comparison.outcome, OffsetwiseError) else None,
                reused=comparison.reused,
                file=comparison.file,
            )
            heard(compared)
            done.append(compared)
        return tuple(done)

    def transactions(
        self,
        checkpoint: str,
        *,
        topics: Sequence[str] = (),
        apart_s: float = 2,
        upgrade: bool = False,
        snapshot: SinkSnapshot | None = None,
        progress: Progress = unheard,
    ) -> SinkTransactions:
        """Show the transactions of a Flink job's exactly-once sinks, each with what is to become of it and why.

        Args:
            checkpoint: The name of a checkpoint in the migration file, or the path of another one of such a job.
            topics: Topics to look at beside those that open transactions name.
            apart_s: The seconds between two looks at the cluster, in which a job that still runs moves.
            upgrade: Whether to judge the steps to two-phase commit (FLIP-319) as well.
            snapshot: What the cluster said before; it is not contacted then.
            progress: Told each step.

        Raises:
            ConfigError: The file does not state the cluster that the sink writes to, or its properties cannot be used.
            UsageError: The checkpoint has no Kafka sink that writes in transactions, or the snapshot is of others.
            StorageError: The checkpoint cannot be read.
            CheckpointError: It is no checkpoint.
            ClusterError: The cluster gave no answer.
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
        self, *checkpoints: str, topics: Sequence[str] = (), apart_s: float = 2, progress: Progress = unheard
    ) -> SinkSnapshot:
        """Take down what the cluster of some checkpoints' sinks says of their transactions.

        `transactions` and `Job.draft` take it in the place of the live cluster. Arguments and errors are those of
        `transactions`; the sinks write to one cluster.
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
        progress: Progress = unheard,
    ) -> Cutover:
        """Look whether the old cluster's logs stand still and are on the new cluster; see `workflow.cutover`."""
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

    def reconcile(self, topic: str, *, progress: Progress = unheard) -> Reconciliation:
        """Count a whole topic on both clusters, on Spark; see `workflow.reconcile`."""
        return workflow.reconcile(self.settings, topic, progress=progress)


@dataclass(frozen=True, slots=True)
class Job:
    """What a plan moves: a checkpoint, or a consumer group."""

    migration: Migration
    subject: Subject | None = None
    """Who is moved; None for whoever the comparison is of that a plan is drafted from."""

    def __str__(self) -> str:
        return str(self.subject)

    def _named(self) -> Subject:
        if self.subject is None:
            raise ConfigError(_UNNAMED, fix=_NAME_ONE)
        return self.subject

    def inspect(self) -> Checkpoint:
        """Read the checkpoint as it stands now.

        Raises:
            UsageError: The job is a group's.
            StorageError: It cannot be read, or lies outside the migration's roots.
            CheckpointError: It is no checkpoint.
        """
        subject = self._named()
        if subject.checkpoint is None:
            raise UsageError(
                f"Group {subject.name!r}: expected a checkpoint, found a consumer group. Nothing was read.",
                fix="Compare the group: its offsets are read from the old cluster.",
            )
        return workflow.checkpoint_reading(self.migration.settings, subject.checkpoint).checkpoint

    def compare(
        self,
        *,
        snapshots: tuple[Snapshot, Snapshot] | None = None,
        records: bool = True,
        progress: Progress = unheard,
    ) -> Comparison:
        """Translate every position, and prove it as far as the records allow.

        Args:
            snapshots: The old and the new cluster as read before; no cluster is contacted then, and no record read.
            records: Whether to read records, with Spark. Without, no answer is better than CLAIMED.
            progress: Told each step.

        Raises:
            CheckpointError: The checkpoint cannot be used.
            ClusterError: A cluster cannot be read.
            ConfigError: Properties that Spark cannot read with.
            SparkError: Spark cannot read the records.
        """
        return workflow.compare(
            self.migration.settings, self._named(), snapshots=snapshots, content=records, progress=progress
        )

    def draft(
        self,
        *targets: Target,
        author: str,
        comparison: Comparison | None = None,
        editors: Sequence[str] = (),
        rewind_to: int | None = None,
        overrides: Iterable[tuple[TopicPartition, Override]] = (),
        starts: Sequence[StartChoice] = (),
        unset: Unset | None = None,
        settlements: Sequence[SettlementChoice] = (),
        sink_topics: Sequence[str] = (),
        sink_snapshot: SinkSnapshot | None = None,
        sink_rewound: bool = False,
        cutover_ms: int | None = None,
        require: CutoverRequirement | None = None,
        repair: str | None = None,
        settings: Mapping[str, object] | None = None,
        progress: Progress = unheard,
    ) -> Plan:
        """Draft a plan: where every partition resumes, why that is right, and what must still hold when it is applied.

        Args:
            targets: What to write; see `offsetwise.targets`.
            author: Who drafts it. Recorded, not believed; barred from approving.
            comparison: Draft from this one; by default the job is compared anew.
            editors: Who edited an earlier version; barred too.
            rewind_to: Go back to this earlier batch.
            overrides: Offsets that people decided, each with its partition of the old cluster.
            starts: Topics that start elsewhere than at their translated offsets.
            unset: What to do about a group's partitions without a commit, where neither a person nor the file decides.
            settlements: Transactions of the sink that nothing explains, and that people decided about.
            sink_topics: Topics of the sink to search for transactions, beside those that open ones name.
            sink_snapshot: What the sink's cluster said before; it is not contacted then.
            sink_rewound: Whether the sink is taken back with the job.
            cutover_ms: When the job is to start on the new cluster, epoch ms.
            require: How far the cutover must have come before the plan is applied.
            repair: The kind of repair that the copy of the checkpoint gets; see `offsetwise.repair`.
            settings: Values of a target's keys, such as `{"create_table": True}`; `offsetwise targets NAME` lists them.
            progress: Told each step.

        Raises:
            PlanError: The plan may not be made; every reason is named.
            CheckpointError, ClusterError, SparkError: The checkpoint, a cluster or its records cannot be read.
        """
        request = DraftRequest(
            targets=targets,
            author=author,
            editors=tuple(editors),
            overrides=tuple(overrides),
            starts=tuple(starts),
            settlements=tuple(settlements),
            sink_topics=tuple(sink_topics),
            sink_rewound=sink_rewound,
            cutover_ms=cutover_ms,
            cutover=require,
            **_with_settings(settings or {}, rewind_to=rewind_to, unset=unset, repair=repair),
        )
        return self._drafted(request, comparison, sink_snapshot, progress)

    def _drafted(
        self, request: DraftRequest, comparison: Comparison | None, sink: SinkSnapshot | None, progress: Progress
    ) -> Plan:
        from offsetwise.api.plan import Plan  # noqa: PLC0415 - approvals import the clients of clouds, half a second

        plan = workflow.draft(
            self.migration.settings,
            self.subject,
            request,
            drafted_at=time_of(datetime.now(UTC)),
            comparison=comparison,
            sink=sink,
            progress=progress,
        )
        return Plan.of(plan, migration=self.migration)


def _with_settings(
    settings: Mapping[str, object], *, rewind_to: int | None, unset: Unset | None, repair: str | None
) -> dict[str, Any]:
    """Return what a request says of the job: of each value the one among settings, else the argument."""
    left, decided = options.of_engines(dict(texts(settings)))
    return {
        "rewind_to": decided.get("rewind_to", rewind_to),
        "unset": Unset(decided["unset"]) if "unset" in decided else unset,
        "repair": decided.get("repair", repair),
        "settings": texts(left),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One job of many: its comparison, or why it could not be compared."""

    job: Job
    comparison: Comparison | None
    error: OffsetwiseError | None
    reused: bool
    """Whether the comparison was made by an earlier call, and still holds."""
    file: Path | None
    """Of the comparison; None without a folder."""
