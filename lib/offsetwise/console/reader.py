"""The library's functions by name of migration: the layer between the pages and the library."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from offsetwise import workflow
from offsetwise.approval import demo
from offsetwise.bundled import Bundled
from offsetwise.clusters import reading as clusters
from offsetwise.clusters.reading import MinimumAcls, ReadCluster
from offsetwise.clusters.retention import ReaderPosition
from offsetwise.config import Migration
from offsetwise.console import drifts
from offsetwise.console.drifts import Drifts, PlanOf, PlansOf
from offsetwise.console.jobs.drafting import DraftedJobs, SetRequest, draft_jobs
from offsetwise.console.observations import Observations
from offsetwise.console.offered import Offered, free_name, offer_of
from offsetwise.console.warm_spark import SparkNow, WarmSpark
from offsetwise.engines.batch_files import BatchFiles
from offsetwise.engines.engine import CheckpointReading
from offsetwise.errors import ConfigError, OffsetwiseError
from offsetwise.fleets import Fleet
from offsetwise.lag.archive import Archive
from offsetwise.lag.moments import Key
from offsetwise.lag.subject import LagSubject
from offsetwise.lag.view import LagView, PartitionView, lag_view, partition_view
from offsetwise.model import Checkpoint, Cluster, Comparison, Plan, Reconciliation, Subject, time_of
from offsetwise.model.state import StateRows
from offsetwise.plan.drift import Drift
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.strategies import Strategy, judge_strategies
from offsetwise.progress import Progress
from offsetwise.store.store import open_store
from offsetwise.streams.access import Permissions, Step
from offsetwise.transactions.report import SinkTransactions
from offsetwise.transactions.snapshot import SinkSnapshot
from offsetwise.watch import statuses
from offsetwise.watch.background import BackgroundSamplers, Sampling
from offsetwise.watch.recording import RecordedLook, recorded_cutover, recorded_lag
from offsetwise.watch.sampler import Keeper
from offsetwise.watch.statuses import BackgroundStatuses, WatchedStatus
from offsetwise.workflow.repairing import FittingRepair

__all__ = [
    "HELD_ANSWERS",
    "LIVE_ONLY",
    "MIGRATIONS_VARIABLE",
    "Offered",
    "PlanOf",
    "PlansOf",
    "Reader",
    "reader_of_process",
]

MIGRATIONS_VARIABLE: Final = "OFFSETWISE_MIGRATIONS"
"""Names the migration files of this process, separated as in PATH. `launch` sets it."""

HELD_ANSWERS: Final = 16
"""Answers of each kind kept in memory; the least recently used is dropped first."""


class Reader:
    """Reads migrations by name with the same functions as the command line, and bundled samples from their recordings.

    Args:
        files: The migration files; the bundled samples are always offered before them.
        folders: For each file, the folder with the comparisons, plans, approvals and receipts of its migration; files
            beyond have none.
    """

    def __init__(self, files: tuple[Path, ...], folders: tuple[Path, ...] = ()) -> None:
        self._samples = {f"{workflow.sample(which).name} (sample)": which for which in Bundled}
        self._migrations: dict[str, Migration] = {name: workflow.sample(which) for name, which in self._samples.items()}
        self._sources: dict[str, tuple[Path, Path | None]] = {}
        """The migration file of each live migration, and the folder that commands write to for it."""
        for file, migration in zip(files, workflow.load_migrations(files), strict=True):
            name = free_name(migration.name, set(self._migrations))
            self._migrations[name] = migration
            self._sources[name] = (file, next(iter(folders[len(self._sources) :]), None))
        self._keeper = Keeper(open_store)
        self._samplers = BackgroundSamplers(self._keeper)
        self._lock = threading.Lock()
        self._recordings: dict[str, Archive] = {}
        self._observations = Observations()
        self._spark = WarmSpark()
        self._statuses = BackgroundStatuses()
        self._cutovers: dict[str, tuple[RecordedLook, ...]] = {}

    def offered(self) -> tuple[Offered, ...]:
        return tuple(
            offer_of(migration, name, recorded=name in self._samples, folder=self._sources.get(name, (None, None))[1])
            for name, migration in self._migrations.items()
        )

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        """Compare on the live clusters; for the sample, return the recorded comparison."""
        if migration in self._samples:
            return workflow.sample_comparison(subject.name, self._samples[migration])
        with self._spark.in_use():
            comparison = workflow.compare(self._migrations[migration], subject, progress=progress)
        comparison = workflow.with_services(self._migrations[migration], comparison)
        return self._observations.keep(migration, subject, comparison)

    def comparisons(self, migration: str, progress: Progress) -> Iterator[tuple[Subject, Comparison | OffsetwiseError]]:
        """Compare all subjects of a migration; yield each comparison, or its error, as soon as it is ready."""
        jobs = self._migrations[migration]
        with self._spark.in_use():
            for comparison in workflow.compare_all(jobs, progress=progress):
                subject = Subject(kind=comparison.job.kind, name=comparison.job.name)
                if isinstance(comparison.outcome, OffsetwiseError):
                    yield subject, comparison.outcome
                else:
                    outcome = workflow.with_services(jobs, comparison.outcome)
                    yield subject, self._observations.keep(migration, subject, outcome)

    def reconciliation(self, migration: str, topic: str, progress: Progress) -> Reconciliation:
        if migration in self._samples:
            return workflow.sample_reconciliation(topic, self._samples[migration])
        with self._spark.in_use():
            return workflow.reconcile(self._migrations[migration], topic, progress=progress)

    def cluster(self, migration: str, cluster: Cluster, progress: Progress) -> ReadCluster:
        if migration in self._samples:
            return clusters.recorded(self._migrations[migration], cluster, self._samples[migration])
        return clusters.read(self._migrations[migration], cluster, progress)

    def connection(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[Step, ...]:
        return clusters.try_connection(self._migrations[migration], cluster, progress)

    def permissions(self, migration: str, cluster: Cluster, progress: Progress) -> Permissions:
        return clusters.read_permissions(self._migrations[migration], cluster, progress)

    def minimum_acls(self, migration: str, cluster: Cluster, progress: Progress) -> MinimumAcls:
        progress("read the checkpoints", 0, 1)
        return clusters.minimum_acls(self._migrations[migration], cluster)

    def standings(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[ReaderPosition, ...]:
        return clusters.standings(self._migrations[migration], cluster, progress)

    def checkpoint_reading(
        self, migration: str, name: str, retained: int | None, progress: Progress
    ) -> CheckpointReading:
        progress("read the checkpoint", 0, 1)
        reading = workflow.checkpoint_reading(self._migrations[migration], name, retained=retained)
        return replace(reading, checkpoint=self._as_recorded(migration, reading.checkpoint))

    def fitting_repairs(self, migration: str, name: str, progress: Progress) -> tuple[FittingRepair, ...]:
        progress("read the checkpoint", 0, 1)
        of = self._migrations[migration]
        return workflow.fitting_repairs(of.checkpoint(name).uri, roots=of.checkpoint_roots)

    def batch_files(self, migration: str, name: str, batch: int, progress: Progress) -> BatchFiles:
        progress("read the batch's files", 0, 1)
        return workflow.batch_files(self._migrations[migration], name, batch)

    def state_rows(self, migration: str, name: str, progress: Progress) -> StateRows:
        with self._spark.in_use():
            return workflow.state_rows(self._migrations[migration], name, progress=progress)

    def sink_transactions(
        self, migration: str, name: str, topics: tuple[str, ...], progress: Progress
    ) -> SinkTransactions:
        """Read the transactions of a checkpoint's sinks on their cluster, and those of further topics there.

        For the sample, decide from its recording.
        """
        return workflow.sink_transactions(
            self._migrations[migration],
            name,
            topics=topics,
            upgrade=True,
            snapshot=self._sink_snapshot(migration),
            progress=progress,
        )

    def settled(self, migration: str, subject: Subject, request: DraftRequest, progress: Progress) -> Plan:
        """Draft a plan that only ends transactions of a checkpoint's sinks, from a new look at their cluster.

        For the sample, draft from its recording and at its time: the transactions have timed out since.
        """
        sink = self._sink_snapshot(migration)
        now = time_of(datetime.now(UTC)) if sink is None else sink.looks.taken_at
        return workflow.draft(
            self._migrations[migration], subject, request, drafted_at=now, sink=sink, progress=progress
        )

    def _sink_snapshot(self, migration: str) -> SinkSnapshot | None:
        return workflow.sample_sink(self._samples[migration]) if migration in self._samples else None

    def fleet(self, migration: str, progress: Progress) -> Fleet:
        with self._spark.in_use():
            fleet = workflow.fleet(self._migrations[migration], progress=progress)
        if migration not in self._samples:
            return fleet
        rows = (
            replace(row, read=self._as_recorded(migration, row.read)) if isinstance(row.read, Checkpoint) else row
            for row in fleet.rows
        )
        return replace(fleet, rows=tuple(rows))

    def _as_recorded(self, migration: str, checkpoint: Checkpoint) -> Checkpoint:
        """Return a checkpoint of a bundled sample with the time of its recording: its files were copied since."""
        if migration not in self._samples:
            return checkpoint
        named = (config.name for config in self._migrations[migration].checkpoints if config.uri == checkpoint.uri)
        recorded = (workflow.sample_comparison(name, self._samples[migration]).checkpoint for name in named)
        times = (candidate.details.written_ms for candidate in recorded if candidate is not None)
        at_ms = next(times, None)
        return checkpoint if at_ms is None else replace(checkpoint, details=checkpoint.details.recorded(at_ms))

    def drift(self, migration: str, of: PlanOf, progress: Progress) -> tuple[Drift, ...]:
        """Return what no longer matches a plan's preconditions.

        Raises:
            ConfigError: This console was started without the plan's migration.
        """
        plan = of.plan
        which = demo.sample_of(plan)
        if which is not None:
            return workflow.sample_drift(plan, which)
        definition = self._migration_of(migration)
        with self._spark.in_use():
            return workflow.drift(plan, definition, progress=progress)

    def drift_of_set(self, migration: str, of: PlansOf, progress: Progress) -> Drifts:
        """Return the drift of each plan of a set, by digest. Each cluster is read once.

        Raises:
            ConfigError: This console was started without the plans' migration.
            ClusterError: A cluster cannot be read at all.
        """
        recorded = drifts.recorded(of)
        if recorded is not None:
            return recorded
        with self._spark.in_use():
            return drifts.live(self._migration_of(migration), of, progress)

    def draft_set(self, migration: str, request: SetRequest, progress: Progress) -> DraftedJobs:
        compared = {
            job: observation for job in request.jobs if (observation := self._observations.newest(migration, job))
        }
        with self._spark.in_use():
            keep = partial(self._observations.keep, migration)
            return draft_jobs(self._migrations[migration], request, compared, keep, progress)

    def _migration_of(self, migration: str) -> Migration:
        migrations = [
            candidate
            for name, candidate in self._migrations.items()
            if name not in self._samples and candidate.name == migration
        ]
        if not migrations:
            raise ConfigError(
                f"Plan: expected its migration {migration!r} among those of this console, it is not. Whether "
                "anything changed cannot be seen here.",
                fix="Look from a console that was started with the plan's migration file, or go on without: "
                "`offsetwise apply` looks again before it writes anything.",
            )
        return migrations[0]

    def lag(self, migration: str, subject: Subject, window_ms: int, progress: Progress) -> LagView | None:
        progress("read the samples", 0, 1)
        return lag_view(self._archive(migration), self._subject(migration, subject), window_ms)

    def lag_of_partition(
        self, migration: str, subject: Subject, window_ms: int, key: Key, progress: Progress
    ) -> PartitionView | None:
        progress("read the partition's samples", 0, 1)
        return partition_view(self._archive(migration), self._subject(migration, subject), key, window_ms)

    def warm_spark(self, migration: str) -> SparkNow | None:
        """Start Spark for a migration with clusters, unless it was started; None for a recorded one."""
        live = None if migration in self._samples else self._migrations.get(migration)
        return None if live is None else self._spark.open(live.spark)

    def sampling(self, migration: str) -> Sampling | None:
        return self._samplers.sampling(migration)

    def start_sampling(self, migration: str, every_s: float) -> None:
        if migration not in self._samples:
            self._samplers.start(migration, self._migrations[migration], every_s)

    def stop_sampling(self, migration: str) -> None:
        self._samplers.stop(migration)

    def status_watch(self, migration: str) -> WatchedStatus | None:
        return self._statuses.watched(migration)

    def watch_status(self, migration: str, still_for_s: float) -> None:
        if migration in self._sources:
            file, folder = self._sources[migration]
            self._statuses.start(migration, statuses.command(file, folder, still_for_s=still_for_s))

    def stop_status(self, migration: str) -> None:
        self._statuses.stop(migration)

    def recorded_cutover(self, migration: str) -> tuple[RecordedLook, ...]:
        """Return the looks of the cutover that was recorded with a sample; empty if there is none."""
        if migration not in self._samples:
            return ()
        with self._lock:
            if migration not in self._cutovers:
                self._cutovers[migration] = recorded_cutover(self._samples[migration])
            return self._cutovers[migration]

    def close(self) -> None:
        self._statuses.close()

    def observed(self, migration: str, subject: Subject, comparison: Comparison) -> Comparison | None:
        if migration in self._samples:
            return workflow.with_sample_snapshots(comparison, self._samples[migration])
        return self._observations.of(migration, subject, comparison)

    def strategies(
        self, migration: str, subject: Subject, comparison: Comparison, *, sink_rewound: bool
    ) -> tuple[Strategy, ...]:
        return judge_strategies(
            comparison, self._migrations[migration], checkpoint=subject.checkpoint, sink_rewound=sink_rewound
        )

    def draft(self, migration: str, subject: Subject, full: Comparison, request: DraftRequest, drafted_at: str) -> Plan:
        return workflow.draft(self._migrations[migration], subject, request, drafted_at=drafted_at, comparison=full)

    def _archive(self, migration: str) -> Archive:
        if migration not in self._samples:
            return self._keeper.store()
        with self._lock:
            if migration not in self._recordings:
                self._recordings[migration] = recorded_lag(self._samples[migration])
            return self._recordings[migration]

    def _subject(self, migration: str, subject: Subject) -> LagSubject:
        return LagSubject.in_migration(self._migrations[migration].name, subject)


def reader_of_process() -> Reader:
    """Return a reader of the migrations that this process was started with; without any, of the bundled samples only.

    Raises:
        ConfigError: A migration file cannot be used.
    """
    files = os.environ.get(MIGRATIONS_VARIABLE, "")
    return Reader(tuple(Path(file) for file in files.split(os.pathsep) if file))


LIVE_ONLY: Final = frozenset(
    verb.__name__
    for verb in (
        *(Reader.comparisons, Reader.connection, Reader.permissions, Reader.standings),
        *(Reader.state_rows, Reader.drift, Reader.drift_of_set, Reader.draft_set, Reader.settled),
    )
)
"""Methods that a bundled sample does not answer at once from its files."""
