from __future__ import annotations

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.errors import VerifyError
from offsetwise.model import Plan, ReceiptStep
from offsetwise.transactions.ended import judge


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:  # noqa: ARG001
    sink = plan.requirements.sink
    ends = None if sink is None else readers.ends(sink.name, plan.transactions)
    if sink is None or ends is None or ends.cluster_id != sink.cluster_id:
        raise VerifyError(
            f"The sink's cluster: expected the one with the id {step.place}, found "
            f"{'none' if ends is None else ends.cluster_id}. Nothing can be told about its transactions.",
            fix="Give the migration file that the plan was applied with.",
        )
    results = (
        judge(transaction, ends.answers.get(transaction.transactional_id or ""), ends.logs)
        for transaction in plan.transactions
    )
    return [Seen(found=None, turnout=turnout, told=message) for turnout, message in results]
