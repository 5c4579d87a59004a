"""The command that shows what a job's sinks have left open."""

from __future__ import annotations

from typing import Annotated

import typer

from offsetwise.cli.options import AsJson, MigrationFile, seconds
from offsetwise.cli.output import progress, say, stdout


def transactions(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="A name of the migration file, or the path of a checkpoint.")
    ],
    *,
    migration: MigrationFile,
    topic: Annotated[
        list[str] | None, typer.Option(help="A topic of the sink, to look at though nothing open names it; repeatable.")
    ] = None,
    apart: Annotated[str, typer.Option(metavar="TIME", help="Between two looks: a job that runs moves meanwhile.")] = (
        "2s"
    ),
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Judge the steps to two-phase commit (FLIP-319, KIP-939) as well.")
    ] = False,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 if anything is open.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the transactions of a Flink job's sinks: what the savepoint holds, what the broker says, what to do."""
    from offsetwise import Migration

    of = Migration.load(migration)
    apart_s = seconds(apart, option="--apart")
    with progress() as told:
        made = of.transactions(checkpoint, topics=topic or (), apart_s=apart_s, upgrade=upgrade, progress=told)
    if as_json:
        from offsetwise.cli import documents

        typer.echo(documents.dump(made), nl=False)
    else:
        from offsetwise.cli import render_sinks

        render_sinks.transactions(stdout(), made)
    for problem in made.problems:
        say(problem)
    if not made.complete:
        raise typer.Exit(1)
    if detailed_exitcode and made.open:
        raise typer.Exit(2)
