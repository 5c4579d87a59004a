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
    """INCREMENTING: the checkpoint that the transaction ends with. POOLING: the smallest free number."""


@lru_cache(maxsize=1 << 17)  # a week of ids is parsed again by every rule
def parse(transactional_id: str) -> SinkName | None:
    """Parse a transactional id from the right, because a prefix may contain dashes and digits.

    Returns:
        Its parts; None if a KafkaSink cannot have created it.

    >>> parse("orders-eu-0-12")
    SinkName(prefix='orders-eu', subtask=0, number=12)
    >>> parse("orders-0-01") is None
    True
    """
    rest, _, number = transactional_id.rpartition("-")
    prefix, dash, subtask = rest.rpartition("-")
    subtask_id, counter = whole_number(subtask, 2**31 - 1), whole_number(number)
    return SinkName(prefix, subtask_id, counter) if dash and subtask_id is not None and counter is not None else None
