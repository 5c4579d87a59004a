"""The commands that write to targets and check the result: apply, rollback, verify."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import offsetwise
from offsetwise.cli import plan_sets
from offsetwise.cli.options import AsJson, MaybeMigrationFile, PlanFile, TrustedKeys, loaded
from offsetwise.cli.output import progress, say, stdout
from offsetwise.model import StepState, Verification

Approvals = Annotated[list[Path] | None, typer.Option(help="An approval of the plan; may be repeated.")]
Output = Annotated[str | None, typer.Option(help="Where a copy or file is written; in a write root.")]
ReceiptFile = Annotated[
    Path | None, typer.Option(help="The receipt to write; PLAN.receipt.json by default. Its journal is beside it.")
]
Execute = Annotated[bool, typer.Option("--execute", help="Write. Without it, nothing is.")]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Of a set of plans: go on with the others after one that fails.")
]
TwoIfChanged = Annotated[
    bool, typer.Option("--detailed-exitcode", help="Exit with 2 if a dry run would change anything.")
]

NewCheckpoint = Annotated[
    str | None, typer.Option(help="A checkpoint that the new job made, for a startingOffsets file or a savepoint.")
]
RunningJob = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Ask the running job what it began from: its address in the REST API of its engine, or its event log. "
        "Exit with 5 if that is not what the plan wrote.",
    ),
]


def apply(
    plan: PlanFile,
    *,
    migration: MaybeMigrationFile = None,
    approval: Approvals = None,
    trust: TrustedKeys = None,
    output: Output = None,
    receipt: ReceiptFile = None,
    execute: Execute = False,
    keep_going: KeepGoing = False,
    detailed_exitcode: TwoIfChanged = False,
    as_json: AsJson = False,
) -> None:
    """Show what a plan would write, and with --execute write it. The same call again goes on where it ended.

    The plans of a set are applied one after the other, up to the first one that fails.
    """
    from offsetwise.plan.sets.file import is_plan_set

    given = {"output": output, "approvals": approval or (), "trust": trust or ()}
    if is_plan_set(plan):
        plan_sets.require_of_several("apply", {"--receipt": receipt})
        changes = plan_sets.apply(plan, migration, execute=execute, keep_going=keep_going, as_json=as_json, **given)
    else:
        plan_sets.require_set("apply", keep_going=keep_going)
        changes = _apply(plan, migration, execute=execute, as_json=as_json, receipt=receipt, **given)
    if changes and detailed_exitcode:
        raise typer.Exit(2)


def _apply(plan: Path, migration: Path | None, *, execute: bool, as_json: bool, **given: Any) -> bool:
    """Apply one plan, or preview it; return whether a dry run would change anything."""
    from offsetwise import files
    from offsetwise.cli import documents
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.plan import refusals

    chosen = offsetwise.Plan.load(plan, migration=loaded(migration))
    if chosen.document.from_files:
        say(refusals.FROM_FILES)
    if not execute:
        with progress() as report:
            run = chosen.apply(progress=report, **given)
        if not as_json:
            render_apply.dry_run(stdout(), run)
        chosen.require(run, receipt=given["receipt"])
        if as_json:
            typer.echo(documents.dump(run), nl=False)
        return bool(run.changes)
    with progress() as report:
        done = chosen.apply(execute=True, progress=report, **given)
    if as_json:
        typer.echo(files.dump(done.document), nl=False)
    else:
        render_apply.applied(stdout(), done.document.steps, done.already, done.document.approvers)
    return False


def rollback(
    written: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt, or its journal; or a set of plans.")],
    *,
    migration: MaybeMigrationFile = None,
    plan: Annotated[
        Path | None, typer.Option(help="The plan's file: for a journal, or where it is not as `draft` wrote it.")
    ] = None,
    approval: Annotated[
        list[Path] | None, typer.Option(help="An approval besides those in the receipt; may be repeated.")
    ] = None,
    trust: TrustedKeys = None,
    execute: Annotated[bool, typer.Option("--execute", help="Take back. Without it, nothing is.")] = False,
    keep_going: KeepGoing = False,
    as_json: AsJson = False,
) -> None:
    """Show what stands where a plan was applied, and with --execute put back what stood there before.

    The plans of a set are taken back in the reverse of the order in which they were applied.
    """
    from offsetwise.plan.sets.file import is_plan_set

    given = {"approvals": approval or (), "trust": trust or ()}
    if is_plan_set(written):
        plan_sets.require_of_several("rollback", {"--plan": plan})
        plan_sets.rollback(written, migration, execute=execute, keep_going=keep_going, as_json=as_json, **given)
    else:
        plan_sets.require_set("rollback", keep_going=keep_going)
        _rollback(written, migration, plan, execute=execute, as_json=as_json, **given)


def _rollback(
    written: Path, migration: Path | None, plan: Path | None, *, execute: bool, as_json: bool, **given: Any
) -> None:
    from offsetwise.cli import documents
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.plan.reading import plan_bytes

    receipt = offsetwise.Receipt(written, loaded(migration), plan=None if plan is None else plan_bytes(plan))
    with progress() as report:
        if not execute:
            standings = receipt.rollback(progress=report, **given)
            if as_json:
                typer.echo(documents.dump(standings), nl=False)
            else:
                render_apply.standings(stdout(), standings)
            return
        steps = receipt.rollback(execute=True, progress=report, **given)
    if as_json:
        typer.echo(documents.dump(documents.TakenBack(steps=steps)), nl=False)
    else:
        render_apply.taken_back(stdout(), steps)
    if any(step.state is not StepState.UNDONE for step in steps):
        raise typer.Exit(1)


def verify(
    receipt: Annotated[
        Path, typer.Argument(metavar="RECEIPT", help="The receipt that `apply` wrote; or a set of plans.")
    ],
    *,
    migration: MaybeMigrationFile = None,
    plan: Annotated[Path | None, typer.Option(help="The plan's file, where it is not as `draft` wrote it.")] = None,
    checkpoint: NewCheckpoint = None,
    job: RunningJob = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again until the job has begun, or began wrong.")] = False,
    every: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds between two looks.")] = 10,
    detailed_exitcode: Annotated[  # noqa: ARG001 - no effect on the codes; automation may pass it
        bool, typer.Option("--detailed-exitcode", help="Has no effect: the exit codes 5 and 1 are given in any case.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look whether every target stands as planned, and whether the job began at exactly the planned positions."""
    from offsetwise.plan.sets.file import is_plan_set

    if is_plan_set(receipt):
        given = {"--plan": plan, "--checkpoint": checkpoint, "--job": job, "--watch": watch}
        plan_sets.require_of_several("verify", given)
        plan_sets.verify(receipt, migration, as_json=as_json)
        return
    more = {"checkpoint": checkpoint, "job": job}
    verification = _verify(receipt, migration, plan, every=every if watch else None, as_json=as_json, **more)
    if verification.exit_code:
        raise typer.Exit(verification.exit_code)


def _verify(
    receipt: Path, migration: Path | None, plan: Path | None, *, every: float | None, as_json: bool, **more: Any
) -> Verification:
    from offsetwise import files
    from offsetwise.apply import verification as verifying
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.plan.reading import plan_bytes

    chosen = loaded(migration)

    def observe() -> Verification:
        return offsetwise.Receipt(receipt, chosen, plan=None if plan is None else plan_bytes(plan)).verify(**more)

    def report(verification: Verification) -> None:
        if as_json:
            typer.echo(files.dump(verification, indent=1 if every is None else None), nl=False)
        else:
            render_apply.verification(stdout(), verification)

    if every is not None:
        return verifying.watch(observe, wait=lambda: time.sleep(every), report=report)
    verification = observe()
    report(verification)
    return verification
