"""The commands that read a migration: inspect, fleet, snapshot, compare, reconcile."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

import offsetwise
from offsetwise.cli.errors import tell
from offsetwise.cli.options import AsJson, MigrationFile, WaveName, require_one_choice, seconds
from offsetwise.cli.output import progress, safe, say, stdout
from offsetwise.errors import OffsetwiseError, UsageError
from offsetwise.model import Cluster, Severity
from offsetwise.wording import first_of, many

if TYPE_CHECKING:
    from offsetwise import Compared, Comparison, Job, Migration
    from offsetwise.fleets import FleetRow, FleetSummary
    from offsetwise.model import GroupState, Snapshot, Summary

Uris = Annotated[
    list[str],
    typer.Argument(metavar="URI...", help="Checkpoint or savepoint folders, or globs; lease tables, or dumps."),
]
Batches = Annotated[int, typer.Option(min=1, help="Spark: how many of the newest batches to show.")]
Uids = Annotated[list[str] | None, typer.Option(help="Flink: a uid to name an operator by; repeatable.")]
CommitterTable = Annotated[
    str | None, typer.Option(metavar="DUMP_OR_URI", help="Spark: the table of a DynamoDB committer.")
]
TwoIfBlocked = Annotated[
    bool, typer.Option("--detailed-exitcode", help="Exit with 2 if a problem blocks the job from going on.")
]
Checkpoints = Annotated[list[str] | None, typer.Option(help="A checkpoint named in the migration file.")]
Groups = Annotated[list[str] | None, typer.Option(help="A consumer group of the old cluster.")]
AllJobs = Annotated[bool, typer.Option("--all", help="All checkpoints and groups of the migration file.")]
PositionsFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file with the positions instead; - is standard input.")
]
ShapeName = Annotated[
    str | None, typer.Option(metavar="NAME", help="The shape of that file, where it is not to be recognised.")
]
ResultFolder = Annotated[
    Path | None, typer.Option(help="A folder for one file per job and summary.json; valid results are reused.")
]
MaxAge = Annotated[str, typer.Option(metavar="TIME", help="Maximum age of reused results: 90s, 30m, 2h, 1d.")]
SnapshotFiles = Annotated[
    tuple[Path, Path] | None, typer.Option(help="Two snapshot files, old and new, instead of live clusters.")
]
ByRecords = Annotated[bool, typer.Option("--content/--no-content", help="Prove offsets on the records, with Spark.")]
TwoIfWrong = Annotated[
    bool, typer.Option("--detailed-exitcode", help="Exit with 2 if any current offset would go wrong.")
]

MostBatches = Annotated[int, typer.Option("--batches", min=0, help="Spark: how many retained batches to read of each.")]
SparkOf = Annotated[
    Path | None, typer.Option("--migration", "-m", help="The migration file whose Spark reads them; else local.")
]
ParquetFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A Parquet file to write, a row each. It must not exist.")
]


def inspect(
    uris: Uris,
    as_json: AsJson = False,
    batches: Batches = 100,
    uid: Uids = None,
    committer_table: CommitterTable = None,
    *,
    detailed_exitcode: TwoIfBlocked = False,
) -> None:
    """Show where a checkpoint's job would restart. Several: one JSON line each; many are read on Spark."""
    from offsetwise.engines.rows import FailedCheckpoint
    from offsetwise.findings import severity_of

    failed = blocked = False
    for read in offsetwise.inspect(uris, batches=batches, uids=uid or (), committer=committer_table):
        if isinstance(read, FailedCheckpoint):
            failed = True
            tell(read.error, read.problem, read.fix, as_json=as_json, uri=read.uri)
            continue
        blocked = blocked or any(severity_of(problem.code) is Severity.BLOCKS for problem in read.problems)
        if as_json:
            from offsetwise import files

            typer.echo(files.dump(read, indent=None, severities=True), nl=False)
        else:
            from offsetwise.cli import render

            render.checkpoint(stdout(), read, now_ms=int(time.time() * 1000))
    if failed:
        raise typer.Exit(1)
    if blocked and detailed_exitcode:
        raise typer.Exit(2)


def fleet(
    uris: Uris,
    *,
    parquet: ParquetFile = None,
    migration: SparkOf = None,
    batches: MostBatches = 0,
    detailed_exitcode: TwoIfBlocked = False,
    as_json: AsJson = False,
) -> None:
    """Show many checkpoints, a line each as it is read, and what they come to together. More than 3 are read on Spark.

    With --json the lines of `inspect --json`, and a last one that sums them up.
    """
    from offsetwise.fleets import FleetVerdict

    spark = None if migration is None else offsetwise.Migration.load(migration).settings.spark
    heard = partial(_tell_row, as_json=as_json)
    summary = offsetwise.fleet(uris, spark=spark, batches=batches, parquet=parquet, heard=heard)
    _tell_fleet(summary, as_json=as_json)
    if FleetVerdict.UNREADABLE in summary.verdicts:
        raise typer.Exit(1)
    if detailed_exitcode and FleetVerdict.PROBLEMS in summary.verdicts:
        raise typer.Exit(2)


