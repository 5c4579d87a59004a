from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.errors import PlanError
from offsetwise.model import Plan, ReceiptStep, Target
from offsetwise.plan.request import unfit
from offsetwise.plan.target import TargetRole, TargetType, Where
from offsetwise.plugins.kafka.targets.transactions.spec import recorded
from offsetwise.transactions.decisions import Decision


class HangingTransactionsTarget(TargetType):
    name = "hanging-transactions"
    label = "abort hanging transactions"
    where = Where.SINK
    role = TargetRole.TRANSACTIONS
    streams = frozenset()
    decisions = (Decision.HANGING,)
    notes = frozenset({"sending"})

    def combination(self, targets: Sequence[Target]) -> Iterator[PlanError]:
        if len(targets) > 1:
            yield unfit(
                "hanging transactions to be ended by a plan of their own",
                f"{len(targets)} targets",
                fix="Draft a plan of its own for hanging transactions.",
            )

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        return recorded(plan, digest, step)


TYPE: Final = HangingTransactionsTarget()
