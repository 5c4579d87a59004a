from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final

from offsetwise.config import Migration
from offsetwise.errors import ConfigError, UsageError
from offsetwise.lag.amounts import Furthest, Total, Totals, furthest, in_time, totals
from offsetwise.lag.subject import LagSubject
from offsetwise.model import Cluster, LagSample
from offsetwise.store.address import address
from offsetwise.store.store import open_store
from offsetwise.watch.metrics import HOST, LagMetrics, served
from offsetwise.watch.sampler import Keeper, Sampler, TakenSample, subjects_of
from offsetwise.wording import duration, many

_WAKES_S: Final = 1.0


def watch(
    migrations: Sequence[Migration],
    *,
    checkpoints: Sequence[str],
    groups: Sequence[str],
    every_s: float,
    count: int | None,
    metrics_port: int | None,
    store_url: str | None,
    said: Callable[[str], None],
    heard: Callable[[TakenSample], None],
) -> bool:
    """Take samples until SIGTERM or Ctrl-C, or `count` of them; return whether all were complete and stored.

    Args:
        migrations: What to watch; each in a separate thread, so that a slow cluster delays no other migration.
        checkpoints: Only these checkpoints.
        groups: Only these groups.
        every_s: Seconds between samples.
        count: How many samples of each subject; None for no limit.
        metrics_port: The port for Prometheus; None for no metrics, 0 for a free port.
        store_url: As `open_store` takes it.
        said: Called with sentences about the progress.
        heard: Called with every sample, never concurrently.

    Raises:
        ConfigError: Nothing to watch, an unknown checkpoint, a URL or port that cannot be used.
        SameClusterError: Both addresses of a migration lead to one cluster.
    """
    if (checkpoints or groups) and len(migrations) > 1:
        raise _several_migrations()
    shown = address(store_url).shown
    keeper = Keeper(lambda: open_store(store_url))
    one_at_a_time = threading.Lock()
    metrics = LagMetrics()

    def tell(reading: TakenSample) -> None:
        with one_at_a_time:
            metrics.heard(reading)
            said(line(reading))
            heard(reading)

    by = f"offsetwise watch, process {os.getpid()} on {platform.node()}"
    sampler_of = partial(Sampler, every_s=every_s, keeper=keeper, sampled_by=by, heard=tell)
    samplers = [sampler_of(migration, _subjects(migration, checkpoints, groups)) for migration in migrations]
    with ExitStack() as stack:
        stack.callback(keeper.close)
        if metrics_port is not None:
            port = stack.enter_context(served(metrics, metrics_port))
            said(f"Metrics: http://{HOST}:{port}/metrics")
        subjects = sum(len(sampler.subjects) for sampler in samplers)
        said(f"Watching {subjects} {'subject' if subjects == 1 else 'subjects'} every {every_s:g} s, into {shown}.")
        return _run_all(samplers, count)


def _run_all(samplers: Sequence[Sampler], count: int | None) -> bool:
    with _stopped_by_signals() as stop, ThreadPoolExecutor(len(samplers), "offsetwise-watch") as threads:
        running = [threads.submit(_run, sampler, stop, count) for sampler in samplers]
        # A signal that the system delivers to another thread is handled when this one wakes.
        while wait(running, timeout=_WAKES_S).not_done:
            continue
        return all(future.result() for future in running)


def _several_migrations() -> UsageError:
    return UsageError(
        "watch: expected one migration with --checkpoint or --group, found several, so it is unclear whose they "
        "are. No sample was taken.",
        fix="Watch them with a command each, or leave the options out to watch everything.",
    )


def line(reading: TakenSample) -> str:
    at = datetime.fromtimestamp(reading.sample.taken_at_ms / 1000, UTC)
    summed = totals(reading.sample)
    parts = [
        f"{at:%H:%M:%S}",
        f"{reading.subject.migration}: {reading.subject}",
        f"lag old {_of(reading.sample, Cluster.OLD, summed)}, new {_of(reading.sample, Cluster.NEW, summed)}",
    ]
    parts += [f"{missing.part} not read: {missing.problem}" for missing in reading.sample.missing]
    parts += [f"{alert.finding.code}: {alert.finding.message}" for alert in reading.alerts]
    if reading.not_kept is not None:
        parts.append(f"not kept: {reading.not_kept}")
    return " · ".join(parts)


def _of(sample: LagSample, side: Cluster, summed: Totals) -> str:
    return _furthest(furthest(sample, side)) if in_time(sample) else _amount(summed.lag(side))


def _furthest(of: Furthest | None) -> str:
    if of is None:
        return "?"
    return f"{duration(of.ms)} at most" + (f", ? in {many(of.unknown, 'partition')}" if of.unknown else "")


def _subjects(migration: Migration, checkpoints: Sequence[str], groups: Sequence[str]) -> tuple[LagSubject, ...]:
    subjects = subjects_of(migration, checkpoints, groups)
    if not subjects:
        raise ConfigError(
            f"Migration {migration.name!r}: expected a checkpoint or a group to watch, found none. No sample was "
            "taken.",
            fix="Name one under `checkpoints` or `groups` in the migration file, or with --group.",
        )
    return subjects


def _run(sampler: Sampler, stop: threading.Event, count: int | None) -> bool:
    try:
        return sampler.run(stop, count=count)
    except BaseException:
        stop.set()  # an error in the configuration of one migration ends the command, and is reported once
        raise


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and Ctrl-C set; a reading in progress is finished, unless they are repeated."""
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def restored() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stopped(*_: object) -> None:
        stop.set()
        restored()

    for number in before:
        signal.signal(number, stopped)
    try:
        yield stop
    finally:
        restored()


def _amount(total: Total) -> str:
    if not total.known:
        return "?"
    past = f" ({total.past:,} past the end)" if total.past else ""
    unresolved = f" (? in {total.unknown:,})" if total.unknown else ""
    return f"{total.left:,}{past}{unresolved}"
