from __future__ import annotations

from collections.abc import Iterator

from offsetwise.model import Plan, ReceiptStep


def recorded(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:  # noqa: ARG001 - as every target's
    sink = plan.requirements.sink
    if sink is None or step.place != sink.cluster_id:
        known = None if sink is None else sink.cluster_id
        yield f"its location is {step.place[:300]!r}, and the plan's cluster is {known!r}"
    if step.files or step.offsets:
        yield "it has files or committed offsets, which transactions have none of"
