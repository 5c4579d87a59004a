"""The transactions that a job's sinks left open."""

from __future__ import annotations

from typing import Final

from offsetwise.plan.target import Spec, Where
from offsetwise.targets.transactions.spec import recorded
from offsetwise.transactions.decisions import Decision

SPEC: Final = Spec(
    name="sink-transactions",
    label="settle the sink's transactions",
    where=Where.SINK,
    ways=(),
    recorded=recorded,
    any_stream=True,
    ends=(Decision.COMMIT, Decision.ABORT),
)
