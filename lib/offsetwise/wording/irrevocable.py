"""What of a plan cannot be taken back, and what whoever approves it types to show that they know."""

from __future__ import annotations

from offsetwise.model import Plan, Settlement
from offsetwise.wording import many


def confirmation(plan: Plan) -> str | None:
    """Give what an approver types to show that they know that it cannot be taken back; None where all of it can."""
    if not plan.transactions:
        return None
    hanging = any(each.transactional_id is None for each in plan.transactions)
    return "abort hanging transactions" if hanging else "cannot be taken back"


def irrevocable(plan: Plan) -> str | None:
    """Say in a sentence what of a plan cannot be taken back; None where all of it can."""
    if not plan.transactions:
        return None
    commits = sum(each.decision is Settlement.COMMIT for each in plan.transactions)
    parts = [(commits, "committed"), (len(plan.transactions) - commits, "aborted")]
    told = " and ".join(
        f"{many(count, 'transaction')} {'is' if count == 1 else 'are'} {how}" for count, how in parts if count
    )
    sink = plan.requirements.sink
    return f"{told} on the cluster {'' if sink is None else repr(sink.name)} of the sink, which cannot be taken back."
