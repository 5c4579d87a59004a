"""A plan under review for those who apply it. What nobody approved says DRAFT, and no tool takes it for more."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model import Plan
from offsetwise.plan.exports import consumer_groups_csv, starting_offsets


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
    approved: bool


def exported(
    kind: ExportKind, plan: Plan, content: bytes, *, digest: str, envelopes: tuple[bytes, ...], approved: bool
) -> tuple[Export, ...]:
    """Give the files of one kind.

    Args:
        kind: What is wanted.
        plan: The plan.
        content: Its file, every byte.
        digest: Its digest.
        envelopes: The approvals that count.
        approved: Whether they are enough.

    Raises:
        PlanError: The plan cannot be said in that form.
    """
    if kind is ExportKind.APPROVAL:
        return tuple(
            _file(f"plan-{digest[:8]}.approval-{number}.json", envelope, "application/json", digest, approved=approved)
            for number, envelope in enumerate(envelopes, 1)
        )
    begin = f"{'' if approved else 'DRAFT-'}plan-{digest[:8]}"
    if kind is ExportKind.PLAN:
        return (_file(f"{begin}.json", content, "application/json", digest, approved=approved),)
    draft = f"DRAFT: plan {digest} is not approved"
    if kind is ExportKind.STARTING_OFFSETS:
        text = starting_offsets(plan)
        if not approved:
            # Spark fails at it, as it should: nobody agreed to these offsets.
            text = json.dumps({draft: json.loads(text)}, separators=(",", ":"))
        return (_file(f"{begin}.starting-offsets.json", text.encode(), "application/json", digest, approved=approved),)
    lines = consumer_groups_csv(plan)
    text = lines if approved else f"{draft}\n{lines}"
    return (_file(f"{begin}.groups.csv", text.encode(), "text/csv", digest, approved=approved),)


def commands(digest: str, *, approvals: int, approved: bool, migration_file: str = "migration.yaml") -> tuple[str, ...]:
    """Give the exact commands that try, apply and verify an exported plan, in this order.

    Args:
        digest: The plan's.
        approvals: How many approvals were exported.
        approved: Whether they are enough; without, only the trial is told.
        migration_file: What the migration file is called where it is applied.
    """
    name = f"{'' if approved else 'DRAFT-'}plan-{digest[:8]}"
    dry = f"offsetwise apply {name}.json --migration {migration_file}"
    if not approved:
        return (dry,)
    signed = "".join(f" --approval {name}.approval-{number}.json" for number in range(1, approvals + 1))
    return dry, f"{dry}{signed} --execute", f"offsetwise verify {name}.receipt.json --migration {migration_file}"


def _file(name: str, content: bytes, mime: str, digest: str, *, approved: bool) -> Export:
    return Export(name=name, content=content, mime=mime, digest=digest, approved=approved)
