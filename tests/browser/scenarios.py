"""What the console is served over for browser tests: the same amount of everything on every page."""

from __future__ import annotations

import json
import tempfile
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from offsetwise.console.reader import Reader
from offsetwise.errors import ClusterAuthError, ClusterUnreachableError, OffsetwiseError
from offsetwise.lag.archive import Recording
from offsetwise.model import Cluster, Comparison, LagPart, LagSample, LogRange, MissingPart, Subject
from offsetwise.progress import Progress
from offsetwise.watch.statuses import WatchedStatus
from tests import lag_samples, status_looks
from tests.clusters.values import group, log, new, old, topic
from tests.console import builders, clusters_of_tests, fleets
from tests.console.readers import ManyReader, ValueReader
from tests.console.test_checkpoint_page import two_partitions, write
from tests.cutovers import DRAINING, GROWING, OPEN_TRANSACTION, STILL, seen

SLOW_S = 6
WATCHED_JOBS = {"cutover": 200, "cutover-two": 2, "cutover-many": 10_000, "cutover-down": 200}
SILENT_S = 48
LOOKS = 10
STALLED_S = 20
PARTITIONS = 10_000
PER_TOPIC = 20
BATCHES = 20
JOBS = 20
SAMPLES = 6
DOWN = ClusterUnreachableError(
    "Cluster 'new': expected an answer within 20 s, none came. Nothing was compared.",
    fix="Check that the broker runs and that this machine may reach it, then try again.",
)
DENIED = ClusterAuthError(
    "Cluster 'new': expected to be allowed to Describe topic 'orders', the broker refused.",
    fix="Grant the user Describe and Read on the topic, then try again.",
)


class _Watched(ValueReader):
    """Jobs in every state, once somebody watches them; some seconds into a second watch, all have caught up.

    Args:
        jobs: How many.
        silent: Why no look has succeeded for `SILENT_S`; None where each does.
    """

    def __init__(self, jobs: int, silent: OffsetwiseError | None = None) -> None:
        super().__init__(live=builders.comparison(migration="orders-to-new"))
        self._shown = status_looks.many(jobs, LOOKS)
        self._silent = silent
        self._watches = 0

    def watch_status(self, migration: str, still_for_s: float) -> None:
        super().watch_status(migration, still_for_s)
        self._watches += 1

    def status_watch(self, migration: str) -> WatchedStatus | None:
        watched = super().status_watch(migration)
        if watched is None or not watched.running:
            return watched
        now = datetime.now(UTC)
        over = self._watches > 1 and (now - watched.started_at).total_seconds() > SLOW_S
        others = [STILL] * 6
        logs = (
            seen([STILL, STILL, *others], copied=[True] * 8)
            if over
            else seen([GROWING, DRAINING, OPEN_TRANSACTION, *others], copied=[False] * 3 + [True] * 6)
        )
        shown = status_looks.all_caught_up(self._shown) if over else self._shown
        self.watched = replace(
            watched, history=shown, logs=logs, look_count=len(shown.moments), looked_at=now, running=not over
        )
        if self._silent is not None:
            why, then = self._silent.problem, now - timedelta(seconds=SILENT_S)
            self.watched = replace(self.watched, looked_at=then, messages=(why,), unread=why)
        return self.watched


