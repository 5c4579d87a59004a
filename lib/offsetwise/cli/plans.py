"""The commands that draft plans, hold them against the clusters, and print them for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offsetwise.cli.options import AsJson, MaybeMigrationFile, PlanFile
from offsetwise.cli.output import say, stderr
from offsetwise.errors import UsageError

if TYPE_CHECKING:
    from offsetwise import Plan


def draft(
    *,
    author: Annotated[str, typer.Option(help="Who drafts it. Recorded, not believed; barred from approving.")],
    out: Annotated[Path, typer.Option(help="The plan's file to write. It must not exist.")],
    migration: MaybeMigrationFile = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="spark-checkpoint, spark-checkpoint-in-place, starting-offsets, seeded-checkpoint, flink-savepoint, "
            "flink-savepoint-without-sources, flink-savepoint-from-positions, flink-savepoint-converted, "
            "starting-position, at-timestamp, consumer-group:NAME, kcl-leases:NAME, sink-transactions or "
            "hanging-transactions; may be repeated."
        ),
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="A checkpoint named in the migration file; without one, its path or URI.")
    ] = None,
    repair: Annotated[
        str | None,
        typer.Option(
            help="Repair the checkpoint in a copy: drop-pending-batch, remove-damaged-commit, drop-batch-after-gap, "
            "restore-topic, restore-metadata or rebuild-shard-commit. Without --migration no cluster is asked."
        ),
    ] = None,
    group: Annotated[str | None, typer.Option(help="A consumer group of the old cluster instead.")] = None,
    editor: Annotated[
        list[str] | None, typer.Option(help="Who edited an earlier version; barred too. May be repeated.")
    ] = None,
    rewind_to: Annotated[int | None, typer.Option(min=0, help="Go back to this earlier batch.")] = None,
    override: Annotated[
        list[str] | None, typer.Option(help="topic:partition=offset, decided by a person; may be repeated.")
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(help="TOPIC=earliest, latest, timestamp:TIME or group:NAME instead of the translation."),
    ] = None,
    unset: Annotated[
        str | None,
        typer.Option(help="leave: write nothing for partitions that the group has no commit for."),
    ] = None,
    commit_transaction: Annotated[
        list[str] | None, typer.Option(help="Commit this transactional id, though nothing explains that it is open.")
    ] = None,
    abort_transaction: Annotated[list[str] | None, typer.Option(help="Abort it instead; may be repeated.")] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="A topic of the sink to search for transactions; may be repeated.")
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(help="Why, for each --override, --start, --commit- and --abort-transaction; or one for all."),
    ] = None,
    mark_settled: Annotated[
        bool,
        typer.Option(
            "--mark-settled",
            help="In the copy of a savepoint, say of the sink's transactions that they are committed, as they are.",
        ),
    ] = False,
    sink_rewound: Annotated[
        bool, typer.Option("--sink-rewound", help="State that the sink is taken back with the job.")
    ] = False,
    uid: Annotated[
        str | None, typer.Option(help="The uid of the Flink source that a savepoint is made for, as in its code.")
    ] = None,
    stream_arn: Annotated[str | None, typer.Option(help="The ARN of the stream that it reads.")] = None,
    parallelism: Annotated[int | None, typer.Option(help="The job's parallelism.")] = None,
    max_parallelism: Annotated[int | None, typer.Option(help="The job's maximum parallelism.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value for a target that takes it; may be repeated. Any other key lists them."),
    ] = None,
    cutover: Annotated[str | None, typer.Option(help="When the job is to start on the new cluster, ISO 8601.")] = None,
    comparison: Annotated[
        Path | None, typer.Option(help="Draft from a comparison's file (with --snapshots) instead of the clusters.")
    ] = None,
    snapshots: Annotated[
        tuple[Path, Path] | None, typer.Option(help="The two snapshot files, old and new, that it was made with.")
    ] = None,
    sink_snapshot: Annotated[
        Path | None, typer.Option(help="What the sink's cluster said (transactions --out), instead of asking it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draft a plan: where every partition resumes, why that is right, and what must still hold. Writes one file."""
    from offsetwise import Comparison, Job, Migration, load_sink_snapshot
    from offsetwise.new_files import require_new
    from offsetwise.plan import options, settings

    if (comparison is None) != (snapshots is None):
        raise UsageError(
            "draft: expected --comparison and --snapshots together, found one of them. Nothing was drafted.",
            fix="Give both, or neither to read the clusters.",
        )
    require_new(out)
    if migration is None:
        given = settings.parse(set_ or [])
        made = _repaired(repair, checkpoint, targets=target or [], author=author, editors=editor or [], values=given)
        _written(made, out, as_json=as_json)
        return
    if not target:
        raise UsageError(
            "draft: expected --target, what the plan writes, found none. Nothing was drafted.",
            fix="Name one: --target spark-checkpoint writes a copy of a Spark checkpoint.",
        )
    decided, starts = override or [], start or []
    commits, aborts = commit_transaction or [], abort_transaction or []
    of_places = len(decided) + len(starts)
    reasons = options.reasons_for(of_places + len(commits) + len(aborts), reason or [])
    targets = [options.target(each) for each in target]
    overrides = options.overrides(decided, reasons[: len(decided)], by=author)
    chosen_starts = options.starts(starts, reasons[len(decided) : of_places], by=author)
    settlements = options.settlements(commits, aborts, reasons[of_places:], by=author)
    savepoint = options.savepoint(uid, stream_arn, parallelism, max_parallelism)
    values = settings.parse(set_ or [])
    cutover_ms = None if cutover is None else options.time_ms(cutover, "--cutover")
    read = None if comparison is None or snapshots is None else Comparison.load(comparison, *snapshots)
    of = Migration.load(migration)
    named = read is None or checkpoint is not None or group is not None
    job = of.job(checkpoint=checkpoint, group=group) if named else Job(of)
    made = job.draft(
        *targets,
        author=author,
        comparison=read,
        editors=editor or (),
        rewind_to=rewind_to,
        overrides=overrides,
        starts=chosen_starts,
        unset=options.unset(unset),
        settlements=settlements,
        sink_topics=topic or (),
        sink_snapshot=None if sink_snapshot is None else load_sink_snapshot(sink_snapshot),
        mark_settled=mark_settled,
        sink_rewound=sink_rewound,
        cutover_ms=cutover_ms,
        savepoint=savepoint,
        repair=repair,
        settings=values,
    )
    _written(made, out, as_json=as_json)


