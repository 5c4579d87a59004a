"""What the Export screen says, in words. Markdown where it says so."""

from __future__ import annotations

import shlex
from typing import Final

from offsetwise.console.escaping import markdown, plain
from offsetwise.console.reviewing.sentences import named, votes
from offsetwise.model import Plan
from offsetwise.plan.exports import for_flink
from offsetwise.review.exports import Export, ExportKind
from offsetwise.review.sheet import Mark, Sheet
from offsetwise.store.review_rows import State
from offsetwise.wording import many, moment

TITLES: Final = {
    ExportKind.PLAN: "Plan",
    ExportKind.APPROVAL: "Approvals",
    ExportKind.STARTING_OFFSETS: "Starting offsets",
    ExportKind.GROUPS_CSV: "Consumer group CSV",
}
ABOUT: Final = {
    ExportKind.PLAN: "What `offsetwise apply` reads: every byte as it was decided about.",
    ExportKind.APPROVAL: "The signed envelopes. `apply` believes these and its own list of keys, never this console.",
    ExportKind.STARTING_OFFSETS: "For a job that starts anew and gives up its state: Spark's option, or Flink's "
    "words in SQL, Java and Python.",
    ExportKind.GROUPS_CSV: "For `kafka-consumer-groups`, where a group is reset by hand.",
}
_WHY_DRAFT: Final = {
    State.DRAFT: "it was not submitted",
    State.SUBMITTED: "it waits for decisions",
    State.REJECTED: "it was rejected",
    State.WITHDRAWN: "it was withdrawn",
}


def why_draft(sheet: Sheet) -> str | None:
    """Say why the files say DRAFT; None where they do not. Markdown."""
    told = sheet.standing
    if told.mark is not Mark.DRAFT:
        return None
    why = _WHY_DRAFT.get(told.state, "its approvals have expired")
    if told.state is State.SUBMITTED:
        why = "its submission or an approval has expired" if told.expired else f"{why}: {votes(told)}"
    return f"**DRAFT: nobody may apply this.** Of version {sheet.row.number:,}, {markdown(why)}. `apply` refuses it."


def approved(sheet: Sheet) -> str:
    """Say who approved, and whether it was applied since. Markdown."""
    by = "  \n".join(
        f"{markdown(named(each.by))}, {moment(each.at_ms)}, good until {moment(each.expires_at_ms)}"
        for each in sheet.standing.counted
    )
    count = many(len(sheet.standing.counted), "approval")
    if sheet.standing.mark is Mark.APPLIED:
        kept = f"It was approved here:  \n{by}" if by else "No approval of it is kept here."
        return f"**✓ Applied: version {sheet.row.number:,}.** It is not to be applied again. {kept}"
    return f"**✓ Approved: version {sheet.row.number:,}, {count} of {sheet.standing.required:,} asked for.**  \n{by}"


def use(kind: ExportKind, file: Export, plan: Plan) -> str | None:
    """Give the exact commands that use a file of another tool's; None where `apply` is what uses it, or nothing may."""
    if kind is ExportKind.STARTING_OFFSETS and file.mark is Mark.APPROVED and not for_flink(plan):
        return f'.option("startingOffsets", open("{file.name}").read())'
    if kind is ExportKind.GROUPS_CSV and file.mark is Mark.APPROVED and not unseen(plan):
        groups = " ".join(f"--group {shlex.quote(name)}" for name in _groups(plan)) or "--group GROUP"
        tool = f"kafka-consumer-groups --bootstrap-server HOST:PORT {groups}"
        reset = f"{tool} --reset-offsets --from-file {file.name}"
        return f"{reset} --dry-run\n{reset} --execute\n{tool} --describe"
    return None


def unseen(plan: Plan) -> bool:
    """Whether a group's name would be marked: no command is shown that is not exact, or not what it looks like."""
    return any(plain(name) != name for name in _groups(plan))


def _groups(plan: Plan) -> tuple[str, ...]:
    return tuple(target.group for target in plan.targets if target.group is not None)


def checking(file: Export, sha256: str) -> str:
    """Give the command that shows whether a file is whole where it arrived."""
    return f"echo '{sha256}  {file.name}' | sha256sum --check"
