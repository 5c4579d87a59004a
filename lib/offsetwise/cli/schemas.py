"""The command that prints JSON Schemas."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from offsetwise.cli.options import AsJson
from offsetwise.errors import ConfigError


def schema(
    kind: Annotated[
        str,
        typer.Argument(help="migration, or checkpoint, plan, dry-run and every other kind of file or --json output."),
    ],
    *,
    as_json: AsJson = False,  # noqa: ARG001 - a schema is JSON anyway; main() looks for it where errors are written
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
