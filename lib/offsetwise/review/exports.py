"""A plan under review for those who apply it.

What nobody approved says DRAFT, and no tool takes it for more; what was applied already says APPLIED.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from shlex import quote

from offsetwise.model import Plan
from offsetwise.plan.exports import consumer_groups_csv, starting_form
from offsetwise.review.sheet import SheetMark


class ExportKind(StrEnum):
    """What can be taken out."""

    PLAN = "plan"
    """The plan's file, every byte as it was decided about."""
    APPROVAL = "approval"
    """One file for each approval, as `apply` takes it."""
    STARTING_OFFSETS = "starting-offsets"
    """The JSON of Spark's option."""
    GROUPS_CSV = "groups-csv"
    """The file of `kafka-consumer-groups --from-file`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """One file."""

    name: str
    content: bytes
    mime: str
    digest: str
    """Of the plan."""
    mark: SheetMark


def exported(
    kind: ExportKind,
    plan: Plan,
    content: bytes,
    *,
    digest: str,
    envelopes: tuple[bytes, ...],
    withdrawn: tuple[bytes, ...] = (),
    mark: SheetMark,
) -> tuple[Export, ...]:
    """Give the files of one kind.

    Args:
        kind: What is wanted.
        plan: The plan.
        content: Its file, every byte.
        digest: Its digest.
        envelopes: The approvals that count.
        withdrawn: Those of people who are no reviewers any more: the files say so, as the envelopes cannot.
        mark: What the files say.

    Raises:
        PlanError: The plan cannot be said in that form.
    """
    if kind is ExportKind.APPROVAL:
        marked = dict.fromkeys(envelopes, mark) | dict.fromkeys(withdrawn, SheetMark.WITHDRAWN)
        return tuple(
            _file(
                f"{_begin(said) if said is SheetMark.WITHDRAWN else ''}plan-{digest[:8]}.approval-{number}.json",
                envelope,
                "application/json",
                digest,
                said,
            )
            for number, (envelope, said) in enumerate(marked.items(), 1)
        )
    begin = f"{_begin(mark)}plan-{digest[:8]}"
    nobody_may = mark is SheetMark.DRAFT
    if kind is ExportKind.PLAN:
        return (_file(f"{begin}.json", content, "application/json", digest, mark),)
    draft = f"DRAFT: plan {digest} is not approved"
    if kind is ExportKind.STARTING_OFFSETS:
        form = starting_form(plan)
        text = form.draft(form.text(plan), draft) if nobody_may else form.text(plan)
        return (_file(f"{begin}.starting-offsets.{form.suffix}", text.encode(), form.mime, digest, mark),)
    lines = consumer_groups_csv(plan)
    text = f"{draft}\n{lines}" if nobody_may else lines
    return (_file(f"{begin}.groups.csv", text.encode(), "text/csv", digest, mark),)


def commands(
    digest: str, *, approvals: int, mark: SheetMark, migration_file: str = "migration.yaml", output: str | None = None
) -> tuple[str, ...]:
    """Give the exact commands that try, apply and verify an exported plan, in this order, as far as they may be run.

    Args:
        digest: The plan's.
        approvals: How many approvals were exported.
        mark: What the plan's file says: a draft is only tried, and what was applied only verified.
        migration_file: What the migration file is called where it is applied.
        output: Where a copy or a file is written; None where no target takes that.
    """
    name = f"plan-{digest[:8]}"
    written = "" if output is None else f" --output {quote(output)}"
    dry = f"offsetwise apply {_begin(mark)}{name}.json --migration {migration_file}{written}"
    verify = f"offsetwise verify {name}.receipt.json --migration {migration_file}"
    if mark is not SheetMark.APPROVED:
        return (verify,) if mark is SheetMark.APPLIED else (dry,)
    signed = "".join(f" --approval {name}.approval-{number}.json" for number in range(1, approvals + 1))
    return dry, f"{dry}{signed} --execute", verify


def _begin(mark: SheetMark) -> str:
    return "" if mark is SheetMark.APPROVED else f"{mark}-"


def _file(name: str, content: bytes, mime: str, digest: str, mark: SheetMark) -> Export:
    return Export(name=name, content=content, mime=mime, digest=digest, mark=mark)
