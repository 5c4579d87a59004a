"""Options that several commands have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

import offsetwise
from offsetwise.errors import UsageError

AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, nothing else.")]
MigrationFile = Annotated[Path, typer.Option("--migration", "-m", help="The migration file (YAML).")]
MaybeMigrationFile = Annotated[
    Path | None,
    typer.Option("--migration", "-m", help="The migration file (YAML); none for a plan that only repairs."),
]
PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="The plan's file; or a set of plans: its file or folder.")
]
TrustedKeys = Annotated[list[Path] | None, typer.Option(help="The .pub file of a reviewer; may be repeated.")]
Store = Annotated[str | None, typer.Option(help="The URL of the store; by default a file in the state folder.")]
WaveName = Annotated[str | None, typer.Option(metavar="NAME", help="All jobs of a wave of the migration file.")]
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def loaded(migration: Path | None) -> offsetwise.Migration | None:
    return None if migration is None else offsetwise.Migration.load(migration)


def require_one_choice(command: str, *, every: bool, wave: str | None, named: bool) -> None:
    """Require that jobs are chosen in one way only.

    Args:
        command: The command.
        every: Whether all jobs of the migration file are chosen.
        wave: The wave whose jobs are chosen.
        named: Whether jobs are named.

    Raises:
        UsageError: They are chosen in more than one way.
    """
    if sum((every, wave is not None, named)) > 1:
        raise UsageError(
            f"{command}: expected --all, --wave, or jobs by name, found more than one of them. Nothing was read.",
            fix="Leave the others out.",
        )


def seconds(text: str, *, option: str) -> float:
    """Parse a duration.

    >>> seconds("90m", option="--max-age")
    5400.0

    Raises:
        UsageError: It is not a duration.
    """
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if match is None:
        raise UsageError(
            f"{option}: expected a number and s, m, h or d, found {text!r}. Nothing was done.",
            fix=f"Give it as in {option} 90m.",
        )
    return float(int(match[1]) * _SECONDS[match[2]])
