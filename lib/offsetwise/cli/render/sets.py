"""Results of the plans of a set, as text for people at a terminal and as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

import offsetwise
from offsetwise.cli.errors import tell
from offsetwise.cli.output import safe, say, stdout
from offsetwise.errors import OffsetwiseError
from offsetwise.wording import many

if TYPE_CHECKING:
    from typing import TypeAlias

    from offsetwise import (
        DryRun,
        PlanOutcome,
        PlanSet,
        Receipt,
        ReceiptStep,
        Standings,
    )

    Written: TypeAlias = DryRun | Receipt
    TakenBack: TypeAlias = Standings | tuple[ReceiptStep, ...]


def written(outcome: PlanOutcome[Written], *, as_json: bool) -> None:
    from offsetwise import files
    from offsetwise.cli import documents
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.plan import refusals

    result = outcome.result
    if as_json:
        line(
            outcome,
            None
            if result is None
            else documents.dump(result)
            if isinstance(result, offsetwise.DryRun)
            else files.dump(result.document),
        )
        return
    heading(outcome)
    if isinstance(result, offsetwise.DryRun):
        render_apply.dry_run(stdout(), result)
    elif result is not None:
        receipt = result.document
        if receipt.plan.from_files:
            say(refusals.FROM_FILES)
        render_apply.applied(stdout(), receipt.steps, result.already, receipt.approvers)


def taken_back(outcome: PlanOutcome[TakenBack], *, as_json: bool) -> None:
    from offsetwise.cli import documents
    from offsetwise.cli.render import applied as render_apply

    result = outcome.result
    if as_json:
        printed = documents.TakenBack(steps=result) if isinstance(result, tuple) else result
        line(outcome, None if printed is None else documents.dump(printed))
        return
    heading(outcome)
    if isinstance(result, tuple):
        render_apply.taken_back(stdout(), result)
    elif result is not None:
        render_apply.standings(stdout(), result)


def heading(outcome: PlanOutcome[Any]) -> None:
    if outcome.result is not None:
        stdout().print(f"[bold]{safe(outcome.job)}[/]", soft_wrap=True)
    if outcome.error is not None:
        failed(outcome.job, outcome.error)


def line(outcome: PlanOutcome[Any], text: str | None) -> None:
    from offsetwise.cli import documents

    error = outcome.error
    if error is not None:
        failed(outcome.job, error)
    printed = documents.OutcomeOfPlan(
        job=outcome.job,
        plan=outcome.plan,
        result=None if text is None else json.loads(text),
        error=None
        if error is None
        else documents.FailedPlan(error=type(error).__name__, problem=error.problem, fix=error.fix),
    )
    typer.echo(documents.dump(printed, indent=None), nl=False)


def failed(job: str, error: OffsetwiseError) -> None:
    tell(type(error).__name__, error.problem, error.fix, as_json=False, job=job)


def counts(chosen: PlanSet, outcomes: Sequence[PlanOutcome[Any]], *, done: str) -> int:
    """Print how many plans succeeded, failed and were not reached; return how many failed."""
    failures = sum(outcome.error is not None for outcome in outcomes)
    remaining = len(chosen.plans) - len(outcomes)
    parts = [f"{len(outcomes) - failures:,} {done}"]
    parts += [f"{failures:,} failed"] if failures else []
    parts += [f"{remaining:,} not reached: the same command goes on with them"] if remaining else []
    say(f"{many(len(chosen.plans), 'plan')}: {', '.join(parts)}.")
    return failures
