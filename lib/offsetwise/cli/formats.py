"""The commands about file formats: their JSON Schemas, and the differences between two files of one kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import offsetwise
from offsetwise.cli.options import AsJson
from offsetwise.errors import ConfigError

Before = Annotated[
    Path,
    typer.Argument(
        metavar="BEFORE", help="A comparison, plan, snapshot, cutover or status; or a folder of compare --out."
    ),
]
After = Annotated[Path, typer.Argument(metavar="AFTER", help="A later one of the same kind.")]
Rows = Annotated[int, typer.Option(min=1, help="Changes of a section that are shown at most; --json has all.")]
TwoIfDifferent = Annotated[bool, typer.Option("--detailed-exitcode", help="Exit with 2 if they differ.")]


def schema(
    kind: Annotated[
        str,
        typer.Argument(help="migration, or checkpoint, plan, dry-run and every other kind of file or --json output."),
    ],
    *,
    as_json: AsJson = False,  # noqa: ARG001 - a schema is JSON anyway; main() uses it for errors
) -> None:
    """Print the JSON Schema of one kind of file, or of what a command prints with --json."""
    from offsetwise import files
    from offsetwise.cli import documents
    from offsetwise.config import schema_text

    if kind == "migration":
        typer.echo(schema_text(), nl=False)
        return
    if kind in files.KINDS:
        results = files.schema(kind)
    elif kind in documents.KINDS or kind in documents.SHAPES:
        results = documents.schema(kind)
    else:
        known = ", ".join(("migration", *files.KINDS, *documents.KINDS, *documents.SHAPES))
        raise ConfigError(
            f"schema: expected one of {known}; found {kind!r}. Nothing was printed.",
            fix="Name one of them.",
        )
    typer.echo(json.dumps(results, indent=1, sort_keys=True))


def diff(
    before: Before, after: After, *, rows: Rows = 50, detailed_exitcode: TwoIfDifferent = False, as_json: AsJson = False
) -> None:
    """Show what changed between two files of one kind, as Markdown for a pull request: positions, findings, states.

    When something was read or written is no change. `drift` compares a plan with the clusters.
    """
    from offsetwise.cli import documents
    from offsetwise.differences.markdown import markdown

    difference = offsetwise.diff(before, after)
    typer.echo(documents.dump(difference) if as_json else markdown(difference, rows=rows), nl=False)
    if detailed_exitcode and not difference.equal:
        raise typer.Exit(2)