def _repaired(
    kind: str | None,
    checkpoint: str | None,
    *,
    targets: list[str],
    author: str,
    editors: list[str],
    values: dict[str, str],
) -> Plan:
    """Draft a repair that asks no cluster."""
    from offsetwise import repair

    if kind is None or checkpoint is None or targets:
        found = "--target" if kind is not None and checkpoint is not None else "no --migration"
        raise UsageError(
            f"draft: expected --migration and --target, or --repair and --checkpoint alone, found {found}. Nothing was "
            "drafted.",
            fix="Name the migration file; or, to repair a checkpoint and move nothing, --repair KIND --checkpoint URI.",
        )
    return repair(checkpoint, kind, author=author, editors=editors, settings=values)


def _written(made: Plan, out: Path, *, as_json: bool) -> None:
    from offsetwise.cli import render

    made.save(out)
    if as_json:
        typer.echo(made.content.decode(), nl=False)
    render.plan(stderr(), made.document)
    say(f"{out} holds the plan. Its digest is {made.digest}: an approval names exactly that.")


def drift(
    plan: PlanFile,
    *,
    migration: MaybeMigrationFile = None,
    as_json: AsJson = False,
) -> None:
    """Say what has changed since a plan was drafted: exit code 3 if anything has. Growth of logs is no change."""
    from offsetwise import Migration, Plan
    from offsetwise.cli import documents

    named = None if migration is None else Migration.load(migration)
    found = Plan.load(plan, migration=named).drift()
    if as_json:
        typer.echo(documents.dump(documents.Drifted(drift=found)), nl=False)
    for each in found:
        say(f"{each.kind}: {each.told}")
    if found:
        raise typer.Exit(3)
    say("Everything that the plan requires is as it was reviewed.")


def export(
    plan: PlanFile,
    *,
    form: Annotated[str, typer.Option("--as", help="starting-offsets or consumer-groups-csv.")],
    as_json: AsJson = False,  # noqa: ARG001 - main() looks for it where errors are written
) -> None:
    """Print positions as where a new job starts (Spark's startingOffsets, Flink's words) or for Kafka's tool."""
    from offsetwise import Plan

    forms = {"starting-offsets": Plan.starting_offsets, "consumer-groups-csv": Plan.consumer_groups_csv}
    if form not in forms:
        raise UsageError(
            f"export: expected --as {' or '.join(forms)}, found {form!r}. Nothing was printed.",
            fix="Name one of them.",
        )
    text = forms[form](Plan.load(plan))
    typer.echo(text, nl=not text.endswith("\n"))
