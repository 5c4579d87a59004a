"""The command that lists what a plan can write to."""

from __future__ import annotations

from typing import Annotated

import typer

from offsetwise.cli.options import AsJson
from offsetwise.cli.output import say
from offsetwise.errors import UsageError


def targets(
    name: Annotated[str | None, typer.Argument(help="A type of target, as after `--target`; all without one.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List what a plan can write to, and the keys that `draft --set` takes for each. Reads nothing."""
    from offsetwise.cli import documents
    from offsetwise.targets.listing import TargetListing, keys, listing, problems

    listed = listing()
    for problem in problems():
        say(problem)
    if name is not None:
        known = [listed_target.name for listed_target in listed.targets]
        if name not in known:
            raise UsageError(
                f"targets: expected one of {', '.join(known)}; found {name[:100]!r}. Nothing is listed.",
                fix="Name one of them, or none to list all.",
            )
        listed = TargetListing(
            targets=tuple(listed_target for listed_target in listed.targets if listed_target.name == name), engines=()
        )
    if as_json:
        typer.echo(documents.dump(listed), nl=False)
        return
    for target in listed.targets:
        typer.echo(f"{target.name if target.address is None else f'{target.name}:NAME'}  {target.label}")
        if target.engines:
            streams = f", positions of {', '.join(target.streams)}" if target.streams else ""
            typer.echo(f"    for jobs of {', '.join(target.engines)}{streams}")
        _keys(keys(target.parameters))
    for engine in listed.engines:
        if stated := keys(engine.parameters):
            typer.echo(f"about every job of {engine.label}")
            _keys(stated)


def _keys(stated: tuple[tuple[str, str], ...]) -> None:
    for key, meaning in stated:
        typer.echo(f"    --set {key}  {meaning}")