def _tell_row(row: FleetRow, *, as_json: bool) -> None:
    from offsetwise.engines.rows import FailedCheckpoint

    if as_json:
        typer.echo(row.json_line(), nl=False)
    if isinstance(row.read, FailedCheckpoint):
        tell(row.read.error, row.read.problem, row.read.fix, as_json=False)
    elif not as_json:
        parts = "? partitions" if row.partitions is None else many(row.partitions, "partition")
        codes = f"; {', '.join(row.codes)}" if row.codes else ""
        line = f"{row.verdict}: {safe(row.uri)} ({row.read.engine}, {parts}{codes})"
        stdout().print(line, soft_wrap=True)


def _tell_fleet(summary: FleetSummary, *, as_json: bool) -> None:
    from offsetwise.cli import documents

    if as_json:
        typer.echo(documents.dump(summary, indent=None), nl=False)
        return
    out = stdout()
    counted = ", ".join(f"{count:,} {verdict}" for verdict, count in summary.verdicts.items())
    total = f"{many(summary.checkpoints, 'checkpoint')} with {many(summary.partitions, 'position')}"
    out.print(f"[bold]{total}: {counted}.[/]", soft_wrap=True)
    for code, count in summary.problems.items():
        out.print(f"{code}: {many(count, 'checkpoint')}.", soft_wrap=True)
    for same in summary.same_query:
        listed = safe(first_of(same.uris, 3))
        sentence = f"{len(same.uris):,} checkpoints carry the query id {safe(same.job_id)}: {listed}. Start one only."
        out.print(sentence, soft_wrap=True)


