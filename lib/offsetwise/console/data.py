"""The console's data: the workflow's verbs, found through the process and never through the browser."""

from __future__ import annotations

import os
from pathlib import Path

from offsetwise import workflow
from offsetwise.approval import demo
from offsetwise.bundled import Bundled
from offsetwise.clusters import reading as clusters
from offsetwise.clusters.reading import MinimumAcls, ReadCluster
from offsetwise.clusters.retention import Standing
from offsetwise.config import Migration
from offsetwise.console.desk import MIGRATIONS_VARIABLE, Offered, Subject, SubjectKind
from offsetwise.console.lag.source import LagSource
from offsetwise.console.observations import Observations
from offsetwise.errors import ConfigError
from offsetwise.fleet import Fleet
from offsetwise.lag.moments import Key
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.model import Cluster, Comparison, Plan, Reconciliation
from offsetwise.model.state import StateRows
from offsetwise.plan.drift import Drift
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.strategies import Strategy, judge_strategies
from offsetwise.progress import Progress
from offsetwise.sources.connection import Step
from offsetwise.sources.permissions import Permissions
from offsetwise.sources.spark_batch_files import BatchFiles
from offsetwise.sources.spark_reading import CheckpointReading
from offsetwise.watch.background import Sampling


def reader_of_process() -> WorkflowReader:
    """Read the migrations that this process was started with; without any, only the bundled samples.

    Raises:
        ConfigError: A migration file cannot be used.
    """
    files = os.environ.get(MIGRATIONS_VARIABLE, "")
    return WorkflowReader(tuple(Path(file) for file in files.split(os.pathsep) if file))


