"""What applying, taking back and verifying did or would do, as text for people at a terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from offsetwise.apply.back import Standings
from offsetwise.apply.recheck import RecheckResult
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


def dry_run(out: Console, made: DryRun) -> None:
    """Show what applying would do, or why it cannot be done."""
    for one in made.begun:
        what = "written" if one.done else "begun, not finished"
        out.print(
            f"{safe(str(one.step.target))}: {what} by an earlier call; now {one.seen.standing}. {safe(one.seen.told)}",
            soft_wrap=True,
        )
    if made.begun and not made.held:
        out.print("Every target was written by an earlier call: nothing is left to write.")
        return
    tally = Counter(each.outcome for each in made.held if not each.cutover)
    told = ", ".join(f"{count} {_WORDS[outcome]}" for outcome, count in sorted(tally.items()))
    out.print(
        f"Plan {made.plan_digest[:12]} compared with what is there now: {told or 'nothing to compare'}.", soft_wrap=True
    )
    for each in made.held:
        if each.outcome is not Outcome.PASSED or each.unproven is not None or each.cutover:
            _held(out, each)
    for preview in made.previews:
        _preview(out, preview)
    if made.begun and made.changes:
        out.print("Nothing was written now: this is a dry run. The same call with --execute goes on from there.")
    elif made.previews:
        out.print("Nothing was written: this is a dry run. --execute writes.")


def applied(
    out: Console, steps: tuple[ReceiptStep, ...], already: tuple[SeenPlace, ...], approvers: tuple[Approver, ...] = ()
) -> None:
    """Show what is at every target now, and what was applied without a proof."""
    for approver in approvers:
        for unproven in approver.accepted_unproven:
            message = f"{unproven.topic_partition}: {approver.subject} accepted it as unproven: {unproven.reason}"
            out.print(f"[yellow]? unproven[/] {safe(message)}", soft_wrap=True)
    for step in steps:
        _step(out, step)
    for seen in already:
        out.print(f"It was applied before; now: {safe(seen.told)}", soft_wrap=True)


def standings(out: Console, made: Standings) -> None:
    """Show what a rollback would take back."""
    for step, seen in zip(made.steps, made.seen, strict=True):
        out.print(f"{safe(str(step.target))}: {seen.standing}. {safe(seen.told)}", soft_wrap=True)
    out.print(safe(made.approval), soft_wrap=True)
    out.print("Nothing was changed: this is a dry run. --execute takes back.")


def taken_back(out: Console, steps: tuple[ReceiptStep, ...]) -> None:
    """Show what is at every target after a rollback."""
    for step in steps:
        _step(out, step)


def verification(out: Console, made: Verification) -> None:
    """Show where every position stands."""
    for transaction in made.transactions:
        out.print(f"{_TURNOUTS[transaction.turnout]} {safe(transaction.told)}", soft_wrap=True)
    if made.positions:
        table = _table("target", "partition", "planned", "found", "")
        for verified_position in made.positions:
            names = safe(str(verified_position.target)), safe(str(verified_position.topic_partition))
            table.add_row(*names, *_numbers(verified_position), _TURNOUTS[verified_position.turnout])
        out.print(table)
        for verified_position in made.positions:
            if verified_position.turnout in (Turnout.DIFFERENT, Turnout.UNKNOWN):
                out.print(safe(verified_position.told), soft_wrap=True)
        tally = Counter(position.turnout for position in made.positions)
        message = ", ".join(f"{tally[turnout]:,} {turnout}" for turnout in Turnout if tally[turnout])
        began = "The job has begun." if made.started else "The job has not begun at every target yet."
        out.print(f"{message}. {began}")
    if made.job is not None:
        out.print(f"{_ORIGINS[made.job.origin]} {safe(made.job.told)}", soft_wrap=True)
    out.print(f"Compared with plan {made.plan_digest[:12]}; whether that was approved is not checked here.")


def _held(out: Console, each: RecheckResult) -> None:
    outcome = (_CUTOVER if each.cutover else _OUTCOMES)[each.outcome]
    out.print(f"{outcome} {safe(each.told)}", soft_wrap=True)


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


def _before(each: WrittenOffset) -> str:
    return "no commit" if each.before is None else f"{each.before:,}"


def _numbers(each: VerifiedPosition) -> tuple[str, str]:
    return f"{each.planned:,}", "?" if each.found is None else f"{each.found:,}"


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in ("target", "partition", "") else "right", overflow="fold")
    return table
