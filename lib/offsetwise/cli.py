"""The command line: the same verbs as the console. stdout is data, stderr is talk."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Final, cast

import typer
from rich.console import Console

from offsetwise import cli_plans, files, show, workflow
from offsetwise.config import load_migration
from offsetwise.config import schema as migration_schema
from offsetwise.errors import ConfigError, FileError, OffsetwiseError, UsageError
from offsetwise.exit_codes import EXIT_CODES, exit_code
from offsetwise.lab.commands import app as lab_app
from offsetwise.model import Cluster
from offsetwise.sources.spark_checkpoint_rows import FailedCheckpoint
from offsetwise.wording import many

EPILOG: Final = f"""
Exit codes: {"; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())}.
Results go to stdout, progress and errors to stderr. With --json, stdout holds only JSON, errors included.
"""

DEBUG: Final = "OFFSETWISE_DEBUG"
INTERRUPTED: Final = 130
"""What typer makes of Ctrl-C. Our own exit code for it is 1."""
USAGE_ERROR: Final = cast("type[Exception]", typer.BadParameter.__mro__[2])
"""The root of all usage errors. Some releases of typer import click, others bring a copy of it."""

talk: Final = Console(stderr=True, highlight=False)

app = typer.Typer(
    name="offsetwise",
    help="Where must each partition resume on the new Kafka cluster, and how do we know?",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(lab_app, name="lab")

AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, nothing else.")]
MigrationFile = Annotated[Path, typer.Option("--migration", "-m", help="The migration file (YAML).")]
Store = Annotated[str | None, typer.Option(help="The URL of the store; by default a file in the state folder.")]


@app.command(epilog=EPILOG)
def inspect(
    uris: Annotated[list[str], typer.Argument(metavar="URI...", help="Checkpoint or savepoint folders, or globs.")],
    as_json: AsJson = False,
    batches: Annotated[int, typer.Option(min=1, help="Spark: how many of the newest batches to show.")] = 100,
    uid: Annotated[list[str] | None, typer.Option(help="Flink: a uid to name an operator by; repeatable.")] = None,
) -> None:
    """Say where a checkpoint's job would restart. Several: one JSON line each; many are read on Spark."""
    failed = False
    for read in workflow.inspect(uris, batches=batches, uids=uid or ()):
        if isinstance(read, FailedCheckpoint):
            failed = True
            _failed(read, as_json=as_json)
        elif as_json:
            typer.echo(files.dump(read, indent=None), nl=False)
        else:
            show.checkpoint(Console(highlight=False), read, now_ms=int(time.time() * 1000))
    if failed:
        raise typer.Exit(1)


@app.command(epilog=EPILOG)
def snapshot(
    migration: MigrationFile,
    cluster: Annotated[Cluster, typer.Option(help="Which of the two.")],
    out: Annotated[Path, typer.Option(help="The file to write. It must not exist.")],
    topic: Annotated[list[str] | None, typer.Option(help="Only these topics; may be repeated.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Write what a cluster says now to a file, so that a comparison needs no cluster. With --json print it too."""
    if out.exists():
        raise _not_new(out, "something of that name exists")
    taken = workflow.snapshot(load_migration(migration), cluster, topics=tuple(topic) if topic else None)
    text = files.dump(taken)
    _write_new(out, text)
    if as_json:
        typer.echo(text, nl=False)
    counted = (len(taken.topics), "topic"), (sum(len(t.partitions) for t in taken.topics), "partition")
    told = ", ".join(many(count, word) for count, word in counted)
    talk.print(
        f"{told} and {many(len(taken.groups), 'group')} of {show.safe(taken.name)} "
        f"(cluster id {show.safe(taken.cluster_id or 'unknown')}) written to {show.safe(str(out))}.",
        soft_wrap=True,
    )
    for problem in taken.problems:
        talk.print(f"{problem.code}: {show.safe(problem.message)} {show.safe(problem.fix)}", soft_wrap=True)


@app.command(epilog=EPILOG)
def compare(
    *,
    migration: MigrationFile,
    checkpoint: Annotated[str | None, typer.Option(help="A checkpoint named in the migration file.")] = None,
    group: Annotated[str | None, typer.Option(help="A consumer group of the old cluster instead.")] = None,
    snapshots: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Two snapshot files, old and new, instead of live clusters.")
    ] = None,
    content: Annotated[
        bool, typer.Option("--content/--no-content", help="Prove offsets on the records, with Spark.")
    ] = True,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 if any old number would go wrong.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show every partition's old offset beside its place on the new cluster, with proof and cost."""
    chosen = load_migration(migration)
    loaded = workflow.load_snapshots(*snapshots) if snapshots else None
    with show.progress(talk) as progress:
        made = workflow.compare(
            chosen, checkpoint=checkpoint, group=group, snapshots=loaded, content=content, progress=progress
        )
    if as_json:
        typer.echo(files.dump(made), nl=False)
    else:
        show.comparison(Console(highlight=False), made)
    if detailed_exitcode and (made.summary.raw_wrong or made.summary.blocked):
        raise typer.Exit(2)


@app.command(epilog=EPILOG)
def reconcile(
    migration: MigrationFile,
    topic: Annotated[str, typer.Option(help="The topic's name on the old cluster.")],
    as_json: AsJson = False,
) -> None:
    """Count, on Spark, how many of a topic's records are on both clusters, missing, duplicated or only on the new."""
    with show.progress(talk) as progress:
        made = workflow.reconcile(load_migration(migration), topic, progress=progress)
    if as_json:
        typer.echo(files.dump(made), nl=False)
    else:
        show.reconciliation(Console(highlight=False), made)


@app.command(epilog=EPILOG)
def watch(
    *,
    migration: Annotated[list[Path], typer.Option("--migration", "-m", help="A migration file; may be repeated.")],
    checkpoint: Annotated[list[str] | None, typer.Option(help="Only this checkpoint; may be repeated.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="Only this group; may be repeated.")] = None,
    every: Annotated[float, typer.Option(min=1, max=86_400, help="Seconds between samples.")] = 30,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many; exit with 1 if any lacks a part.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Serve Prometheus metrics on 127.0.0.1; 0 chooses a port.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Sample the lag on both clusters again and again, until stopped. With --json, one line per sample."""
    from offsetwise.watch.command import watch as watched  # noqa: PLC0415 - the store's libraries take a moment

    whole = watched(
        workflow.load_migrations(migration),
        checkpoints=checkpoint or (),
        groups=group or (),
        every_s=every,
        count=count,
        metrics_port=metrics_port,
        store_url=store,
        said=lambda text: talk.print(show.safe(text), soft_wrap=True),
        heard=lambda taken: typer.echo(files.dump(taken.sample, indent=None), nl=False) if as_json else None,
    )
    if count is not None and not whole:
        raise typer.Exit(1)


@app.command(epilog=EPILOG)
def audit(
    *,
    store: Store = None,
    noted: Annotated[
        str | None, typer.Option(metavar="ROW:HASH", help="A last row as an earlier check printed it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the audit log of a console, and say its last row's hash, to be noted away from the database."""
    from offsetwise import printed  # noqa: PLC0415 - the store's libraries take a moment
    from offsetwise.review import auditing  # noqa: PLC0415 - as above

    found = auditing.audited(store, None if noted is None else auditing.noted(noted))
    if as_json:
        typer.echo(printed.dump(found), nl=False)
    else:
        show.audit(Console(highlight=False), found.broken, found.row, found.hash, found.at_ms)
    if not found.intact:
        raise typer.Exit(5)


@app.command(epilog=EPILOG)
def schema(
    kind: Annotated[
        str,
        typer.Argument(help="migration, or checkpoint, plan, dry-run and every other kind of file or --json output."),
    ],
    *,
    as_json: AsJson = False,  # noqa: ARG001 - a schema is JSON anyway; main() looks for it where errors are told
) -> None:
    """Print the JSON Schema of one kind of file, or of what a command prints with --json."""
    from offsetwise import printed  # noqa: PLC0415 - the cryptography takes a moment

    if kind == "migration":
        made = migration_schema()
    elif kind in files.KINDS:
        made = files.schema(kind)
    elif kind in printed.KINDS or kind in printed.SHAPES:
        made = printed.schema(kind)
    else:
        known = ", ".join(("migration", *files.KINDS, *printed.KINDS, *printed.SHAPES))
        raise ConfigError(
            f"schema: expected one of {known}; found {kind!r}. Nothing was printed.",
            fix="Name one of them.",
        )
    typer.echo(json.dumps(made, indent=1, sort_keys=True))


@app.command(epilog=EPILOG)
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
    store: Store = None,
) -> None:
    """Open the console in the browser: the bundled sample migrations, and those named."""
    from offsetwise.console.launch import launch  # noqa: PLC0415 - Streamlit takes a second to import

    launch(
        [*(migration or []), *(more or [])],
        port=port,
        address=address,
        access_file=access,
        store_url=store,
        bundle_files=bundle or [],
    )


for command in cli_plans.COMMANDS:
    app.command(epilog=EPILOG)(command)


def main() -> None:
    """Run the command line, and turn every error into a message and an exit code."""
    as_json = "--json" in sys.argv[1:]
    _take_any_name(as_json=as_json)
    try:
        code = app(standalone_mode=False)
    except OffsetwiseError as error:
        code = _told(error, as_json=as_json)
    except USAGE_ERROR as error:
        code = _usage(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a person gets a message, whatever happened
        if os.environ.get(DEBUG):
            traceback.print_exc()
        code = _told(_unexpected(error), as_json=as_json)
    if code == INTERRUPTED:
        talk.print("Stopped before the end.")
        code = 1
    raise SystemExit(code or 0)


def _take_any_name(*, as_json: bool) -> None:
    """Let names with any character be printed: our JSON is UTF-8, a terminal may be anything."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Half a surrogate pair comes from a file name of other bytes; escaped, it is JSON still.
        sys.stdout.reconfigure(encoding="utf-8" if as_json else None, errors="backslashreplace")


def _usage(error: Exception, *, as_json: bool) -> int:
    problem = str(getattr(error, "format_message", lambda: error)()).strip()
    context = getattr(error, "ctx", None)
    if not problem:
        return 1  # no command was named, and the help has been shown
    command = context.command_path if context is not None else "offsetwise"
    return _told(
        UsageError(f"{command}: {problem.rstrip('.')}. Nothing was done.", fix=f"See: {command} --help"),
        as_json=as_json,
    )


def _unexpected(error: Exception) -> OffsetwiseError:
    """Name an exception and where it was raised; its text may repeat what should not be shown."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "offsetwise" in Path(each.filename).parts]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return OffsetwiseError(
        f"Expected to finish, but {type(error).__name__} was raised{place}. This is a defect of Offsetwise; "
        "whatever was printed before may be incomplete.",
        fix=f"Report it with this message; with {DEBUG}=1 in the environment the traceback is shown.",
    )


def _told(error: OffsetwiseError, *, as_json: bool) -> int:
    _tell(type(error).__name__, error.problem, error.fix, as_json=as_json)
    return exit_code(error)


def _failed(read: FailedCheckpoint, *, as_json: bool) -> None:
    _tell(read.error, read.problem, read.fix, as_json=as_json, uri=read.uri)


def _tell(name: str, problem: str, fix: str, *, as_json: bool, **more: str) -> None:
    if as_json:
        header = {"format": "offsetwise/error", "format_version": files.FORMAT_VERSION}
        body = header | {"error": name, "problem": problem, "fix": fix} | more
        typer.echo(json.dumps(body, ensure_ascii=False, sort_keys=True))
    talk.print(f"[bold red]error[/] {show.safe(problem)}\n[bold]next[/]  {show.safe(fix)}", soft_wrap=True)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise _not_new(path, error.strerror or str(error)) from error


def _not_new(path: Path, why: str) -> FileError:
    return FileError(
        f"{path}: expected to write a new file, but {why}. Nothing was written.",
        fix="Name a file that does not exist yet, in a folder that does.",
    )
