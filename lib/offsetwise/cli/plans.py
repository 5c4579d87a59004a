"""The commands that draft plans, compare them with the clusters, and export them for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

import offsetwise
from offsetwise.cli import draft_options as of
from offsetwise.cli import plan_sets
from offsetwise.cli.options import AsJson, MaybeMigrationFile, PlanFile, TrustedKeys, WaveName, loaded, seconds
from offsetwise.cli.output import say, stderr
from offsetwise.errors import UsageError
from offsetwise.wording import many

if TYPE_CHECKING:
    from offsetwise import CutoverRequirement, Plan


_ZIP: Final = "zip"
Form = Annotated[
    str, typer.Option("--as", help="starting-offsets, consumer-groups-csv, flink-operator, spark-operator, or zip.")
]
ForZipOrOperator = Annotated[
    Path | None,
    typer.Option("--migration", "-m", help="For zip: the migration file, whose keys are trusted. For operators too."),
]
Approvals = Annotated[list[Path] | None, typer.Option(help="For zip: an approval; may be repeated.")]
ZipFile = Annotated[Path | None, typer.Option(help="For zip: the file to write. It must not exist.")]
Resource = Annotated[
    str | None, typer.Option(help="For operators: the name of the FlinkDeployment or SparkApplication.")
]
OutputOfPods = Annotated[
    str | None, typer.Option(help="For operators: where the plan is applied to, as the job's pods reach it.")
]
ServersVariable = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="For operators: the variable that the job takes its bootstrap servers from."),
]
CheckpointVariable = Annotated[
    str | None, typer.Option(metavar="NAME", help="For Spark's: the one of the checkpoint's location.")
]


class DraftCommand(TyperCommand):
    """`draft`, which still accepts options that have become keys of `--set`; the help does not list them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with older options replaced by `--set key=value`."""
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if any(argument.startswith("--") and argument.partition("=")[0] not in own for argument in args):
            # Only then, because the lookup loads every type of target.
            from offsetwise.plan import options

            args = options.with_settings(args)
        return super().parse_args(ctx, args)


def draft(
    *,
    author: of.Author,
    out: of.Out,
    migration: MaybeMigrationFile = None,
    target: of.Targets = None,
    checkpoint: of.CheckpointNames = None,
    group: of.Groups = None,
    every: of.AllJobs = False,
    wave: WaveName = None,
    editor: of.Editors = None,
    override: of.Overrides = None,
    start: of.Starts = None,
    commit_transaction: of.Commits = None,
    abort_transaction: of.Aborts = None,
    topic: of.SinkTopics = None,
    reason: of.Reasons = None,
    sink_rewound: of.SinkRewound = False,
    set_: of.Settings = None,
    cutover: of.Cutover = None,
    require: of.Require = None,
    still_for: of.StillFor = None,
    comparison: of.ComparisonFile = None,
    snapshots: of.SnapshotFiles = None,
    sink_snapshot: of.SinkSnapshotFile = None,
    max_age: of.MaxAge = "1h",
    as_json: AsJson = False,
) -> None:
    """Draft a plan: where every partition resumes, why that is right, and what must still hold. Writes one file.

    For several jobs (--all, --wave, or repeated options) a folder with a plan of each, and the set that names them.
    """
    from offsetwise.plan import options, settings

    decided = _Decided(
        override=override or [],
        start=start or [],
        commit_transaction=commit_transaction or [],
        abort_transaction=abort_transaction or [],
        topic=topic or [],
        reason=reason or [],
        sink_rewound=sink_rewound,
        comparison=comparison,
        snapshots=snapshots,
        sink_snapshot=sink_snapshot,
    )
    jobs = plan_sets.Jobs(migration=migration, checkpoints=checkpoint or [], groups=group or [], every=every, wave=wave)
    request: dict[str, Any] = {"author": author, "editors": editor or (), "settings": settings.parse(set_ or [])}
    request["require"] = _required(require, still_for, migration)
    request["cutover_ms"] = None if cutover is None else options.time_ms(cutover, "--cutover")
    if jobs.are_several:
        plan_sets.require_of_several("draft", decided.options)
        max_age_s = seconds(max_age, option="--max-age")
        plan_sets.draft(jobs, target or [], out, as_json=as_json, max_age_s=max_age_s, **request)
    else:
        _written(_drafted(jobs, target or [], out, decided, request), out, as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    """The decisions about one job, by the names of the options."""

    override: list[str]
    start: list[str]
    commit_transaction: list[str]
    abort_transaction: list[str]
    topic: list[str]
    reason: list[str]
    sink_rewound: bool
    comparison: Path | None
    snapshots: tuple[Path, Path] | None
    sink_snapshot: Path | None

    @property
    def options(self) -> dict[str, object]:
        return {f"--{field.name.replace('_', '-')}": getattr(self, field.name) for field in fields(self)}


def _drafted(jobs: plan_sets.Jobs, targets: list[str], out: Path, decided: _Decided, request: dict[str, Any]) -> Plan:
    from offsetwise.new_files import require_new
    from offsetwise.plan import options

    _require_both_or_neither(decided.comparison, decided.snapshots)
    require_new(out)
    checkpoint, group = next(iter(jobs.checkpoints), None), next(iter(jobs.groups), None)
    if jobs.migration is None:
        author, editors, values = request["author"], request["editors"], request["settings"]
        return _repaired(checkpoint, targets=targets, author=author, editors=editors, values=values)
    if not targets:
        raise plan_sets.no_target()
    snapshots, sink = decided.snapshots, decided.sink_snapshot
    read = (
        None
        if decided.comparison is None or snapshots is None
        else offsetwise.load_comparison(decided.comparison, *snapshots)
    )
    stated = offsetwise.Migration.load(jobs.migration)
    named = read is None or checkpoint is not None or group is not None
    job = stated.job(checkpoint=checkpoint, group=group) if named else offsetwise.Job(stated)
    return job.draft(
        *(options.target(name) for name in targets),
        comparison=read,
        **_decisions(decided, request["author"]),
        sink_topics=decided.topic,
        sink_snapshot=None if sink is None else offsetwise.load_sink_snapshot(sink),
        sink_rewound=decided.sink_rewound,
        **request,
    )


def _require_both_or_neither(comparison: Path | None, snapshots: tuple[Path, Path] | None) -> None:
    if (comparison is None) != (snapshots is None):
        raise UsageError(
            "draft: expected --comparison and --snapshots together, found one of them. Nothing was drafted.",
            fix="Give both, or neither to read the clusters.",
        )


def _required(require: str | None, still_for: str | None, migration: Path | None) -> CutoverRequirement | None:
    from offsetwise.plan import options

    requirement = options.cutover(require, None if still_for is None else seconds(still_for, option="--still-for"))
    if requirement is not None and migration is None:
        raise UsageError(
            "draft: expected --migration with --require, which is about the logs of its old cluster, found none. "
            "Nothing was drafted.",
            fix="Name the migration file, or leave --require out: a repair alone moves nothing.",
        )
    return requirement


def _decisions(decided: _Decided, author: str) -> dict[str, Any]:
    from offsetwise.plan import options

    overrides, starts = decided.override, decided.start
    commits, aborts = decided.commit_transaction, decided.abort_transaction
    of_positions = len(overrides) + len(starts)
    reasons = options.reasons_for(of_positions + len(commits) + len(aborts), decided.reason)
    return {
        "overrides": options.overrides(overrides, reasons[: len(overrides)], by=author),
        "starts": options.starts(starts, reasons[len(overrides) : of_positions], by=author),
        "settlements": options.settlements(commits, aborts, reasons[of_positions:], by=author),
    }


def _repaired(
    checkpoint: str | None,
    *,
    targets: list[str],
    author: str,
    editors: Sequence[str],
    values: dict[str, str],
) -> Plan:
    from offsetwise.plan import options

    others, decided = options.of_engines(values)
    kind = decided.get("repair")
    if kind is None or checkpoint is None or targets:
        result = "--target" if kind is not None and checkpoint is not None else "no --migration"
        raise UsageError(
            f"draft: expected --migration and --target, or --set repair=KIND and --checkpoint alone, found {result}. "
            "Nothing was drafted.",
            fix="Name the migration file; or, to repair a checkpoint and move nothing, give --checkpoint URI and --set "
            "repair=KIND.",
        )
    return offsetwise.repair(checkpoint, kind, author=author, editors=editors, settings=others)


def _written(plan: Plan, out: Path, *, as_json: bool) -> None:
    from offsetwise.cli import render

    plan.save(out)
    if as_json:
        typer.echo(plan.content.decode(), nl=False)
    render.plan(stderr(), plan.document)
    say(f"{out} holds the plan. Its digest is {plan.digest}: an approval names exactly that.")


def drift(
    plan: PlanFile,
    *,
    migration: MaybeMigrationFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what has changed since a plan was drafted: exit code 3 if anything has. Growth of logs is no change."""
    from offsetwise.cli import documents
    from offsetwise.plan.sets.file import is_plan_set

    if is_plan_set(plan):
        plan_sets.drift(plan, migration, as_json=as_json)
        return
    chosen = offsetwise.Plan.load(plan, migration=loaded(migration))
    drifts = chosen.drift()
    if as_json:
        typer.echo(documents.dump(documents.Drifted(drift=drifts)), nl=False)
    for change in drifts:
        say(f"{change.kind}: {change.told}")
    if drifts:
        raise typer.Exit(3)
    watched = chosen.document.requirements.cutover is not None
    more = " The old logs were not watched: `offsetwise cutover --plan` does that, and `apply`." if watched else ""
    say(f"Everything that the plan requires is as it was reviewed.{more}")


