from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from offsetwise.model import Plan, PlanOfSet, PlanSet
from offsetwise.review.risk import VersionFacts
from offsetwise.review.sheet import SheetMark, VersionStanding
from offsetwise.store.review_rows import EditorRow, PlanRow, SetMember, SetRow, State, VersionRow

_TYPABLE: Final = re.compile(r"[a-zA-Z0-9._-]{1,100}")


class SetState(StrEnum):
    """The common state of a set's plans."""

    SUBMITTED = "submitted"
    APPROVED = "approved"
    """Every plan is approved, alone or together; some may be applied already."""
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    APPLIED = "applied"
    CHANGED = "changed"
    """A plan was edited, withdrawn or rejected alone: no decision about the set is possible any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSheet:
    entry: PlanOfSet
    member: SetMember
    """The version in the set."""
    row: PlanRow
    newest: VersionRow
    status: VersionStanding
    """The state of its newest version."""
    editors: tuple[EditorRow, ...]
    facts: VersionFacts
    """The facts of its newest version."""

    @property
    def replaced(self) -> bool:
        return self.row.number != self.member.number


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStanding:
    state: SetState
    changed: tuple[int, ...]
    """The numbers of the plans that differ from those in the set."""
    expired: bool
    """Whether a submission or an approval of a plan has expired."""
    counted: int
    """The number of valid approvals of the plan with the fewest."""
    required: int
    applied: int
    """The number of applied plans."""
    alone: int
    """The number of plans that were approved alone while others still wait."""

    @property
    def decidable(self) -> bool:
        return self.state is SetState.SUBMITTED and not self.expired

    @property
    def mark(self) -> SheetMark:
        if self.state is SetState.APPLIED:
            return SheetMark.APPLIED
        approved = self.state is SetState.APPROVED and not self.expired and not self.applied
        return SheetMark.APPROVED if approved else SheetMark.DRAFT


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSheet:
    row: SetRow
    document: PlanSet
    members: tuple[MemberSheet, ...]
    """In the order in which they are applied."""
    plans: tuple[Plan, ...]
    """The parsed versions in the set, in the same order."""
    status: SetStanding

    @property
    def digest(self) -> str:
        """The digest that a decision about the set has to name."""
        return self.row.digest

    @property
    def confirm(self) -> str | None:
        """The text that an approver has to type; None if nothing is unsafe and every check is met."""
        risky = any(member.facts.confirm is not None or member.facts.unmet for member in self.members)
        return confirmation(self.row) if risky else None

    @property
    def not_met(self) -> dict[str, tuple[int, ...]]:
        results: dict[str, tuple[int, ...]] = {}
        for member, plan in zip(self.members, self.plans, strict=True):
            for name in member.facts.not_met(partial(_same, plan)):
                results[name] = (*results.get(name, ()), member.row.id)
        return results


def _same(plan: Plan) -> Plan:
    return plan


def confirmation(row: SetRow) -> str:
    """Return the text to type to approve a set with a risk or an unmet check: its wave, or else its digest."""
    return row.wave if row.wave is not None and _TYPABLE.fullmatch(row.wave) else row.digest[:8]


def standing_of(
    row: SetRow, newest: Mapping[int, tuple[PlanRow, VersionRow]], standings: Mapping[int, VersionStanding]
) -> SetStanding:
    """Return the state of a set.

    Args:
        row: The set.
        newest: Each of its plans with its newest version, by number.
        standings: The states of these versions, by the number of the plan.
    """
    rows = [newest[member.plan][0] for member in row.members]
    replaced = {member.plan for member in row.members if newest[member.plan][0].number != member.number}
    states = {plan.state for plan in rows}
    state, changed = _state(rows, replaced, states)
    counts = [standings[plan.id] for plan in rows]
    return SetStanding(
        state=state,
        changed=changed,
        expired=state in (SetState.SUBMITTED, SetState.APPROVED) and any(status.expired for status in counts),
        counted=min(len(status.counted) for status in counts),
        required=max(status.required for status in counts),
        applied=sum(plan.state is State.APPLIED for plan in rows),
        alone=sum(plan.state is State.APPROVED for plan in rows) if state is SetState.SUBMITTED else 0,
    )


def _state(rows: Sequence[PlanRow], replaced: set[int], states: set[State]) -> tuple[SetState, tuple[int, ...]]:
    if not replaced and len(states) == 1 and (only := next(iter(states))) is not State.DRAFT:
        return SetState(only.value), ()
    still = (State.SUBMITTED, State.APPROVED, State.APPLIED)
    changed = tuple(plan.id for plan in rows if plan.id in replaced or plan.state not in still)
    if changed:
        return SetState.CHANGED, changed
    return (SetState.SUBMITTED if State.SUBMITTED in states else SetState.APPROVED), ()
