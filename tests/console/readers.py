"""A reader that answers from values, and counts what it was asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from offsetwise import workflow
from offsetwise.clusters.reading import MinimumAcls, ReadCluster
from offsetwise.clusters.retention import ReaderPosition
from offsetwise.console.reader import Offered, PlanOf, Reader
from offsetwise.console.warm_spark import SparkNow, Warmth
from offsetwise.engines.batch_files import BatchFiles
from offsetwise.engines.checkpoint import read_batch_files, read_with_times
from offsetwise.engines.engine import CheckpointReading
from offsetwise.errors import ClusterError, OffsetwiseError
from offsetwise.fleets import Fleet
from offsetwise.lag.archive import Archive, Recording
from offsetwise.lag.moments import Key
from offsetwise.lag.subject import LagSubject
from offsetwise.lag.view import LagView, PartitionView, lag_view, partition_view
from offsetwise.model import (
    Cluster,
    Comparison,
    IsolationLevel,
    Link,
    PartitionReconciliation,
    Plan,
    RangeDifference,
    Reconciliation,
    Snapshot,
    Subject,
    SubjectKind,
)
from offsetwise.model.state import StateRows
from offsetwise.plan.drift import Drift
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.strategies import Strategy, judge_strategies
from offsetwise.progress import Progress
from offsetwise.streams.access import Permissions, Step
from offsetwise.watch.background import Sampling
from offsetwise.watch.recording import RecordedLook
from offsetwise.watch.statuses import WatchedStatus
from offsetwise.workflow.repairing import FittingRepair, fitting_repairs
from tests.console import builders

ORDERS = Subject(kind=SubjectKind.CHECKPOINT, name="orders")
ETL = Subject(kind=SubjectKind.GROUP, name="orders-etl")

COUNTED = Reconciliation(
    old_topic="orders",
    new_topic="orders",
    isolation_level=IsolationLevel.READ_UNCOMMITTED,
    partitions=(
        PartitionReconciliation(
            partition=0, old_records=1100, new_records=1090, both=1080, missing=20, duplicated=7, foreign=3, timed=True
        ),
        PartitionReconciliation(
            partition=1, old_records=500, new_records=500, both=500, missing=0, duplicated=0, foreign=0, timed=False
        ),
    ),
    differences=(
        RangeDifference(cluster=Cluster.OLD, partition=0, start=300, end=320, missing=20),
        RangeDifference(cluster=Cluster.NEW, partition=0, start=900, end=1000, duplicated=7, foreign=3),
    ),
    ignored_headers=("mirror-origin",),
)


class ValueReader(Reader):
    """Offers a recorded sample and, when `live` is given, one live migration that answers or fails with it."""

    def __init__(
        self,
        recorded: Mapping[str, Comparison] | None = None,
        *,
        live: Comparison | Exception | None = None,
        gate: threading.Event | None = None,
        counted: Reconciliation | Exception | None = None,
        count_gate: threading.Event | None = None,
    ) -> None:
        self._recorded = {"orders": builders.comparison()} if recorded is None else dict(recorded)
        self._live = live
        self._gate = gate
        self._count_gate = count_gate
        self._counted = COUNTED if counted is None else counted
        self.calls: Counter[str] = Counter()
        self.unread: dict[Subject, OffsetwiseError] = {}
        """Why a subject of the live migration cannot be compared with all."""
        self.folders: dict[str, Path] = {}
        """Where checkpoints are read from, by name."""
        self.clusters: dict[Cluster, ReadCluster | Exception] = {}
        """What the clusters of either migration answer; those not given hold nothing."""
        self.cluster_gates: dict[Cluster, threading.Event] = {}
        """A cluster waits for its gate before it answers."""
        self.samples: Archive | Exception = Recording(())
        """What was sampled, of the migration `orders-to-new`; an exception is a store that cannot be used."""
        self.sampler: Sampling | None = None
        self.watched: WatchedStatus | None = None
        """What watching the jobs has shown."""
        self.cutover: tuple[RecordedLook, ...] = ()
        """The cutover that was recorded with the sample."""
        self.folder: str | None = "out"
        """The folder of the live migration."""
        self.spark = SparkNow(warmth=Warmth.WARM)
        self.warmed: list[str] = []
        """The migrations of the pages at each look; Spark is started at the first one."""
        self.fleet_given = Fleet(rows=())
        self.drifted: tuple[Drift, ...] | Exception = ()
        """What changed since any plan was drafted."""
        self.steps: tuple[Step, ...] = ()
        self.granted: Permissions | None = None
        self.acls: dict[Cluster, MinimumAcls] = {}
        self.stand: tuple[ReaderPosition, ...] = ()
        self.seen: Comparison | None = None
        """What comparisons were made from; None where it is not kept."""
        self.state: StateRows | Exception = StateRows(batch=0, spark="4.0.0", kind="RocksDB", stores=())

    def answer_with(self, live: Comparison | Exception) -> None:
        self._live = live

    def offered(self) -> tuple[Offered, ...]:
        self.calls["offered"] += 1
        names = tuple(Subject(kind=SubjectKind.CHECKPOINT, name=name) for name in self._recorded)
        sample = Offered(name="sample", old="prod-a", new="prod-b", subjects=names, recorded=True)
        live = Offered(
            name="orders-to-new",
            old="old",
            new="new",
            subjects=(ORDERS, ETL),
            recorded=False,
            ends_watched=True,
            folder=self.folder,
        )
        return (sample,) if self._live is None else (sample, live)

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        if migration == "sample":
            self.calls["recorded"] += 1
            return self._recorded[subject.name]
        self.calls["compare"] += 1
        progress("checkpoint", 1, 1)
        progress("old cluster", 0, 40)
        if self._gate is not None:
            assert self._gate.wait(timeout=60)
        progress("old cluster", 40, 40)
        if isinstance(self._live, Exception):
            raise self._live
        assert self._live is not None
        return self._live

    def comparisons(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        progress: Progress,
    ) -> Iterator[tuple[Subject, Comparison | OffsetwiseError]]:
        self.calls["compare all"] += 1
        progress("locate positions", 0, 1)
        for subject in (ORDERS, ETL):
            if subject in self.unread:
                yield subject, self.unread[subject]
            else:
                assert isinstance(self._live, Comparison)
                yield subject, self._live

    def fleet(self, migration: str, progress: Progress) -> Fleet:  # noqa: ARG002 - the reader's
        self.calls["fleet"] += 1
        return self.fleet_given

    def reconciliation(self, migration: str, topic: str, progress: Progress) -> Reconciliation:  # noqa: ARG002 - the reader's
        self.calls["reconciliation"] += 1
        while self._count_gate is not None and not self._count_gate.wait(timeout=0.05):
            progress("compare every record", 0, 1)
        progress("compare every record", 1, 1)
        if isinstance(self._counted, Exception):
            raise self._counted
        return replace(self._counted, old_topic=topic, new_topic=topic)

    def fitting_repairs(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        name: str,
        progress: Progress,  # noqa: ARG002 - as above
    ) -> tuple[FittingRepair, ...]:
        return fitting_repairs(str(self.folders[name]))

    def checkpoint_reading(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        name: str,
        retained: int | None,  # noqa: ARG002 - as above
        progress: Progress,  # noqa: ARG002 - as above
    ) -> CheckpointReading:
        self.calls["checkpoint_reading"] += 1
        if name not in self.folders:
            made = builders.comparison().checkpoint
            assert made is not None
            return CheckpointReading(checkpoint=made, read_at_ms=0)
        return read_with_times(str(self.folders[name]))

    def batch_files(self, migration: str, name: str, batch: int, progress: Progress) -> BatchFiles:  # noqa: ARG002 - the reader's
        self.calls["batch_files"] += 1
        return read_batch_files(str(self.folders[name]), batch)

    def state_rows(self, migration: str, name: str, progress: Progress) -> StateRows:  # noqa: ARG002 - the reader's
        self.calls["state_rows"] += 1
        progress("count rows", 0, 1)
        if self._gate is not None:
            while not self._gate.wait(timeout=0.05):
                progress("count rows", 0, 1)
        if isinstance(self.state, Exception):
            raise self.state
        return self.state

    def cluster(self, migration: str, cluster: Cluster, progress: Progress) -> ReadCluster:  # noqa: ARG002 - the reader's
        self.calls[f"cluster {cluster}"] += 1
        progress(f"read the {cluster} cluster", 0, 1)
        if cluster in self.cluster_gates:
            assert self.cluster_gates[cluster].wait(timeout=60)
        found = self.clusters.get(cluster)
        if isinstance(found, Exception):
            raise found
        if found is not None:
            return found
        empty = Snapshot(
            cluster=cluster, name=str(cluster), alias=str(cluster), cluster_id=None, taken_at="2026-01-02T14:02:11Z"
        )
        return ReadCluster(snapshot=empty, counterparts={}, link=Link.MIRRORMAKER)

    def connection(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[Step, ...]:  # noqa: ARG002 - the reader's
        self.calls[f"connection {cluster}"] += 1
        progress("resolve", 1, 1)
        return self.steps

    def permissions(self, migration: str, cluster: Cluster, progress: Progress) -> Permissions:  # noqa: ARG002 - the reader's
        self.calls[f"permissions {cluster}"] += 1
        progress("ask", 1, 1)
        if self.granted is None:
            return Permissions(cluster=cluster, user=None, authorizer=None, granted=())
        return replace(self.granted, cluster=cluster)

    def minimum_acls(self, migration: str, cluster: Cluster, progress: Progress) -> MinimumAcls:  # noqa: ARG002 - the reader's
        self.calls[f"acls {cluster}"] += 1
        nothing = MinimumAcls(cluster=cluster, topics=(), commands=(), unread=())
        return self.acls.get(cluster, nothing)

    def standings(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[ReaderPosition, ...]:  # noqa: ARG002 - the reader's
        self.calls[f"standings {cluster}"] += 1
        progress("read the records at the positions", 1, 1)
        return self.stand

    def drift(self, migration: str, of: PlanOf, progress: Progress) -> tuple[Drift, ...]:  # noqa: ARG002 - the reader's
        self.calls[f"drift {migration}"] += 1
        progress("read the new cluster", 1, 1)
        if isinstance(self.drifted, Exception):
            raise self.drifted
        return self.drifted

    def lag(self, migration: str, subject: Subject, window_ms: int, progress: Progress) -> LagView | None:  # noqa: ARG002 - the reader's
        self.calls["lag"] += 1
        if isinstance(self.samples, Exception):
            raise self.samples
        return lag_view(self.samples, _watched(subject), window_ms)

    def lag_of_partition(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        subject: Subject,
        window_ms: int,
        key: Key,
        progress: Progress,  # noqa: ARG002 - as above
    ) -> PartitionView | None:
        self.calls["lag of partition"] += 1
        if isinstance(self.samples, Exception):
            raise self.samples
        return partition_view(self.samples, _watched(subject), key, window_ms)

    def warm_spark(self, migration: str) -> SparkNow | None:
        self.warmed.append(migration)
        return self.spark

    def sampling(self, migration: str) -> Sampling | None:  # noqa: ARG002 - the reader's
        return self.sampler

    def start_sampling(self, migration: str, every_s: float) -> None:
        self.calls[f"start sampling {migration} every {every_s:g} s"] += 1

    def stop_sampling(self, migration: str) -> None:
        self.calls[f"stop sampling {migration}"] += 1

    def status_watch(self, migration: str) -> WatchedStatus | None:  # noqa: ARG002 - the reader's
        self.calls["look at the watch"] += 1
        return self.watched

    def watch_status(self, migration: str, still_for_s: float) -> None:
        self.calls[f"watch {migration}, still for {still_for_s:g} s"] += 1
        self.watched = WatchedStatus(started_at=datetime.now(UTC))

    def stop_status(self, migration: str) -> None:
        self.calls[f"stop watching {migration}"] += 1
        if self.watched is not None:
            self.watched = replace(self.watched, running=False)

    def recorded_cutover(self, migration: str) -> tuple[RecordedLook, ...]:  # noqa: ARG002 - the reader's
        return self.cutover

    def close(self) -> None:
        self.calls["close"] += 1

    def observed(self, migration: str, subject: Subject, comparison: Comparison) -> Comparison | None:  # noqa: ARG002 - the reader's
        self.calls["observed"] += 1
        return self.seen

    def strategies(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        subject: Subject,  # noqa: ARG002 - as above
        comparison: Comparison,
        *,
        sink_rewound: bool,
    ) -> tuple[Strategy, ...]:
        self.calls["strategies"] += 1
        return judge_strategies(comparison, workflow.sample(), sink_rewound=sink_rewound)

    def draft(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        subject: Subject,
        comparison: Comparison,
        request: DraftRequest,
        drafted_at: str,
    ) -> Plan:
        self.calls["draft"] += 1
        return workflow.draft(workflow.sample(), subject, request, drafted_at=drafted_at, comparison=comparison)


def _watched(subject: Subject) -> LagSubject:
    return LagSubject.in_migration("orders-to-new", subject)


class ManyReader(ValueReader):
    """Offers a live migration of so many groups in two waves; every tenth cannot be read."""

    def __init__(self, count: int) -> None:
        super().__init__(live=builders.comparison(migration="orders-to-new"))
        self.jobs = tuple(Subject(kind=SubjectKind.GROUP, name=f"etl-{number:03}") for number in range(count))

    def offered(self) -> tuple[Offered, ...]:
        sample, live = super().offered()
        waves = (("pilot", self.jobs[:1]), ("core", self.jobs[1:])) if len(self.jobs) > 1 else ()
        return sample, replace(live, subjects=self.jobs, waves=waves)

    def comparisons(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        progress: Progress,
    ) -> Iterator[tuple[Subject, Comparison | OffsetwiseError]]:
        self.calls["compare all"] += 1
        progress("locate positions", 0, 1)
        for number, job in enumerate(self.jobs):
            if number % 10 == 9:
                yield job, ClusterError(f"Group {job.name!r}: expected committed offsets, found none.", fix="Look.")
            else:
                assert isinstance(self._live, Comparison)
                yield job, self._live
