"""The command that shows the open transactions of a job's sinks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import offsetwise
from offsetwise.cli.options import AsJson, MigrationFile, seconds
from offsetwise.cli.output import progress, say, stdout
from offsetwise.errors import UsageError

if TYPE_CHECKING:
    from offsetwise.transactions.report import SinkTransactions

CheckpointName = Annotated[
    str, typer.Argument(metavar="CHECKPOINT", help="A name of the migration file, or the path of a checkpoint.")
]
SinkTopics = Annotated[
    list[str] | None,
    typer.Option(help="A topic of the sink to search even if no open transaction names it; repeatable."),
]
Interval = Annotated[str, typer.Option(metavar="TIME", help="Between two looks: a job that runs moves meanwhile.")]
Upgrade = Annotated[
    bool, typer.Option("--upgrade", help="Judge the steps to two-phase commit (FLIP-319, KIP-939) as well.")
]
SnapshotFile = Annotated[
    Path | None, typer.Option(help="The file of an earlier look (--out), instead of the live cluster.")
]
Out = Annotated[Path | None, typer.Option(help="Also write what the cluster says to this file, which must not exist.")]
TwoIfOpen = Annotated[bool, typer.Option("--detailed-exitcode", help="Exit with 2 if anything is open.")]


def transactions(
    checkpoint: CheckpointName,
    *,
    migration: MigrationFile,
    topic: SinkTopics = None,
    apart: Interval = "2s",
    upgrade: Upgrade = False,
    snapshot: SnapshotFile = None,
    out: Out = None,
    detailed_exitcode: TwoIfOpen = False,
    as_json: AsJson = False,
) -> None:
    """Show the transactions of a Flink job's sinks: what the savepoint holds, what the broker says, what to do."""
    from offsetwise import files, new_files

    if snapshot is not None and out is not None:
        raise UsageError(
            "transactions: expected --snapshot or --out, found both. No cluster was asked.",
            fix="Leave --out out: what it would write stands in the snapshot.",
        )
    of = offsetwise.Migration.load(migration)
    apart_s = seconds(apart, option="--apart")
    sink_snapshot = None if snapshot is None else offsetwise.load_sink_snapshot(snapshot)
    with progress() as report:
        if out is not None:
            new_files.require_new(out)
            sink_snapshot = of.sink_snapshot(checkpoint, topics=topic or (), apart_s=apart_s, progress=report)
            new_files.write_new(out, files.dump(sink_snapshot))
        sink_transactions = of.transactions(
            checkpoint, topics=topic or (), apart_s=apart_s, upgrade=upgrade, snapshot=sink_snapshot, progress=report
        )
    if snapshot is not None:
        say(f"As the cluster said at {sink_transactions.taken_at}.")
    _print(sink_transactions, as_json=as_json)
    if not sink_transactions.complete:
        raise typer.Exit(1)
    if detailed_exitcode and sink_transactions.open:
        raise typer.Exit(2)


def _print(report: SinkTransactions, *, as_json: bool) -> None:
    if as_json:
        from offsetwise.cli import documents

        typer.echo(documents.dump(report), nl=False)
    else:
        from offsetwise.cli.render import sinks as render_sinks

        render_sinks.transactions(stdout(), report)
    for problem in report.problems:
        say(problem)
