from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.model import Plan, ReceiptStep
from offsetwise.plan.target import TargetRole, TargetType, Where
from offsetwise.plugins.kafka.targets.transactions.spec import recorded
from offsetwise.transactions.decisions import Decision


class SinkTransactionsTarget(TargetType):
    name = "sink-transactions"
    label = "settle the sink's transactions"
    where = Where.SINK
    role = TargetRole.TRANSACTIONS
    streams = frozenset()
    decisions = (Decision.COMMIT, Decision.ABORT)
    notes = frozenset({"sending"})

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        return recorded(plan, digest, step)


TYPE: Final = SinkTransactionsTarget()
