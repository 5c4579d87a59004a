"""The newest samples as Prometheus metrics: the same numbers as on the screen, on 127.0.0.1.

Series are built from the samples at each scrape, so that those of a removed partition disappear. An unknown number has
no series: a 0 would be wrong. Values are 64-bit floats, as in Prometheus: offsets beyond 2^53 are rounded.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, make_wsgi_app, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from offsetwise.errors import ConfigError
from offsetwise.lag.amounts import behind_ms, drift, lag, totals
from offsetwise.lag.subject import LagSubject
from offsetwise.model import AnyPosition, Cluster
from offsetwise.watch.sampler import TakenSample

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HOST: Final = "127.0.0.1"
NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The accepted host names. A website could point a name of its own here, and read the metrics."""
MOST_PARTITIONS: Final = 5_000
"""How many partitions have series of their own; the totals always count all."""

_OF: Final = ("migration", "subject")
_PARTITION: Final = (*_OF, "source", "topic", "partition")


class LagMetrics(Collector):
    """Collects the newest sample of each subject.

    Args:
        most_partitions: How many partitions have series of their own.
    """

    def __init__(self, *, most_partitions: int = MOST_PARTITIONS) -> None:
        self._most = most_partitions
        self._lock = threading.Lock()
        self._newest: dict[LagSubject, TakenSample] = {}

    def heard(self, reading: TakenSample) -> None:
        with self._lock:
            self._newest[reading.subject] = reading

    def collect(self) -> Iterable[GaugeMetricFamily]:
        with self._lock:
            newest = tuple(self._newest.values())
        yield from _samples(newest, time.time())
        yield from _totals(newest)
        yield from _findings(newest)
        yield from _partitions(newest, self._most)


@contextmanager
def served(metrics: Collector, port: int) -> Iterator[int]:
    """Serve metrics on the loopback interface, and yield the port; 0 chooses a free one.

    Raises:
        ConfigError: The port is taken, or not permitted.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    try:
        server, thread = start_http_server(port, addr=HOST, registry=registry)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"--metrics-port: expected a free port on {HOST}, but {port} cannot be used: {why}. No sample was taken.",
            fix="Give another port.",
        ) from error
    server.set_app(_by_own_name(make_wsgi_app(registry)))
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _by_own_name(app: WSGIApplication) -> WSGIApplication:
    """Reject requests whose Host header is not a name of this machine."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = re.sub(r":[0-9]+$", "", str(environ.get("HTTP_HOST", "")).lower())
        if host in NAMES:
            return app(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"Metrics are given under {', '.join(sorted(NAMES))}, and under no other name.\n".encode()]

    return answer


