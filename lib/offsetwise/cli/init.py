"""The command that writes a migration file from two addresses and roots of checkpoints."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import offsetwise
from offsetwise.cli.options import AsJson
from offsetwise.cli.output import progress, say, stdout
from offsetwise.errors import UsageError
from offsetwise.model import Cluster
from offsetwise.wording import many

if TYPE_CHECKING:
    from offsetwise import Survey

ADDRESS = "HOST:PORT, or a file of client properties (of the Java client or of librdkafka)."
OldCluster = Annotated[str | None, typer.Option(metavar="ADDRESS|FILE", help=f"The old cluster: {ADDRESS}")]
NewCluster = Annotated[str | None, typer.Option(metavar="ADDRESS|FILE", help="The new cluster, the same way.")]
Folders = Annotated[
    list[str] | None, typer.Option(metavar="URI", help="A folder to look for checkpoints in; may be repeated.")
]
Connect = Annotated[
    list[str] | None,
    typer.Option(metavar="URL", help="Workers of Kafka Connect to ask for connectors; may be repeated."),
]
Out = Annotated[Path | None, typer.Option(help="The migration file to write. It must not exist.")]
Update = Annotated[
    bool, typer.Option("--update", help="Keep what the file says, and add what it lacks. Shows the difference.")
]
WithoutQuestion = Annotated[bool, typer.Option("--yes", help="With --update: write without a question.")]


def init(
    *,
    old: OldCluster = None,
    new: NewCluster = None,
    checkpoints: Folders = None,
    connect: Connect = None,
    out: Out = None,
    update: Update = False,
    yes: WithoutQuestion = False,
    as_json: AsJson = False,
) -> None:
    """Write a migration file from two addresses and the folders that hold checkpoints. Asks for what is missing."""
    asks = sys.stdin.isatty() and not as_json
    out = Path(_prompt(out, "--out", "The migration file to write", asks, usual="migration.yaml"))
    if not update:
        old = _prompt(old, "--old", "The old cluster (HOST:PORT, or a file of client properties)", asks)
        new = _prompt(new, "--new", "The new cluster (HOST:PORT, or a file of client properties)", asks)
        if not connect and not checkpoints:
            checkpoints = [_prompt(None, "--checkpoints", "A folder that holds checkpoints", asks)]

    def confirm(diff: str) -> bool:
        if not as_json:
            stdout().print(diff, markup=False, end="", soft_wrap=True)
        return yes or (asks and typer.confirm(f"Write this to {out}?", err=True))

    roots, workers = checkpoints or (), connect or ()
    with progress() as report:
        survey = offsetwise.init(
            out, old=old, new=new, checkpoints=roots, connect=workers, update=update, confirm=confirm, progress=report
        )
    _print(survey, out, as_json=as_json)
    if survey.problems:
        raise typer.Exit(1)


def _print(survey: Survey, out: Path, *, as_json: bool) -> None:
    from offsetwise.cli import documents

    if as_json:
        typer.echo(documents.dump(survey), nl=False)
    else:
        for line in _lines(survey):
            stdout().print(line, markup=False, soft_wrap=True)
    for problem in survey.problems:
        say(f"{problem.problem} {problem.fix}")
    say(_next(survey, out))


def _prompt(given: object, option: str, question: str, asks: bool, *, usual: str | None = None) -> str:
    if given is not None:
        return str(given)
    if not asks:
        raise UsageError(
            f"init: expected {option}, found none, and no terminal to ask at. Nothing was read or written.",
            fix=f"Add {option}. See: offsetwise init --help",
        )
    answer: str = typer.prompt(question, default=usual, err=True)
    return answer


def _lines(survey: Survey) -> Iterator[str]:
    from offsetwise.lookalikes import marked

    for name, cluster in (("old cluster", survey.old), ("new cluster", survey.new)):
        counted = "could not be read"
        if cluster.topics is not None:
            counted = f"{many(cluster.topics, 'topic')}, {many(cluster.partitions or 0, 'partition')}"
            counted += f", id {cluster.cluster_id or 'unknown'}"
        yield f"{name}  {dict(cluster.properties)['bootstrap.servers']}: {counted}"
    yield f"link         {survey.link.link or 'not known'}: {survey.link.evidence}"
    yield f"topics       {survey.topics.evidence}"
    jobs = [checkpoint for checkpoint in survey.checkpoints if checkpoint.left_out is None]
    yield f"checkpoints  {_counted([job.name for job in jobs])}"
    yield from _connectors(survey)
    groups = [group for group in survey.groups if group.left_out is None]
    yield f"groups       {_counted([group.name for group in groups])}"
    for surveyed_group in survey.groups:
        if surveyed_group.left_out is not None:
            yield f"  left out   {marked(surveyed_group.name)}: {surveyed_group.left_out}"
    for difference in survey.differences:
        yield f"differs      {marked(difference)}"
    if survey.written and not survey.diff:
        yield f"schema       {survey.schema_file or 'another file has its name: editors complete nothing'}"
    if survey.missing:
        yield "to fill in   " + ", ".join(field.key for field in survey.missing)
    for variable in survey.variables:
        yield f"set          {variable}"


def _counted(names: Sequence[str]) -> str:
    from offsetwise.lookalikes import marked

    shown = ", ".join(map(marked, names[:10])) + (", …" if len(names) > 10 else "")
    return f"{len(names):,}{f': {shown}' if shown else ''}"


def _connectors(survey: Survey) -> Iterator[str]:
    from offsetwise.lookalikes import marked

    if not survey.connectors:
        return
    sinks = [connector for connector in survey.connectors if connector.left_out is None]
    yield f"connectors   {_counted([connector.name for connector in sinks])}"
    for connector in survey.connectors:
        if connector.left_out is not None:
            yield f"  left out   {marked(connector.name)}: {connector.left_out}"
        for problem in connector.problems:
            yield f"  blocked    {marked(connector.name)}: {problem}"


def _next(survey: Survey, out: Path) -> str:
    if not survey.written:
        return f"{out} was not changed: " + (
            "--yes writes what is shown." if survey.diff else "it has all that was found."
        )
    job = next(
        (
            f"--checkpoint {_quoted(checkpoint.name)}"
            for checkpoint in survey.checkpoints
            if checkpoint.left_out is None
        ),
        None,
    )
    job = job or next(
        (
            f"--checkpoint {_quoted(connector.name)}"
            for connector in survey.connectors
            if connector.left_out is None and connector.cluster is Cluster.OLD
        ),
        None,
    )
    job = job or next((f"--group {_quoted(group.name)}" for group in survey.groups if group.left_out is None), None)
    set_first = f"Set {', '.join(survey.variables)}, then compare" if survey.variables else "Compare"
    return f"{out} was written. " + (
        f"{set_first} a job: offsetwise compare --migration {_quoted(str(out))} {job}"
        if job
        else "It names no job yet."
    )


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
