"""Results of apply, rollback and verify as text for people at a terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from offsetwise.apply.recheck import RecheckResult
from offsetwise.apply.reversal import Standings
from offsetwise.apply.run import DryRun
from offsetwise.apply.writing import FileChange, Preview, SeenPlace
from offsetwise.cli.output import safe
from offsetwise.model import (
    Approver,
    JobOrigin,
    Outcome,
    ReceiptStep,
    StepState,
    Turnout,
    Verification,
    VerifiedPosition,
    WrittenOffset,
)

_TURNOUTS = {
    Turnout.CONFIRMED: "[green]✓ confirmed[/]",
    Turnout.MOVED_ON: "[green]✓ moved on[/]",
    Turnout.DIFFERENT: "[bold red]! different[/]",
    Turnout.UNKNOWN: "[yellow]? unknown[/]",
}
_ORIGINS = {
    JobOrigin.RESTORED_FROM_PLAN: "[green]✓ restored from the plan[/]",
    JobOrigin.RESTORED_FROM_OTHER: "[bold red]! restored from another[/]",
    JobOrigin.FRESH_START: "[bold red]! fresh start[/]",
    JobOrigin.UNKNOWN: "[yellow]? unknown[/]",
}
_OUTCOMES = {
    Outcome.PASSED: "[green]✓ holds[/]",
    Outcome.FAILED: "[bold red]! changed[/]",
    Outcome.UNKNOWN: "[yellow]? unreadable[/]",
}
_CUTOVER = {
    Outcome.PASSED: "[green]✓ met[/]",
    Outcome.FAILED: "[bold red]! not met[/]",
    Outcome.UNKNOWN: "[yellow]? unknown[/]",
}
_WORDS = {Outcome.PASSED: "hold", Outcome.FAILED: "changed", Outcome.UNKNOWN: "unreadable"}
_STATES = {
    StepState.DONE: "[green]✓ written[/]",
    StepState.UNDONE: "[green]✓ taken back[/]",
    StepState.FAILED: "[bold red]! not whole[/]",
    StepState.UNKNOWN: "[yellow]? unknown[/]",
}


def dry_run(out: Console, dry_run: DryRun) -> None:
    for begun in dry_run.begun:
        what = "written" if begun.done else "begun, not finished"
        out.print(
            f"{safe(str(begun.step.target))}: {what} by an earlier call; now {begun.seen.standing}. "
            f"{safe(begun.seen.told)}",
            soft_wrap=True,
        )
    if dry_run.begun and not dry_run.held:
        out.print("Every target was written by an earlier call: nothing is left to write.")
        return
    tally = Counter(result.outcome for result in dry_run.held if not result.cutover)
    counts = ", ".join(f"{count} {_WORDS[outcome]}" for outcome, count in sorted(tally.items()))
    out.print(
        f"Plan {dry_run.plan_digest[:12]} compared with what is there now: {counts or 'nothing to compare'}.",
        soft_wrap=True,
    )
    for result in dry_run.held:
        if result.outcome is not Outcome.PASSED or result.unproven is not None or result.cutover:
            _recheck_result(out, result)
    for preview in dry_run.previews:
        _preview(out, preview)
    if dry_run.begun and dry_run.changes:
        out.print("Nothing was written now: this is a dry run. The same command with --execute continues from there.")
    elif dry_run.previews:
        out.print("Nothing was written: this is a dry run. --execute writes.")


def applied(
    out: Console, steps: tuple[ReceiptStep, ...], already: tuple[SeenPlace, ...], approvers: tuple[Approver, ...] = ()
) -> None:
    for approver in approvers:
        for unproven in approver.accepted_unproven:
            message = f"{unproven.topic_partition}: {approver.subject} accepted it as unproven: {unproven.reason}"
            out.print(f"[yellow]? unproven[/] {safe(message)}", soft_wrap=True)
    for step in steps:
        _step(out, step)
    for observation in already:
        out.print(f"It was applied before; now: {safe(observation.told)}", soft_wrap=True)


def standings(out: Console, standings: Standings) -> None:
    for step, observation in zip(standings.steps, standings.seen, strict=True):
        out.print(f"{safe(str(step.target))}: {observation.standing}. {safe(observation.told)}", soft_wrap=True)
    out.print(safe(standings.approval), soft_wrap=True)
    out.print("Nothing was changed: this is a dry run. --execute takes back.")


def taken_back(out: Console, steps: tuple[ReceiptStep, ...]) -> None:
    for step in steps:
        _step(out, step)


def verification(out: Console, verification: Verification) -> None:
    for transaction in verification.transactions:
        out.print(f"{_TURNOUTS[transaction.turnout]} {safe(transaction.told)}", soft_wrap=True)
    if verification.positions:
        table = _table("target", "partition", "planned", "found", "")
        for verified_position in verification.positions:
            names = safe(str(verified_position.target)), safe(str(verified_position.topic_partition))
            table.add_row(*names, *_numbers(verified_position), _TURNOUTS[verified_position.turnout])
        out.print(table)
        for verified_position in verification.positions:
            if verified_position.turnout in (Turnout.DIFFERENT, Turnout.UNKNOWN):
                out.print(safe(verified_position.told), soft_wrap=True)
        tally = Counter(position.turnout for position in verification.positions)
        message = ", ".join(f"{tally[turnout]:,} {turnout}" for turnout in Turnout if tally[turnout])
        began = "The job has begun." if verification.started else "The job has not begun at every target yet."
        out.print(f"{message}. {began}")
    if verification.job is not None:
        out.print(f"{_ORIGINS[verification.job.origin]} {safe(verification.job.told)}", soft_wrap=True)
    out.print(f"Compared with plan {verification.plan_digest[:12]}; whether that was approved is not checked here.")


def _recheck_result(out: Console, result: RecheckResult) -> None:
    outcome = (_CUTOVER if result.cutover else _OUTCOMES)[result.outcome]
    out.print(f"{outcome} {safe(result.told)}", soft_wrap=True)


def _preview(out: Console, preview: Preview) -> None:
    out.print(f"[bold]{safe(str(preview.target))}[/]  {safe(preview.told)}", soft_wrap=True)
    for file in preview.files:
        _file(out, file)
    if preview.offsets:
        table = _table("partition", "committed now", "would be")
        for offset in preview.offsets:
            table.add_row(safe(str(offset.topic_partition)), _before(offset), f"{offset.offset:,}")
        out.print(table)


def _file(out: Console, file: FileChange) -> None:
    out.print(f"  {file.what} {safe(file.path)}", soft_wrap=True)
    if not file.numbers:
        return
    table = _table("partition", "is", "would be")
    for number in file.numbers:
        renamed = "" if number.new_topic == number.topic else f" → {number.new_topic}"
        before = "—" if number.before is None else f"{number.before:,}"
        table.add_row(safe(f"{number.topic_partition}{renamed}"), before, f"{number.after:,}")
    out.print(table)


def _step(out: Console, step: ReceiptStep) -> None:
    out.print(f"{_STATES[step.state]} {safe(str(step.target))}: {safe(step.told)}", soft_wrap=True)


def _before(offset: WrittenOffset) -> str:
    return "no commit" if offset.before is None else f"{offset.before:,}"


def _numbers(position: VerifiedPosition) -> tuple[str, str]:
    return f"{position.planned:,}", "?" if position.found is None else f"{position.found:,}"


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in ("target", "partition", "") else "right", overflow="fold")
    return table
