"""The commands that write to the world and look at what came of it: apply, rollback, verify."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from offsetwise.cli.options import AsJson, MaybeMigrationFile, PlanFile, TrustedKeys
from offsetwise.cli.output import progress, say, stdout
from offsetwise.model import StepState, Verification

Approvals = Annotated[list[Path] | None, typer.Option(help="An approval of the plan; may be repeated.")]
Output = Annotated[str | None, typer.Option(help="Where a copy or file is written; in a write root.")]
ReceiptFile = Annotated[
    Path | None, typer.Option(help="The receipt to write; PLAN.receipt.json by default. Its journal is beside it.")
]
Execute = Annotated[bool, typer.Option("--execute", help="Write. Without it, nothing is.")]
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
    detailed_exitcode: TwoIfChanged = False,
    as_json: AsJson = False,
) -> None:
    """Show what a plan would write, and with --execute write it. The same call again goes on where it ended."""
    from offsetwise import Migration, Plan, files
    from offsetwise.cli import documents
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.plan import refusals

    chosen = Plan.load(plan, migration=None if migration is None else Migration.load(migration))
    if chosen.document.from_files:
        say(refusals.FROM_FILES)
    approvals, trusted = approval or (), trust or ()
    if not execute:
        with progress() as told:
            run = chosen.apply(output=output, receipt=receipt, approvals=approvals, trust=trusted, progress=told)
        if not as_json:
            render_apply.dry_run(stdout(), run)
        chosen.require(run, receipt=receipt)
        if as_json:
            typer.echo(documents.dump(run), nl=False)
        if detailed_exitcode and run.changes:
            raise typer.Exit(2)
        return
    with progress() as told:
        done = chosen.apply(
            output=output, receipt=receipt, approvals=approvals, trust=trusted, execute=True, progress=told
        )
    if as_json:
        typer.echo(files.dump(done.document), nl=False)
    else:
        render_apply.applied(stdout(), done.document.steps, done.already, done.document.approvers)


def rollback(
    written: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt, or its journal.")],
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
    as_json: AsJson = False,
) -> None:
    """Show what stands where a plan was applied, and with --execute put back what stood there before."""
    from offsetwise import Migration, Receipt
    from offsetwise.cli import documents
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.plan.reading import plan_bytes

    chosen = None if migration is None else Migration.load(migration)
    receipt = Receipt(written, chosen, plan=None if plan is None else plan_bytes(plan))
    with progress() as told:
        if not execute:
            standings = receipt.rollback(approvals=approval or (), trust=trust or (), progress=told)
            if as_json:
                typer.echo(documents.dump(standings), nl=False)
            else:
                render_apply.standings(stdout(), standings)
            return
        steps = receipt.rollback(approvals=approval or (), trust=trust or (), execute=True, progress=told)
    if as_json:
        typer.echo(documents.dump(documents.TakenBack(steps=steps)), nl=False)
    else:
        render_apply.taken_back(stdout(), steps)
    if any(step.state is not StepState.UNDONE for step in steps):
        raise typer.Exit(1)


def verify(
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt that `apply` wrote.")],
    *,
    migration: MaybeMigrationFile = None,
    plan: Annotated[Path | None, typer.Option(help="The plan's file, where it is not as `draft` wrote it.")] = None,
    checkpoint: NewCheckpoint = None,
    job: RunningJob = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again until the job has begun, or began wrong.")] = False,
    every: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds between two looks.")] = 10,
    detailed_exitcode: Annotated[  # noqa: ARG001 - the codes are the same without it; automation may give it anyway
        bool, typer.Option("--detailed-exitcode", help="Changes nothing: 5 and 1 are given without it too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look whether every target stands as planned, and whether the job began at exactly the planned positions."""
    from offsetwise import Migration, Receipt, files
    from offsetwise.apply import verification as verifying
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.plan.reading import plan_bytes

    chosen = None if migration is None else Migration.load(migration)

    def look() -> Verification:
        written = Receipt(receipt, chosen, plan=None if plan is None else plan_bytes(plan))
        return written.verify(checkpoint=checkpoint, job=job)

    def told(made: Verification) -> None:
        if as_json:
            typer.echo(files.dump(made, indent=None if watch else 1), nl=False)
        else:
            render_apply.verification(stdout(), made)

    if watch:
        made = verifying.watch(look, wait=lambda: time.sleep(every), told=told)
    else:
        made = look()
        told(made)
    if made.exit_code:
        raise typer.Exit(made.exit_code)
