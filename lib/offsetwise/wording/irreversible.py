from __future__ import annotations

from typing import Final

from offsetwise.model import Outcome, Plan, Settlement
from offsetwise.wording import many

NEWEST: Final = "newest checkpoint"
"""The check of a plan whether a newer checkpoint may hold what it aborts."""


def confirmation(plan: Plan) -> str | None:
    """Return the text that an approver types to confirm what cannot be undone; None if all of it can."""
    if not plan.transactions:
        return None
    hanging = any(transaction.transactional_id is None for transaction in plan.transactions)
    if hanging:
        return "abort hanging transactions"
    return f"{'no newer checkpoint, ' if _unsearched(plan) else ''}cannot be taken back"


def _unsearched(plan: Plan) -> bool:
    return any(check.name == NEWEST and check.outcome is not Outcome.PASSED for check in plan.gate)


def irreversible(plan: Plan) -> str | None:
    """Return a sentence about what a plan does that cannot be undone; None if all of it can."""
    if not plan.transactions:
        return None
    commits = sum(transaction.decision is Settlement.COMMIT for transaction in plan.transactions)
    parts = [(commits, "committed"), (len(plan.transactions) - commits, "aborted")]
    message = " and ".join(
        f"{many(count, 'transaction')} {'is' if count == 1 else 'are'} {how}" for count, how in parts if count
    )
    sink = plan.requirements.sink
    lost = " What a newer checkpoint holds of them is lost, and none could be looked for." if _unsearched(plan) else ""
    where = "" if sink is None else repr(sink.name)
    return f"{message} on the cluster {where} of the sink, which cannot be taken back.{lost}"
