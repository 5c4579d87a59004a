"""The commands for long-running services: the console, its audit log, and the sampler of the lag."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offsetwise.cli.options import AsJson, Store
from offsetwise.cli.output import say, stdout
from offsetwise.errors import UsageError
from offsetwise.wording import many


def watch(
    *,
    migration: Annotated[list[Path], typer.Option("--migration", "-m", help="A migration file; may be repeated.")],
    checkpoint: Annotated[list[str] | None, typer.Option(help="Only this checkpoint; may be repeated.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="Only this group; may be repeated.")] = None,
    every: Annotated[float, typer.Option(min=1, max=86_400, help="Seconds between samples.")] = 30,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many samples; exit with 1 if any is incomplete.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Serve Prometheus metrics on 127.0.0.1; 0 chooses a port.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Sample the lag on both clusters again and again, until stopped. With --json, one line per sample."""
    from offsetwise import files, workflow
    from offsetwise.watch.command import watch as watched

    whole = watched(
        workflow.load_migrations(migration),
        checkpoints=checkpoint or (),
        groups=group or (),
        every_s=every,
        count=count,
        metrics_port=metrics_port,
        store_url=store,
        said=say,
        heard=lambda sampled: typer.echo(files.dump(sampled.sample, indent=None), nl=False) if as_json else None,
    )
    if count is not None and not whole:
        raise typer.Exit(1)


def audit(
    *,
    store: Store = None,
    noted: Annotated[
        str | None, typer.Option(metavar="ROW:HASH", help="A last row as an earlier check printed it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the audit log of a console, and say its last row's hash, to be noted away from the database."""
    from offsetwise.cli import documents, render
    from offsetwise.review import auditing

    audited = auditing.audited(store, None if noted is None else auditing.noted(noted))
    if as_json:
        typer.echo(documents.dump(audited), nl=False)
    else:
        render.audit(stdout(), audited.broken, audited.row, audited.hash, audited.at_ms)
    if not audited.intact:
        raise typer.Exit(5)


def console(
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="More migration files.")] = None,
    *,
    migration: Annotated[
        list[Path] | None, typer.Option("--migration", "-m", help="A migration file; may be repeated.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port; Streamlit's choice by default.")] = None,
    address: Annotated[
        str, typer.Option(help="What to listen on. Where others can reach it, --access must require sign-in.")
    ] = "127.0.0.1",
    access: Annotated[Path | None, typer.Option(help="Who may use the console (YAML).")] = None,
    bundle: Annotated[
        list[Path] | None, typer.Option(help="A review bundle of another console; may be repeated.")
    ] = None,
    folder: Annotated[
        list[Path] | None,
        typer.Option(help="The folder of a migration's plans and receipts; once for each file, in their order."),
    ] = None,
    store: Store = None,
) -> None:
    """Open the console in the browser: the bundled sample migrations, and those named."""
    from offsetwise.console.server.launch import launch

    files = [*(migration or []), *(more or [])]
    folders = folder or []
    if len(folders) > len(files):
        raise UsageError(
            f"console: expected --folder at most once for each migration file, found {many(len(folders), 'folder')} "
            f"and {many(len(files), 'migration file')}. The console was not started.",
            fix="Leave --folder out, or name the migration file that the folder is of.",
        )
    launch(
        files,
        port=port,
        address=address,
        access_file=access,
        store_url=store,
        bundle_files=bundle or [],
        folders=folders,
    )
