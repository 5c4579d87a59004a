"""The transactional ids of Flink's KafkaSink: `prefix-subtask-number` (`TransactionalIdFactory`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from offsetwise.digits import whole_number


@dataclass(frozen=True, slots=True)
class SinkName:
    prefix: str
    subtask: int
    number: int
    """INCREMENTING: the checkpoint that the transaction ends with. POOLING: the smallest number that was free."""


@lru_cache(maxsize=1 << 17)  # a job's ids of a week are asked for by every rule of a decision, and there are many
def parse(transactional_id: str) -> SinkName | None:
    """Read a transactional id from the right, because a prefix may have dashes and digits itself.

    Returns:
        Its parts; None where a KafkaSink cannot have made it.

    >>> parse("orders-eu-0-12")
    SinkName(prefix='orders-eu', subtask=0, number=12)
    >>> parse("orders-0-01") is None
    True
    """
    rest, _, number = transactional_id.rpartition("-")
    prefix, dash, subtask = rest.rpartition("-")
    subtask_id, counter = whole_number(subtask, 2**31 - 1), whole_number(number)
    return SinkName(prefix, subtask_id, counter) if dash and subtask_id is not None and counter is not None else None
