"""Transactions of a sink's partitions that no coordinator knows."""

from __future__ import annotations

from typing import Final

from offsetwise.plan.target import Spec, Where
from offsetwise.targets.transactions.spec import recorded
from offsetwise.transactions.decisions import Decision

SPEC: Final = Spec(
    name="hanging-transactions",
    label="abort hanging transactions",
    where=Where.SINK,
    ways=(),
    recorded=recorded,
    any_stream=True,
    ends=(Decision.HANGING,),
    alone=True,
)