def snapshot(
    migration: MigrationFile,
    cluster: Annotated[Cluster, typer.Option(help="Which of the two.")],
    out: Annotated[Path, typer.Option(help="The file to write. It must not exist.")],
    topic: Annotated[list[str] | None, typer.Option(help="Only these topics; may be repeated.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Write what a cluster says now to a file, so that a comparison needs no cluster. With --json print it too."""
    from offsetwise import files, new_files

    new_files.require_new(out)
    result = offsetwise.Migration.load(migration).snapshot(cluster, topics=topic or None)
    text = files.dump(result)
    new_files.write_new(out, text)
    if as_json:
        typer.echo(text, nl=False)
    counted = (len(result.topics), "topic"), (sum(len(t.partitions) for t in result.topics), "partition")
    counts = ", ".join(many(count, word) for count, word in counted)
    say(
        f"{counts} and {many(len(result.groups), 'group')} of {result.name} (cluster id "
        f"{result.cluster_id or 'unknown'}) written to {out}."
    )
    for told_group in (counts for group in result.groups if (counts := _no_consumer_group(group, result))):
        say(told_group)
    for problem in result.problems:
        say(f"{problem.code}: {problem.message} {problem.fix}")


def _no_consumer_group(group: GroupState, result: Snapshot) -> str:
    from offsetwise.findings.groups import share_lag
    from offsetwise.lookalikes import marked

    if group.start_offsets:
        lag, unread = share_lag(group, result)
        rest = f", and {many(unread, 'partition')} of topics that are not in the file" if unread else ""
        return f"{marked(group.name)} is a share group: its lag is at most {many(lag, 'record')}{rest}."
    if group.application is not None:
        count = many(len(group.internal_topics), "internal topic")
        return f"{marked(group.name)} is an application of Kafka Streams with {count}."
    return ""


def compare(
    *,
    migration: MigrationFile,
    checkpoint: Checkpoints = None,
    group: Groups = None,
    every: AllJobs = False,
    wave: WaveName = None,
    positions: PositionsFile = None,
    shape: ShapeName = None,
    out: ResultFolder = None,
    parquet: ParquetFile = None,
    max_age: MaxAge = "1h",
    snapshots: SnapshotFiles = None,
    content: ByRecords = True,
    detailed_exitcode: TwoIfWrong = False,
    as_json: AsJson = False,
) -> None:
    """Show each partition's old offset beside the new one, with proof and cost; of several jobs a line each.

    Each cluster is read once, the records in one search.
    """
    of, loaded = offsetwise.Migration.load(migration), offsetwise.load_snapshots(*snapshots) if snapshots else None
    jobs = [of.checkpoint(name) for name in checkpoint or ()] + [of.group(name) for name in group or ()]
    written = "--out" if out is not None else "--parquet" if parquet is not None else None
    _require_one_way(jobs, positions, shape, every=every, wave=wave, written=written)
    max_age_s = seconds(max_age, option="--max-age")
    with _job_of_file(of, positions, shape) as filed:
        jobs += (*filed, *(() if wave is None else of.wave(wave)))
        if every or wave is not None or written is not None or len(jobs) > 1:
            compare_jobs = partial(of.compare_all, jobs or None, out=out, parquet=parquet, max_age_s=max_age_s)
            compared = _print_many(partial(compare_jobs, snapshots=loaded, records=content), as_json=as_json)
            unread = any(job.error is not None for job in compared)
            summaries = [job.comparison.summary for job in compared if job.comparison is not None]
        else:
            (job,) = jobs or [of.job()]
            comparison = _print_one(partial(job.compare, snapshots=loaded, records=content), as_json=as_json)
            unread, summaries = False, [comparison.summary]
    _exit(summaries if detailed_exitcode else (), unread=unread)


def _exit(summaries: Sequence[Summary], *, unread: bool) -> None:
    differ = any(summary.raw_wrong or summary.blocked for summary in summaries)
    if unread or differ:
        raise typer.Exit(1 if unread else 2)


def _require_one_way(
    jobs: Sequence[Job],
    positions: str | None,
    shape: str | None,
    *,
    every: bool,
    wave: str | None,
    written: str | None,
) -> None:
    require_one_choice("compare", every=every, wave=wave, named=bool(jobs))
    if positions is None and shape is not None:
        result = "no --positions"
    elif positions is not None and (jobs or every or wave is not None or written is not None):
        result = written or "other jobs beside it"
    else:
        return
    raise UsageError(
        f"compare: expected --positions FILE alone, with or without --shape NAME, found {result}. Nothing was read.",
        fix="Give --positions FILE and no other job, no --out and no --parquet; several files are named under "
        "`positions` in the migration file.",
    )


@contextmanager
def _job_of_file(of: Migration, positions: str | None, shape: str | None) -> Iterator[list[Job]]:
    """Yield the job whose positions are in a file, which exists while they are compared; none without a file."""
    from offsetwise.engines.checkpoint import MOST_BYTES

    if positions != "-":
        yield [] if positions is None else [of.positions(positions, shape=shape)]
        return
    with TemporaryDirectory(prefix="offsetwise-") as folder:
        file = Path(folder, "stdin")
        # One byte above the limit, so that a larger file is refused.
        file.write_bytes(sys.stdin.buffer.read(MOST_BYTES + 1))
        try:
            yield [of.positions(str(file), shape=shape)]
        except OffsetwiseError as error:
            error.problem = error.problem.replace(str(file), "standard input")
            error.fix = error.fix.replace(str(file), "-")
            raise


def _print_many(compare_jobs: Callable[..., tuple[Compared, ...]], *, as_json: bool) -> tuple[Compared, ...]:
    from offsetwise.cli import render

    with progress() as report:
        compared = compare_jobs(heard=partial(_tell_compared, as_json=as_json), progress=report)
    if not as_json:
        render.compared_all(stdout(), compared)
    return compared


def _print_one(compare_job: Callable[..., Comparison], *, as_json: bool) -> Comparison:
    from offsetwise import files
    from offsetwise.cli import render

    with progress() as report:
        comparison = compare_job(progress=report)
    if as_json:
        typer.echo(files.dump(comparison, severities=True), nl=False)
    else:
        render.comparison(stdout(), comparison)
    return comparison


def _tell_compared(outcome: Compared, *, as_json: bool) -> None:
    from offsetwise import files
    from offsetwise.cli import render

    if outcome.error is not None:
        tell(
            type(outcome.error).__name__,
            outcome.error.problem,
            outcome.error.fix,
            as_json=as_json,
            job=str(outcome.job),
        )
    elif as_json and outcome.comparison is not None:
        typer.echo(files.dump(outcome.comparison, indent=None, severities=True), nl=False)
    else:
        render.compared(stdout(), outcome)


def reconcile(
    migration: MigrationFile,
    topic: Annotated[str, typer.Option(help="The topic's name on the old cluster.")],
    as_json: AsJson = False,
) -> None:
    """Count, on Spark, how many of a topic's records are on both clusters, missing, duplicated or only on the new."""
    from offsetwise import files
    from offsetwise.cli import render

    with progress() as report:
        reconciliation = offsetwise.Migration.load(migration).reconcile(topic, progress=report)
    if as_json:
        typer.echo(files.dump(reconciliation), nl=False)
    else:
        render.reconciliation(stdout(), reconciliation)