def export(
    plan: PlanFile,
    *,
    form: Form,
    migration: ForZipOrOperator = None,
    approval: Approvals = None,
    trust: TrustedKeys = None,
    out: ZipFile = None,
    name: Resource = None,
    output: OutputOfPods = None,
    servers_env: ServersVariable = None,
    checkpoint_env: CheckpointVariable = None,
    as_json: AsJson = False,  # noqa: ARG001 - main() uses it for errors
) -> None:
    """Print positions as where a new job starts, for Kafka's tool, or as the patch for an operator of Kubernetes.

    Or pack an approved plan with its commands. The zip has the bytes of the console's, where plan, approvals and
    migration file are the same.
    """
    from offsetwise.plan.operators.choice import patches
    from offsetwise.plan.sets.file import is_plan_set

    kind = offsetwise.Plan
    forms = {"starting-offsets": kind.starting_offsets, "consumer-groups-csv": kind.consumer_groups_csv}
    by_operator = form not in (*forms, _ZIP)
    _require_form(form, (*forms, *patches(), _ZIP))
    _require_options(form, out, of_zip=bool(out or approval or trust or (migration and not by_operator)))
    names = _stated(servers_env=servers_env, checkpoint_env=checkpoint_env)
    _require_resource(name, given=bool(_stated(name=name, output=output) or names), by_operator=by_operator)
    of_set = is_plan_set(plan)
    plan_sets.require_of_several("export", {f"--as {form}": of_set and out is None})
    if name is not None:
        chosen = offsetwise.Plan.load(plan, migration=loaded(migration))
        typer.echo(chosen.operator_patch(form, resource=name, output=output, **names), nl=False)
    elif out is not None:
        pack = plan_sets.pack if of_set else _packed
        pack(plan, out, migration=migration, approvals=approval or [], trust=trust or [])
    else:
        text = forms[form](offsetwise.Plan.load(plan))
        typer.echo(text, nl=not text.endswith("\n"))


