"""The options of `draft`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Author = Annotated[str, typer.Option(help="Who drafts it. Recorded, not verified; barred from approving.")]
Out = Annotated[
    Path, typer.Option(help="The plan's file to write, which must not exist; for several jobs a folder for all plans.")
]
Targets = Annotated[
    list[str] | None,
    typer.Option(help="What the plan writes, TYPE or TYPE:NAME; `offsetwise targets` lists them. May be repeated."),
]
CheckpointNames = Annotated[
    list[str] | None,
    typer.Option(help="A checkpoint named in the migration file; without one, its path or URI. May be repeated."),
]
Groups = Annotated[list[str] | None, typer.Option(help="A consumer group of the old cluster instead; may be repeated.")]
AllJobs = Annotated[
    bool, typer.Option("--all", help="All checkpoints and groups of the migration file: a set of plans.")
]
MaxAge = Annotated[
    str, typer.Option(metavar="TIME", help="Of several jobs: maximum age of plans that are taken again; 30m, 2h.")
]
Editors = Annotated[list[str] | None, typer.Option(help="Who edited an earlier version; barred too. May be repeated.")]
Overrides = Annotated[
    list[str] | None, typer.Option(help="topic:partition=offset, decided by a person; may be repeated.")
]
Starts = Annotated[
    list[str] | None,
    typer.Option(help="TOPIC=earliest, latest, timestamp:TIME or group:NAME instead of the translation."),
]
Commits = Annotated[
    list[str] | None, typer.Option(help="Commit this transactional id, though nothing explains that it is open.")
]
Aborts = Annotated[list[str] | None, typer.Option(help="Abort it instead; may be repeated.")]
SinkTopics = Annotated[
    list[str] | None, typer.Option(help="A topic of the sink to search for transactions; may be repeated.")
]
Reasons = Annotated[
    list[str] | None,
    typer.Option(help="Why, for each --override, --start, --commit- and --abort-transaction; or one for all."),
]
SinkRewound = Annotated[bool, typer.Option("--sink-rewound", help="State that the sink is taken back with the job.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="key=value for a target or about a job; `offsetwise targets` lists them. May be repeated."
    ),
]
Cutover = Annotated[str | None, typer.Option(help="When the job is to start on the new cluster, ISO 8601.")]
Require = Annotated[
    str | None,
    typer.Option(
        metavar="frozen,copied",
        help="What must hold before it is applied: the old logs stand still, and all their records are copied.",
    ),
]
StillFor = Annotated[
    str | None, typer.Option(metavar="TIME", help="With --require: how long the old logs must stand still; 60s, 5m.")
]
ComparisonFile = Annotated[
    Path | None, typer.Option(help="Draft from a comparison's file (with --snapshots) instead of the clusters.")
]
SnapshotFiles = Annotated[
    tuple[Path, Path] | None, typer.Option(help="The two snapshot files, old and new, that it was made with.")
]
SinkSnapshotFile = Annotated[
    Path | None, typer.Option(help="What the sink's cluster said (transactions --out), instead of asking it.")
]