class Slow(threading.Event):
    """Lets an answer through a while after it was asked for, so that its steps are seen however late that is."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def wait(self, timeout: float | None = None) -> bool:
        super().wait(self._seconds if timeout is None else min(timeout, self._seconds))
        return True


class _Lost(ValueReader):
    """The clusters answer once; after that the new one is silent."""

    def __init__(self) -> None:
        super().__init__(live=builders.comparison(migration="orders-to-new"))
        self.drifted = DOWN

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        found = super().comparison(migration, subject, progress)
        self.answer_with(DOWN)
        return found


def reader(scenario: str) -> Reader:
    """Return what answers in a scenario."""
    rows = builders.reference_rows()
    match scenario:
        case "reference" | "unread":
            return ValueReader(live=builders.comparison(migration="orders-to-new"))
        case "lost":
            return _Lost()
        case "slow":
            return ValueReader(live=builders.comparison(migration="orders-to-new"), gate=Slow(SLOW_S))
        case "stalled":
            return _stalled()
        case "two":
            return _two()
        case "seven":
            return _over(builders.comparison(rows[:7]))
        case "many":
            return _over(builders.comparison(builders.many_rows(PARTITIONS)))
        case "topics":
            return _ten_thousand()
        case "hostile":
            return _over(builders.comparison(builders.hostile_rows()))
        case "huge":
            beyond = 9_007_199_254_740_993
            ends = (beyond - 50, beyond + 50)
            return _over(builders.comparison((builders.partition(old=beyond, new=950, old_log=ends), rows[1])))
        case "cutover" | "cutover-two" | "cutover-many":
            return _Watched(WATCHED_JOBS[scenario])
        case "cutover-down":
            return _Watched(WATCHED_JOBS[scenario], DOWN)
        case "jobs":
            made = ManyReader(JOBS)
            made.fleet_given = fleets.a_thousand(PARTITIONS)
            return made
        case "fleet" | "fleet-two":
            fleet_reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
            fleet_reader.fleet_given = fleets.a_thousand(200) if scenario == "fleet" else fleets.two()
            return fleet_reader
        case "empty":
            return _empty()
        case "down":
            return _without_the_new_cluster(DOWN)
        case "denied":
            return _without_the_new_cluster(DENIED)
    raise SystemExit(f"unknown scenario {scenario}")


def _over(comparison: Comparison) -> ValueReader:
    return ValueReader({"orders": comparison})


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="offsetwise-scenario-"))


def _two() -> ValueReader:
    made = _over(builders.comparison(builders.reference_rows()[:2]))
    made.folders["orders"] = two_partitions(_folder())
    offsets = {("orders", 0): 1050, ("orders", 1): 1004}
    made.clusters = {
        Cluster.OLD: old(
            topic("orders", [log(0, 100, 1200), log(1, 100, 1190)]),
            groups=[group(offsets=offsets), *clusters_of_tests.other_groups()],
        ),
        Cluster.NEW: new(topic("orders", [log(0, 0, 1100), log(1, 0, 1140)]), groups=[group(offsets=offsets)]),
    }
    made.samples = Recording(lag_samples.growing(40, partitions=2))
    made.fleet_given = fleets.two()
    return made


def _ten_thousand() -> ValueReader:
    rows = builders.many_rows(PARTITIONS, per_topic=PER_TOPIC)
    made = _over(builders.comparison(rows))
    topics = sorted({row.topic for row in rows})
    made.folders["orders"] = write(
        _folder(),
        {batch: _offset_line(topics, batch) for batch in range(BATCHES)},
        tuple(range(BATCHES - 1)),
    )
    made.clusters |= clusters_of_tests.large(len(topics), PER_TOPIC)
    made.samples = Recording(
        tuple(
            lag_samples.sample(
                *(
                    lag_samples.row(row.topic, row.partition, position=1050 + 8 * index, new_position=950 + 8 * index)
                    for row in rows
                ),
                seconds=30 * index,
            )
            for index in range(SAMPLES)
        )
    )
    made.fleet_given = fleets.a_thousand()
    return made


def _offset_line(topics: list[str], batch: int) -> str:
    return json.dumps({name: {str(number): 100 * batch + number for number in range(PER_TOPIC)} for name in topics})


def _empty() -> ValueReader:
    made = _over(builders.comparison(()))
    made.folders["orders"] = write(_folder(), {}, ())
    return made


def _stalled() -> ValueReader:
    """The new cluster takes its time; the old one answers at once."""
    made = ValueReader(live=builders.comparison(migration="orders-to-new"), gate=Slow(STALLED_S))
    made.folders["orders"] = two_partitions(_folder())
    made.clusters |= clusters_of_tests.reference()
    made.cluster_gates[Cluster.NEW] = Slow(STALLED_S)
    made.samples = Recording(lag_samples.growing(25, partitions=2))
    made.fleet_given = fleets.a_thousand()
    return made


def _without_the_new_cluster(error: OffsetwiseError) -> ValueReader:
    """The new cluster gives no answer; the old one does, and so does what needs none."""
    made = ValueReader(live=error)
    made.folders["orders"] = two_partitions(_folder())
    made.clusters = {Cluster.OLD: clusters_of_tests.reference()[Cluster.OLD], Cluster.NEW: error}
    grown = lag_samples.growing(25, partitions=2)
    made.samples = Recording((*grown[:20], *(_without_new(sample, error) for sample in grown[20:])))
    made.fleet_given = fleets.a_thousand()
    return made


def _without_new(sample: LagSample, error: OffsetwiseError) -> LagSample:
    nothing = LogRange(log_start=None, lso=None, hw=None)
    return replace(
        sample,
        new=replace(sample.new, read_at_ms=None),
        partitions=tuple(replace(row, new=nothing, new_position=None) for row in sample.partitions),
        missing=(MissingPart(part=LagPart.NEW, problem=error.problem, fix=error.fix),),
    )