def _require_form(form: str, known: Sequence[str]) -> None:
    if form not in known:
        raise UsageError(
            f"export: expected --as {', '.join(known[:-1])} or {known[-1]}, found {form!r}. Nothing was printed.",
            fix="Name one of them.",
        )


def _stated(**options: str | None) -> dict[str, str]:
    return {key: value for key, value in options.items() if value is not None}


def _require_options(form: str, out: Path | None, *, of_zip: bool) -> None:
    if (form == _ZIP) != (out is not None) or (form != _ZIP and of_zip):
        raise UsageError(
            f"export: expected --out with --as {_ZIP}, and --out, --migration, --approval and --trust with no other "
            "form; --migration with the patch for an operator too. Nothing was written.",
            fix=f"Name the file that the zip is written to, or leave these options out: --as {_ZIP} --out plan.zip",
        )


def _require_resource(name: str | None, *, given: bool, by_operator: bool) -> None:
    if by_operator != (name is not None) or given != by_operator:
        raise UsageError(
            "export: expected --name with the patch for an operator, and --name, --output, --servers-env and "
            "--checkpoint-env with no other form. Nothing was printed.",
            fix="Name the resource that is patched, or leave these options out: --as flink-operator --name RESOURCE",
        )


def _packed(path: Path, out: Path, *, migration: Path | None, approvals: list[Path], trust: list[Path]) -> None:
    """Write the archive of a plan with the approvals that count for those trusted by file and options."""
    from offsetwise.approval import approved, policy_for, read_approval
    from offsetwise.config import ApprovalSettings
    from offsetwise.new_files import require_new, write_new
    from offsetwise.review import exports
    from offsetwise.review.sheet import SheetMark

    plan = offsetwise.Plan.load(path)
    require_new(out)
    stated = None if migration is None else offsetwise.Migration.load(migration).settings
    policy = policy_for(ApprovalSettings() if stated is None else stated.approval, trust)
    counted = approved(plan.content, plan.document, [*map(read_approval, approvals)], policy, datetime.now(UTC))
    archive = exports.archive(
        plan.document,
        plan.content,
        digest=plan.digest,
        envelopes=tuple(approval.file.content for approval in counted),
        mark=SheetMark.APPROVED,
        destination=exports.Destination() if stated is None else exports.destination_of(stated, recorded=False),
    )
    write_new(out, archive.content)
    say(f"{out} holds the plan, {many(len(counted), 'approval')}, and a README with the commands.")
