from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from offsetwise.model import JobState, Status
from offsetwise.watch.metrics import label

_JOB: Final = ("migration", "subject", "wave")


class StateMetrics(Collector):
    """Collects the newest status. The state of a job is its series with the value 1."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: Status | None = None

    def update(self, status: Status) -> None:
        with self._lock:
            self._newest = status

    def collect(self) -> Iterable[GaugeMetricFamily]:
        with self._lock:
            status = self._newest
        if status is None:
            return
        states = GaugeMetricFamily(
            "offsetwise_job_state", "1 for the state that the job is in.", labels=(*_JOB, "state")
        )
        evidence = GaugeMetricFamily(
            "offsetwise_job_evidence_age_seconds", "How old the evidence of the state was.", labels=_JOB
        )
        lags = GaugeMetricFamily(
            "offsetwise_job_lag_records", "What the moved job has left to read on the new cluster.", labels=_JOB
        )
        for job in status.jobs:
            names = [label(status.migration), label(job.job), label(job.wave or "")]
            states.add_metric([*names, job.state.value], 1)
            evidence.add_metric(names, job.age_ms / 1000)
            if job.lag is not None:
                lags.add_metric(names, job.lag)
        counts = GaugeMetricFamily("offsetwise_jobs", "Jobs in each state.", labels=("migration", "state"))
        by_state = Counter(job.state for job in status.jobs)
        for state in JobState:
            counts.add_metric([label(status.migration), state.value], by_state[state])
        ages = GaugeMetricFamily("offsetwise_status_age_seconds", "How long ago it was taken.", labels=("migration",))
        age = datetime.now(UTC) - datetime.fromisoformat(status.taken_at)
        ages.add_metric([label(status.migration)], age.total_seconds())
        yield from (states, counts, evidence, lags, ages)
