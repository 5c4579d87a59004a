"""The commands of plans for a set of plans, or for several jobs to draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import offsetwise
from offsetwise.cli.options import loaded, require_one_choice
from offsetwise.cli.output import progress, say, stderr, stdout
from offsetwise.errors import OffsetwiseError, UsageError
from offsetwise.model import StepState, Verification
from offsetwise.wording import many

if TYPE_CHECKING:
    from typing import TypeAlias

    from offsetwise import (
        DraftedJob,
        DryRun,
        PlanOutcome,
        PlanSet,
        PrivateKey,
        Receipt,
        ReceiptStep,
        Standings,
        Verdict,
    )
    from offsetwise.plan.drift import Drift

    Written: TypeAlias = DryRun | Receipt
    TakenBack: TypeAlias = Standings | tuple[ReceiptStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs to draft, and their migration."""

    migration: Path | None
    checkpoints: Sequence[str]
    groups: Sequence[str]
    every: bool
    """All jobs of the migration file."""
    wave: str | None
    """All jobs of a wave."""

    @property
    def are_several(self) -> bool:
        return self.every or self.wave is not None or len(self.checkpoints) + len(self.groups) > 1

    def require(self, targets: Sequence[str]) -> Path:
        """Return the migration file of several jobs, after checking the options.

        Raises:
            UsageError: The options are incomplete or contradictory.
        """
        named = bool(self.checkpoints or self.groups)
        require_one_choice("draft", every=self.every, wave=self.wave, named=named)
        if self.migration is None:
            raise UsageError(
                "draft: expected --migration, whose jobs are drafted, found none. Nothing was drafted.",
                fix="Name the migration file. A checkpoint is repaired without one alone: --set repair=KIND.",
            )
        if not targets:
            raise no_target()
        return self.migration


def require_of_several(command: str, given: Mapping[str, object]) -> None:
    """Refuse options for one job or one plan if several are given.

    Args:
        command: The command.
        given: The value of each such option by its name.

    Raises:
        UsageError: One of them is given.
    """
    option = next((name for name, value in given.items() if value), None)
    if option is None:
        return
    what, unit = ("several jobs", "job") if command == "draft" else ("a set of plans", "plan")
    raise UsageError(
        f"{command}: expected {option} with one {unit}, found it with {what}. Nothing was done.",
        fix=f"Leave {option} out; or run the command for that {unit} alone.",
    )


def require_set(command: str, *, keep_going: bool) -> None:
    """Refuse `--keep-going` with one plan.

    Raises:
        UsageError: `keep_going` is given.
    """
    if keep_going:
        raise UsageError(
            f"{command}: expected --keep-going with a set of plans, found it with one plan. Nothing was done.",
            fix="Leave --keep-going out.",
        )


def no_target() -> UsageError:
    return UsageError(
        "draft: expected --target, what the plan writes, found none. Nothing was drafted.",
        fix="Name one: --target spark-checkpoint writes a copy of a Spark checkpoint.",
    )


def draft(request: Jobs, targets: Sequence[str], out: Path, *, as_json: bool, max_age_s: float, **how: Any) -> None:
    from offsetwise.plan.sets.file import SET_FILE
    from offsetwise.plan.sets.several_jobs import target_of_each

    migration = offsetwise.Migration.load(request.require(targets))
    named = [migration.checkpoint(name) for name in request.checkpoints]
    named += [migration.group(name) for name in request.groups]
    named += () if request.wave is None else migration.wave(request.wave)
    with progress() as report:
        drafted = migration.draft_all(
            *map(target_of_each, targets),
            jobs=named or None,
            wave=request.wave,
            out=out,
            max_age_s=max_age_s,
            heard=_tell_drafted,
            progress=report,
            **how,
        )
    if as_json:
        typer.echo(drafted.content.decode(), nl=False)
    refused = len(drafted.document.refused)
    say(
        f"{out / SET_FILE} names {many(len(drafted.plans), 'plan')}{f'; {refused:,} refused' if refused else ''}. "
        f"Its digest is {drafted.digest}."
    )
    if refused:
        raise typer.Exit(1)


def _tell_drafted(drafted: DraftedJob) -> None:
    from offsetwise.cli.render import sets as rows

    job, plan = str(drafted.job), drafted.plan
    if plan is None:
        if drafted.error is not None:
            rows.failed(job, drafted.error)
        return
    targets = ", ".join(map(str, plan.document.targets))
    reused = " It was drafted before and still holds." if drafted.reused else ""
    positions = many(len(plan.document.positions), "position")
    say(f"{job}: {plan.document.strategy} to {targets}, {positions}, digest {plan.digest[:12]}.{reused}")


def sign(
    path: Path,
    signer: PrivateKey,
    *,
    expires_in: timedelta,
    verdict: Verdict,
    confirm: Sequence[str],
) -> bytes:
    from offsetwise.cli import render
    from offsetwise.plan import names, refusals

    chosen = offsetwise.PlanSet.load(path)
    for entry, plan in zip(chosen.document.plans, chosen.plans, strict=True):
        document = plan.document
        targets = ", ".join(map(str, document.targets))
        say(f"{entry.job}: {document.moves} to {targets}, {many(len(document.positions), 'position')}.")
        render.transactions(stderr(), document)
        if marked := names.marked_names(document):
            say(names.warning_of(marked))
        if document.from_files:
            say(refusals.FROM_FILES)
    signed = chosen.sign(signer, expires_in=expires_in, verdict=verdict, confirm=confirm)
    refused = len(chosen.document.refused)
    without = f" {many(refused, 'job')} of the set could not be drafted: nothing is said about them." if refused else ""
    say(f"The set {chosen.digest[:12]} has {many(len(chosen.plans), 'plan')}.{without}")
    return signed


