"""One job of a migration: read, compare, draft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offsetwise import new_files, workflow
from offsetwise.errors import ConfigError, OffsetwiseError, UsageError
from offsetwise.model import (
    Checkpoint,
    Comparison,
    CutoverRequirement,
    Override,
    Snapshot,
    Subject,
    Target,
    TopicPartition,
    time_of,
)
from offsetwise.plan import options
from offsetwise.plan.request import DraftRequest, SettlementChoice, StartChoice, Unset
from offsetwise.plan.settings import texts
from offsetwise.progress import Progress, no_progress

if TYPE_CHECKING:
    from offsetwise.api.migration import Migration
    from offsetwise.api.plan import Plan
    from offsetwise.transactions.snapshot import SinkSnapshot


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a migration, which a plan moves: a checkpoint, or a consumer group."""

    migration: Migration
    subject: Subject | None = None
    """The moved subject; None for the subject of the comparison that a plan is drafted from."""

    def __str__(self) -> str:
        return str(self.subject)

    def named(self) -> Subject:
        """Return the subject.

        Raises:
            ConfigError: There is none.
        """
        if self.subject is None:
            raise ConfigError(
                "expected either a checkpoint or a group, found both or neither. Nothing was read.",
                fix="Name one checkpoint of the migration file, or one consumer group.",
            )
        return self.subject

    def inspect(self) -> Checkpoint:
        """Read the current checkpoint.

        Raises:
            UsageError: The job is a group's.
            StorageError: It cannot be read, or lies outside the migration's roots.
            CheckpointError: It is no checkpoint.
        """
        subject = self.named()
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
        progress: Progress = no_progress,
    ) -> Comparison:
        """Translate every position, and prove it as far as the records allow.

        Args:
            snapshots: The old and the new cluster as read before; then no cluster is contacted, and no record read.
            records: Whether to read records, with Spark. Without, no answer is better than CLAIMED.
            progress: Called with each step.

        Returns:
            The comparison, with a row for each partition of each source.

        Raises:
            CheckpointError: The checkpoint cannot be used.
            ClusterError: A cluster cannot be read.
            ConfigError: Properties with which Spark cannot read.
            SparkError: Spark cannot read the records.
        """
        return workflow.compare(
            self.migration.settings, self.named(), snapshots=snapshots, content=records, progress=progress
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
        progress: Progress = no_progress,
    ) -> Plan:
        """Draft a plan: where every partition resumes, why that is right, and what must still hold when it is applied.

        Args:
            targets: What to write; see `offsetwise.targets`.
            author: Who drafts it. Recorded, not verified; barred from approving.
            comparison: Draft from this one; by default the job is compared again.
            editors: Who edited an earlier version; barred too.
            rewind_to: Go back to this earlier batch.
            overrides: Offsets that people decided, each with its partition of the old cluster.
            starts: Topics that start elsewhere than at their translated offsets.
            unset: What to do for a group's partitions without a commit, if neither a person nor the file decides.
            settlements: People's decisions about transactions of the sink that nothing explains.
            sink_topics: Topics of the sink to search for transactions, besides those that open ones name.
            sink_snapshot: The sink's cluster as read before; it is not contacted then.
            sink_rewound: Whether the sink is taken back with the job.
            cutover_ms: When the job is to start on the new cluster, epoch ms.
            require: The state of the cutover that `apply` requires.
            repair: The kind of repair of the checkpoint's copy; see `offsetwise.repair`.
            settings: Values of a target's keys, such as `{"create_table": True}`; `offsetwise targets NAME` lists them.
            progress: Called with each step.

        Raises:
            PlanError: There are objections; the message names all of them.
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
            **with_settings(settings or {}, rewind_to=rewind_to, unset=unset, repair=repair),
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


def with_settings(
    settings: Mapping[str, object],
    *,
    rewind_to: int | None = None,
    unset: Unset | None = None,
    repair: str | None = None,
) -> dict[str, Any]:
    """Return the decisions about the job in a request: each value in `settings`, or else the argument."""
    others, decided = options.of_engines(dict(texts(settings)))
    return {
        "rewind_to": decided.get("rewind_to", rewind_to),
        "unset": Unset(decided["unset"]) if "unset" in decided else unset,
        "repair": decided.get("repair", repair),
        "settings": texts(others),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The result of comparing one job of many: its comparison, or why it could not be compared."""

    job: Job
    comparison: Comparison | None
    error: OffsetwiseError | None
    reused: bool
    """Whether the comparison comes from an earlier call, and is still valid."""
    file: Path | None
    """The file of the comparison; None without a folder."""


def write_positions(path: Path, compared: Iterable[Compared]) -> None:
    """Write the positions of the compared jobs as a new Parquet file, in the order of the jobs' names."""
    from offsetwise.workflow.compared_parquet import parquet_of  # noqa: PLC0415 - Arrow takes a quarter of a second

    pairs = [
        (str(compared_job.job), compared_job.comparison)
        for compared_job in compared
        if compared_job.comparison is not None
    ]
    new_files.write_new(path, parquet_of(sorted(pairs, key=itemgetter(0))))
