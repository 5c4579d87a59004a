"""The commands of the lab: up, sample, migration, run, status, down."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from offsetwise.cli.options import AsJson

app = typer.Typer(help="Two real Kafka clusters and MirrorMaker 2, to try things on.", no_args_is_help=True)
Folder = Annotated[Path, typer.Option("--dir", help="The lab's folder.", file_okay=False)]
WaveToRun = Annotated[str, typer.Option("--wave", metavar="NAME", help="pilot, core or rest.")]
Flink = Annotated[
    Path | None,
    typer.Option("--flink", help="A Flink whose `lib` has its Kafka connector, to run some jobs.", file_okay=False),
]
DEFAULT_FOLDER = Path(".lab")


@app.command()
def up(directory: Folder = DEFAULT_FOLDER, *, as_json: AsJson = False) -> None:
    """Start both clusters, or leave them alone if they run."""
    from offsetwise.lab.cluster import Lab

    lab = Lab.up(directory)
    if as_json:
        typer.echo(_status(directory))
    else:
        typer.echo(f"old cluster  {lab.old_bootstrap}\nnew cluster  {lab.new_bootstrap}")


@app.command()
def sample(directory: Folder = DEFAULT_FOLDER, *, as_json: AsJson = False) -> None:
    """Make the reference migration, starting the clusters if needed: a job stopped at 1050, which is 950 there."""
    from offsetwise.lab.cluster import Lab
    from offsetwise.lab.sample import make_sample

    path = make_sample(Lab.up(directory), said=lambda step: typer.echo(step, err=True))
    typer.echo(json.dumps({"migration": str(path)}) if as_json else str(path))


@app.command()
def migration(directory: Folder = DEFAULT_FOLDER, *, flink: Flink = None, as_json: AsJson = False) -> None:
    """Make a migration of 40 jobs in three waves: Spark queries and consumer groups, stopped; starts what is needed."""
    from offsetwise.lab.cluster import Lab
    from offsetwise.lab.flink import FlinkFolder
    from offsetwise.lab.migration import make_migration

    chosen = None if flink is None else FlinkFolder.at(flink)
    path = make_migration(Lab.up(directory), flink=chosen, said=lambda step: typer.echo(step, err=True))
    typer.echo(json.dumps({"migration": str(path)}) if as_json else str(path))


@app.command()
def run(wave: WaveToRun, directory: Folder = DEFAULT_FOLDER, *, as_json: AsJson = False) -> None:
    """Run the moved jobs of a wave of that migration on the new cluster, to the ends of their logs."""
    from offsetwise.lab.cluster import Lab
    from offsetwise.lab.migration import jobs_of_wave, run_on_new

    lab = Lab.at(directory)
    jobs = jobs_of_wave(lab, wave)
    moved = run_on_new(lab, jobs)
    remaining = [job.subject for job in jobs if job not in moved]
    if as_json:
        typer.echo(json.dumps({"jobs": [job.subject for job in moved], "not_moved": remaining}))
        return
    typer.echo(f"{len(moved):,} of {len(jobs):,} jobs have run on the new cluster, to the ends of their logs.")
    if remaining:
        typer.echo(f"Not moved yet: {', '.join(remaining)}.")


@app.command()
def status(directory: Folder = DEFAULT_FOLDER, *, as_json: AsJson = False) -> None:
    """Show what runs."""
    from offsetwise.lab.cluster import Lab

    if as_json:
        typer.echo(_status(directory))
        return
    services = Lab.at(directory).status()
    for service in services:
        detail = service.bootstrap or ", ".join(service.topics)
        typer.echo(f"{service.name:16} {'running' if service.running else 'ended':8} pid {service.pid:<8} {detail}")
    if not services:
        typer.echo(f"There is no lab in {directory.resolve()}. Start one: offsetwise lab up --dir {directory}")


@app.command()
def down(directory: Folder = DEFAULT_FOLDER, *, as_json: AsJson = False) -> None:
    """Stop everything that runs in the folder; what was written stays for the next `up`."""
    from offsetwise.lab.cluster import Lab

    Lab.at(directory).down()
    if as_json:
        typer.echo(_status(directory))


def _status(directory: Path) -> str:
    from offsetwise.lab.cluster import Lab

    services = Lab.at(directory).status()
    return json.dumps({"directory": str(directory.resolve()), "services": [asdict(service) for service in services]})
