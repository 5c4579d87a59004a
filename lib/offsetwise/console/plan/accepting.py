"""Positions that a reviewer accepts as unproven: retention deleted their records since the plan was drafted."""

from __future__ import annotations

import streamlit as st

from offsetwise.approval.envelope import ApprovalFile, stated_in
from offsetwise.approval.unproven import acceptable, accepted, named
from offsetwise.console.widgets.cached import cached
from offsetwise.model import AcceptedUnproven
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import DecisionRow


def draw(sheet: Sheet) -> None:
    """Draw the positions that can be accepted, next to the decision; nothing if no position was proven by a record."""
    partitions = _partitions(sheet)
    if not partitions:
        return
    with st.expander("Accept positions as unproven", icon=":material/history_toggle_off:"):
        chosen = st.multiselect(
            "Positions",
            partitions,
            key=_places_key(sheet.row.id),
            help="Those of which the dry run of `apply` says PROOF_NOT_REPEATED: records that prove them are gone. An "
            "approval that accepts a position whose proof can be made again is refused.",
        )
        if chosen:
            st.text_input(
                "Why they may be applied without a proof",
                key=_reason_key(sheet.row.id),
                placeholder="Required to approve; signed with the approval",
                autocomplete="off",
            )


@cached(8)
def _partitions(sheet: Sheet) -> tuple[str, ...]:
    partitions = {position.topic_partition for position in sheet.plan.positions if acceptable(position)}
    return tuple(f"{at.topic}:{at.partition}" for at in sorted(partitions))


def chosen(plan: int) -> tuple[AcceptedUnproven, ...]:
    partitions = st.session_state.get(_places_key(plan), [])
    return accepted(named(partitions, [str(st.session_state.get(_reason_key(plan), ""))] if partitions else []))


def accepted_in_words(decision: DecisionRow) -> str:
    """Describe what a decision accepted, one line each; empty if it accepted nothing."""
    statement = stated_in(ApprovalFile(name="that is kept", content=decision.envelope))
    accepted = statement.accepted_unproven
    return "\n".join(f"Accepted {unproven.topic_partition} as unproven: {unproven.reason}" for unproven in accepted)


def _places_key(plan: int) -> str:
    return f"unproven-{plan}"


def _reason_key(plan: int) -> str:
    return f"unproven-reason-{plan}"