def label(text: str) -> str:
    r"""Escape a name for a label's value: one line, printable, and injective.

    >>> label("or\u202eders\n"), label("a\\b")
    ('or\\u202eders\\u000a', 'a\\\\b')
    """
    return "".join("\\\\" if char == "\\" else char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def _samples(newest: tuple[TakenSample, ...], now_s: float) -> Iterator[GaugeMetricFamily]:
    up = GaugeMetricFamily(
        "offsetwise_cluster_up", "1 where the cluster was read for the newest sample, else 0.", labels=(*_OF, "cluster")
    )
    read = GaugeMetricFamily(
        "offsetwise_positions_up", "1 where checkpoint or group was read for the newest sample, else 0.", labels=_OF
    )
    family = GaugeMetricFamily("offsetwise_store_up", "1 where the newest sample is in the store, else 0.", labels=_OF)
    age = GaugeMetricFamily("offsetwise_sample_age_seconds", "How long ago the newest sample was begun.", labels=_OF)
    took = GaugeMetricFamily("offsetwise_sample_duration_seconds", "How long reading it took.", labels=_OF)
    count = GaugeMetricFamily("offsetwise_partitions", "Partitions of the newest sample.", labels=_OF)
    batch = GaugeMetricFamily("offsetwise_committed_batch", "The last committed batch of a checkpoint.", labels=_OF)
    for reading in newest:
        of = _of(reading.subject)
        lacking = {part.part.value for part in reading.sample.missing}
        for side in Cluster:
            up.add_metric([*of, side.value], float(side.value not in lacking))
        read.add_metric(of, float("positions" not in lacking))
        family.add_metric(of, float(reading.not_kept is None))
        age.add_metric(of, now_s - reading.sample.taken_at_ms / 1000)
        took.add_metric(of, reading.took_ms / 1000)
        count.add_metric(of, float(len(reading.sample.partitions)))
        if reading.sample.batch is not None:
            batch.add_metric(of, float(reading.sample.batch))
    yield from (up, read, family, age, took, count, batch)


def _totals(newest: tuple[TakenSample, ...]) -> Iterator[GaugeMetricFamily]:
    sides = (*_OF, "cluster")
    family = GaugeMetricFamily("offsetwise_lag_records_sum", "What is left to read, over partitions.", labels=sides)
    past = GaugeMetricFamily(
        "offsetwise_lag_past_end_sum", "Offsets that positions lie past the end, over partitions.", labels=sides
    )
    unresolved = GaugeMetricFamily(
        "offsetwise_lag_unknown_partitions", "Partitions whose lag is not known.", labels=sides
    )
    for reading in newest:
        summed = totals(reading.sample)
        for side in Cluster:
            of = [*_of(reading.subject), side.value]
            total = summed.lag(side)
            if total.known:
                family.add_metric(of, float(total.left))
                past.add_metric(of, float(total.past))
            unresolved.add_metric(of, float(total.unknown))
    yield from (family, past, unresolved)


def _findings(newest: tuple[TakenSample, ...]) -> Iterator[GaugeMetricFamily]:
    family = GaugeMetricFamily(
        "offsetwise_findings", "Partitions with this finding; 1 for one about none.", labels=(*_OF, "code", "severity")
    )
    for reading in newest:
        by_code: dict[tuple[str, str], int] = {}
        for alert in reading.alerts:
            kind = alert.finding.code, alert.finding.severity.value
            by_code[kind] = by_code.get(kind, 0) + (alert.partitions or 1)
        for (code, severity), count in by_code.items():
            family.add_metric([*_of(reading.subject), code, severity], float(count))
    yield family


def _partitions(newest: tuple[TakenSample, ...], most: int) -> Iterator[GaugeMetricFamily]:
    sides = (*_PARTITION, "cluster")
    lags = GaugeMetricFamily("offsetwise_lag_records", "What is left to read, signed.", labels=sides)
    times = GaugeMetricFamily(
        "offsetwise_lag_seconds", "How far behind, of streams whose positions tell no number of records.", labels=sides
    )
    starts = GaugeMetricFamily("offsetwise_log_start_offset", "Where the log starts.", labels=sides)
    ends = GaugeMetricFamily("offsetwise_log_end_offset", "The high watermark.", labels=sides)
    positions = GaugeMetricFamily(
        "offsetwise_position_offset", "The next record to read; on new as claimed by the mirror.", labels=sides
    )
    drifts = GaugeMetricFamily(
        "offsetwise_group_drift_records",
        "How far a group's commit on the old cluster lies ahead of the position, signed.",
        labels=(*_PARTITION, "group"),
    )
    omitted = GaugeMetricFamily(
        "offsetwise_partitions_without_series", f"Partitions beyond the first {most:,}.", labels=()
    )
    room = most
    for reading in newest:
        shown = reading.sample.partitions[:room]
        room -= len(shown)
        for row in shown:
            of = [*_of(reading.subject), label(row.source), label(row.topic), str(row.partition)]
            for side in Cluster:
                log = row.log(side)
                _add(lags, [*of, side.value], lag(row, side, reading.sample.isolation_level))
                late = behind_ms(row, side)
                if late is not None:
                    times.add_metric([*of, side.value], late / 1000)
                _add(starts, [*of, side.value], log.log_start)
                _add(ends, [*of, side.value], log.hw)
                _add(positions, [*of, side.value], row.position_on(side))
            for index, group in enumerate(reading.sample.groups):
                if group != reading.subject.group:
                    _add(drifts, [*of, label(group)], drift(row, index))
    omitted.add_metric([], float(sum(len(reading.sample.partitions) for reading in newest) - (most - room)))
    yield from (lags, times, starts, ends, positions, drifts, omitted)


def _add(family: GaugeMetricFamily, labels: list[str], value: AnyPosition | None) -> None:
    if isinstance(value, int):
        family.add_metric(labels, float(value))


def _of(subject: LagSubject) -> list[str]:
    return [label(subject.migration), label(str(subject))]
