"""The command for many jobs: the state of each, and its next step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import offsetwise
from offsetwise.cli.compare import SnapshotFiles
from offsetwise.cli.options import AsJson, MigrationFile, TrustedKeys, seconds
from offsetwise.cli.output import progress, safe, say, stdout
from offsetwise.errors import UsageError
from offsetwise.wording import duration

if TYPE_CHECKING:
    from offsetwise import Cutover, JobState, Status
    from offsetwise.model import JobStatus


Folder = Annotated[Path | None, typer.Option(help="The folder with the comparisons, plans, approvals and receipts.")]
WaveName = Annotated[str | None, typer.Option(metavar="NAME", help="Only the jobs of a wave.")]
LagAtMost = Annotated[
    int, typer.Option(min=0, help="Records that a job may have left to read and counts as caught up.")
]
Watch = Annotated[
    bool, typer.Option("--watch", help="Look again, and at the old logs too, until every job has caught up.")
]
Every = Annotated[float, typer.Option(min=0.5, max=3_600, help="Seconds between looks.")]
ByRecords = Annotated[
    bool, typer.Option("--content/--no-content", help="With --watch: look for the copies of records, with Spark.")
]
StillFor = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="With --watch: how long an old log has to stand still; 60s by default."),
]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="With --watch: continue although a target holds something else.")
]
WithLogs = Annotated[
    bool, typer.Option("--logs", help="With --watch and --json: a line for each look at the old logs too.")
]
MetricsPort = Annotated[
    int | None, typer.Option(min=0, max=65_535, help="With --watch: serve Prometheus metrics on 127.0.0.1.")
]
TwoIfLeft = Annotated[bool, typer.Option("--detailed-exitcode", help="Exit with 2 unless every job has caught up.")]


def status(
    *,
    migration: MigrationFile,
    folder: Folder = None,
    wave: WaveName = None,
    trust: TrustedKeys = None,
    lag_at_most: LagAtMost = 0,
    snapshots: SnapshotFiles = None,
    watch: Watch = False,
    every: Every = 5,
    content: ByRecords = True,
    still_for: StillFor = None,
    keep_going: KeepGoing = False,
    logs: WithLogs = False,
    metrics_port: MetricsPort = None,
    detailed_exitcode: TwoIfLeft = False,
    as_json: AsJson = False,
) -> None:
    """Show how far every job has come, from what is read now; exit with 5 if something else stands at a target."""
    _require_live_watch(snapshots, metrics_port, watch=watch)
    read = partial(
        offsetwise.Migration.load(migration).status,
        folder=folder,
        wave=wave,
        trust=trust or (),
        lag_at_most=lag_at_most,
        snapshots=offsetwise.load_snapshots(*snapshots) if snapshots else None,
        note=say,
    )
    with _metrics(metrics_port) as update, progress() as report:
        show = partial(_show_look, before={}, update=update, as_json=as_json)
        of_watch = _of_watch(still_for, keep_going=keep_going, logs=logs and as_json)
        watched = partial(read, watch=True, every_s=every, records=content, heard=show, **of_watch)
        status = (watched if watch else read)(progress=report)
    if not watch:
        _show(status, as_json=as_json)
    if status.is_different or (detailed_exitcode and not status.is_done):
        raise typer.Exit(5 if status.is_different else 2)


def _require_live_watch(snapshots: tuple[Path, Path] | None, metrics_port: int | None, *, watch: bool) -> None:
    if watch and snapshots is not None:
        raise UsageError(
            "status: expected live clusters with --watch, found --snapshots, which never change. Nothing was read.",
            fix="Leave one of them out.",
        )
    if metrics_port is not None and not watch:
        raise UsageError(
            "status: expected --watch with --metrics-port, found none, so the metrics would end at once. Nothing was "
            "read.",
            fix="Add --watch, or leave --metrics-port out.",
        )


@contextmanager
def _metrics(port: int | None) -> Iterator[Callable[[Status], None]]:
    """Serve the newest status as metrics, if a port is given; yield the function that updates it."""
    if port is None:
        yield lambda _: None
        return
    from offsetwise.watch.job_states import StateMetrics
    from offsetwise.watch.metrics import HOST, served

    metrics = StateMetrics()
    with served(metrics, port) as served_port:
        say(f"Metrics: http://{HOST}:{served_port}/metrics")
        yield metrics.update


def _show(status: Status, *, as_json: bool) -> None:
    from offsetwise import files
    from offsetwise.cli.render import findings, new_table, print_table, verdict
    from offsetwise.wording.status import STATE, answer

    if as_json:
        typer.echo(files.dump(status), nl=False)
        return
    out = stdout()
    out.print(f"[bold]{safe(answer(status))}[/]", soft_wrap=True)
    for wave in status.waves:
        waits = "".join(f" {sentence}" for sentence in wave.waits_for)
        out.print(
            f"wave {safe(wave.wave)}: {wave.caught_up:,} of {wave.jobs:,} caught up.{safe(waits)}", soft_wrap=True
        )
    table = new_table(out, ("job", "wave", "state", "evidence"), ())
    for job in status.jobs:
        table.add_row(safe(job.job), safe(job.wave or ""), verdict(STATE[job.state]), safe(_evidence(job)))
    print_table(out, table)
    for job in status.jobs:
        if job.next is not None:
            out.print(f"{safe(job.job)}: {safe(job.next)}", soft_wrap=True, highlight=False)
    findings(out, status.findings)


def _show_look(status: Status, *, before: dict[str, JobState], update: Callable[[Status], None], as_json: bool) -> None:
    """Show one of many looks: with JSON as a line, else a line for each job whose state has changed."""
    from offsetwise import files
    from offsetwise.cli.render import verdict
    from offsetwise.wording.status import STATE, answer

    update(status)
    if as_json:
        typer.echo(files.dump(status, indent=None), nl=False)
        return
    at = datetime.fromisoformat(status.taken_at)
    changed = [job for job in status.jobs if before.get(job.job) is not job.state]
    for job in changed:
        line = f"{at:%H:%M:%S} {safe(job.job)} {verdict(STATE[job.state])} {safe(_evidence(job))}"
        stdout().print(line, soft_wrap=True)
        before[job.job] = job.state
    if changed:
        stdout().print(f"{at:%H:%M:%S} {safe(answer(status))}", soft_wrap=True)


def _of_watch(still_for: str | None, *, keep_going: bool, logs: bool) -> dict[str, Any]:
    still_for_s = None if still_for is None else seconds(still_for, option="--still-for")
    given = {"still_for_s": still_for_s, "keep_going": keep_going}
    return given | ({"heard_logs": _show_logs} if logs else {})


def _show_logs(judged: Cutover) -> None:
    from offsetwise import files

    typer.echo(files.dump(judged, indent=None), nl=False)


def _evidence(job: JobStatus) -> str:
    old = f" ({duration(job.age_ms)} ago)" if job.age_ms >= 60_000 else ""
    return f"{job.evidence}{old}"