def apply(
    path: Path,
    migration: Path | None,
    *,
    execute: bool,
    keep_going: bool,
    as_json: bool,
    **how: Any,
) -> bool:
    """Apply the plans of a set one after another, or preview them; return whether a dry run would change anything."""
    from offsetwise.cli.render import sets as rows

    chosen = _load(path, migration)

    heard = partial(rows.written, as_json=as_json)
    with progress() as report:
        outcomes = chosen.apply(execute=execute, keep_going=keep_going, heard=heard, progress=report, **how)
    failed = rows.counts(chosen, outcomes, done="applied" if execute else "could be applied")
    if failed:
        raise typer.Exit(1)
    return any(isinstance(outcome.result, offsetwise.DryRun) and outcome.result.changes for outcome in outcomes)


def rollback(path: Path, migration: Path | None, *, execute: bool, keep_going: bool, as_json: bool, **how: Any) -> None:
    """Show the state of a set's targets; with `execute` roll back its plans, the last one first."""
    from offsetwise.cli.render import sets as rows

    chosen = _load(path, migration)

    heard = partial(rows.taken_back, as_json=as_json)
    with progress() as report:
        outcomes = chosen.rollback(execute=execute, keep_going=keep_going, heard=heard, progress=report, **how)
    if not outcomes:
        say("No plan of the set has begun to be applied: there is nothing to take back.")
        return
    failed = any(outcome.error is not None for outcome in outcomes)
    incomplete = any(
        step.state is not StepState.UNDONE
        for outcome in outcomes
        if isinstance(outcome.result, tuple)
        for step in outcome.result
    )
    if failed or incomplete:
        raise typer.Exit(1)


def verify(path: Path, migration: Path | None, *, as_json: bool) -> None:
    """Verify what the plans of a set wrote; exit with 5 if anything differs, with 1 if something is unknown."""
    from offsetwise import files
    from offsetwise.cli.render import applied as render_apply
    from offsetwise.cli.render import sets as rows

    chosen = _load(path, migration)

    def heard(outcome: PlanOutcome[Verification]) -> None:
        result = outcome.result
        if as_json:
            rows.line(outcome, None if result is None else files.dump(result))
            return
        rows.heading(outcome)
        if result is not None:
            render_apply.verification(stdout(), result)

    outcomes = chosen.verify(heard=heard)
    codes = {1 if outcome.result is None else outcome.result.exit_code for outcome in outcomes}
    if code := max(codes):
        raise typer.Exit(code)


def drift(path: Path, migration: Path | None, *, as_json: bool) -> None:
    """Show the drift of a set's plans; exit with 3 if there is any, with 1 if a plan cannot be checked."""
    from offsetwise.cli import documents
    from offsetwise.cli.render import sets as rows

    chosen = _load(path, migration)

    def heard(outcome: PlanOutcome[tuple[Drift, ...]]) -> None:
        drifts = outcome.result
        if as_json:
            rows.line(outcome, None if drifts is None else documents.dump(documents.Drifted(drift=drifts)))
        elif outcome.error is not None:
            rows.failed(outcome.job, outcome.error)
        for change in drifts or ():
            say(f"{outcome.job}: {change.kind}: {change.told}")
        if drifts == ():
            say(f"{outcome.job}: everything that the plan requires is as it was reviewed.")

    with progress() as report:
        outcomes = chosen.drift(heard=heard, progress=report)
    if any(outcome.result for outcome in outcomes):
        raise typer.Exit(3)
    if any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(1)


def pack(path: Path, out: Path, *, migration: Path | None, approvals: Sequence[Path], trust: Sequence[Path]) -> None:
    """Write the archive of a set, if trusted people have approved all of its plans."""
    from offsetwise.approval import approved, policy_for, read_approval
    from offsetwise.config import ApprovalSettings
    from offsetwise.new_files import require_new, write_new
    from offsetwise.plan.sets.file import of_job
    from offsetwise.review.exports import Destination, destination_of
    from offsetwise.review.exports.sets import PackedPlan, set_archive

    chosen = _load(path, migration)
    require_new(out)
    stated = None if chosen.migration is None else chosen.migration.settings
    policy = policy_for(ApprovalSettings() if stated is None else stated.approval, trust)
    given, packed, counted = [*map(read_approval, approvals)], [], dict[bytes, None]()
    for entry, plan in zip(chosen.document.plans, chosen.plans, strict=True):
        try:
            approved_by = approved(plan.content, plan.document, given, policy, datetime.now(UTC))
        except OffsetwiseError as error:
            raise of_job(entry.job, error) from error
        counted |= dict.fromkeys(approval.file.content for approval in approved_by)
        packed.append(PackedPlan(entry=entry, plan=plan.document, content=plan.content))
    destination = Destination() if stated is None else destination_of(stated, recorded=False)
    archive = set_archive(chosen.document, chosen.content, packed, counted, destination)
    write_new(out, archive.content)
    say(f"{out} has {many(len(packed), 'plan')}, {many(len(counted), 'approval')}, and a README with the commands.")


def _load(path: Path, migration: Path | None) -> PlanSet:
    return offsetwise.PlanSet.load(path, migration=loaded(migration))