class WorkflowReader:
    """Reads through the same verbs as the command line.

    Args:
        files: The migration files; the bundled samples are always offered before them.
    """

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._samples = {f"{workflow.sample(which).name} (sample)": which for which in Bundled}
        self._migrations: dict[str, Migration] = {name: workflow.sample(which) for name, which in self._samples.items()}
        for migration in workflow.load_migrations(files):
            self._migrations[_free_name(migration.name, set(self._migrations))] = migration
        self._lag = LagSource(self._migrations, self._samples)
        self._observations = Observations()

    def offered(self) -> tuple[Offered, ...]:
        """Give the samples and the migrations of the files."""
        return tuple(
            _offered(migration, name, recorded=name in self._samples) for name, migration in self._migrations.items()
        )

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        """Compare on the live clusters; of the sample, give what was recorded with it."""
        if migration in self._samples:
            return workflow.sample_comparison(subject.name, self._samples[migration])
        checkpoint, group = _names(subject)
        seen = workflow.observe(self._migrations[migration], checkpoint=checkpoint, group=group, progress=progress)
        self._observations.keep(migration, subject, seen)
        return seen.comparison

    def reconciliation(self, migration: str, topic: str, progress: Progress) -> Reconciliation:
        """Count a topic on the live clusters; of the sample, give what was recorded with it."""
        if migration in self._samples:
            return workflow.sample_reconciliation(topic, self._samples[migration])
        return workflow.reconcile(self._migrations[migration], topic, progress=progress)

    def cluster(self, migration: str, cluster: Cluster, progress: Progress) -> ReadCluster:
        """Read one live cluster; of the sample, give what was recorded with it."""
        if migration in self._samples:
            return clusters.recorded(self._migrations[migration], cluster, self._samples[migration])
        return clusters.read(self._migrations[migration], cluster, progress)

    def connection(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[Step, ...]:
        """Try to reach one cluster."""
        return clusters.try_connection(self._migrations[migration], cluster, progress)

    def permissions(self, migration: str, cluster: Cluster, progress: Progress) -> Permissions:
        """Ask one cluster what its user may do."""
        return clusters.read_permissions(self._migrations[migration], cluster, progress)

    def minimum_acls(self, migration: str, cluster: Cluster) -> MinimumAcls:
        """Say how to grant what reading needs."""
        return clusters.minimum_acls(self._migrations[migration], cluster)

    def standings(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[Standing, ...]:
        """Read the positions in the logs of one cluster."""
        return clusters.standings(self._migrations[migration], cluster, progress)

    def checkpoint_reading(self, migration: str, name: str, retained: int | None = None) -> CheckpointReading:
        """Read a checkpoint, or another retained one of its job, with what its page shows beside it."""
        return workflow.checkpoint_reading(self._migrations[migration], name, retained=retained)

    def batch_files(self, migration: str, name: str, batch: int) -> BatchFiles:
        """Read the files of one batch as they stand."""
        return workflow.batch_files(self._migrations[migration], name, batch)

    def state_rows(self, migration: str, name: str, progress: Progress) -> StateRows:
        """Count the rows of a checkpoint's state stores, on Spark."""
        return workflow.state_rows(self._migrations[migration], name, progress=progress)

    def fleet(self, migration: str, progress: Progress) -> Fleet:
        """Read all checkpoints of a migration."""
        return workflow.fleet(self._migrations[migration], progress=progress)

    def drift(self, plan: Plan, progress: Progress) -> tuple[Drift, ...]:
        """Say what is not as a plan requires it.

        Raises:
            ConfigError: This console was started without the plan's migration.
        """
        which = demo.sample_of(plan)
        if which is not None:
            return workflow.sample_drift(plan, which)
        found = [
            each for name, each in self._migrations.items() if name not in self._samples and each.name == plan.migration
        ]
        if not found:
            raise ConfigError(
                f"Plan: expected its migration {plan.migration!r} among those of this console, it is not. Whether "
                "anything changed cannot be seen here.",
                fix="Look from a console that was started with the plan's migration file, or go on without: "
                "`offsetwise apply` looks again before it writes anything.",
            )
        return workflow.drift(plan, found[0], progress=progress)

    def lag(self, migration: str, subject: Subject, window_ms: int) -> LagView | None:
        """Look up what was sampled lately."""
        return self._lag.view(migration, subject, window_ms)

    def lag_of_partition(self, migration: str, subject: Subject, key: Key, window_ms: int) -> PartitionView | None:
        """Look up what was sampled lately of one partition."""
        return self._lag.partition(migration, subject, key, window_ms)

    def sampling(self, migration: str) -> Sampling | None:
        """Say what this process's sampler of a migration does."""
        return self._lag.sampling(migration)

    def start_sampling(self, migration: str, every_s: float) -> None:
        """Sample a migration in the background."""
        self._lag.start(migration, every_s)

    def stop_sampling(self, migration: str) -> None:
        """Stop sampling it."""
        self._lag.stop(migration)

    def observed(self, migration: str, subject: Subject, comparison: Comparison) -> workflow.Observed | None:
        """Give a comparison with the clusters as it read them."""
        if migration in self._samples:
            return workflow.sample_observed(comparison, self._samples[migration])
        return self._observations.of(migration, subject, comparison)

    def strategies(
        self, migration: str, subject: Subject, comparison: Comparison, *, sink_rewound: bool
    ) -> tuple[Strategy, ...]:
        """Judge the ways in which the job can move."""
        return judge_strategies(
            comparison, self._migrations[migration], checkpoint=_names(subject)[0], sink_rewound=sink_rewound
        )

    def draft(
        self, migration: str, subject: Subject, observed: workflow.Observed, request: DraftRequest, drafted_at: str
    ) -> Plan:
        """Draft a plan from what was read."""
        checkpoint, group = _names(subject)
        return workflow.draft(
            self._migrations[migration],
            request,
            drafted_at=drafted_at,
            checkpoint=checkpoint,
            group=group,
            observed=observed,
        )


def _names(subject: Subject) -> tuple[str | None, str | None]:
    """Give the names of the checkpoint and of the group: one of both."""
    return (None, subject.name) if subject.kind is SubjectKind.GROUP else (subject.name, None)


def _offered(migration: Migration, name: str, *, recorded: bool) -> Offered:
    groups = () if recorded else tuple(Subject(kind=SubjectKind.GROUP, name=group) for group in migration.groups)
    return Offered(
        name=name,
        old=migration.source.name,
        new=migration.target.name,
        subjects=tuple(Subject(kind=SubjectKind.CHECKPOINT, name=one.name) for one in migration.checkpoints) + groups,
        recorded=recorded,
    )


def _free_name(name: str, taken: set[str]) -> str:
    return name if name not in taken else next(made for n in range(2, 1_000) if (made := f"{name} ({n})") not in taken)
