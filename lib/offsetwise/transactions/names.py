"""The transactional ids of Flink's KafkaSink: `prefix-subtask-number` (`TransactionalIdFactory`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# Digits as Java writes them: ASCII, no sign, no zero in front.
_NAME: Final = re.compile(r"(?s)(.*)-(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class SinkName:
    """The parts of a KafkaSink's transactional id."""

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
    found = _NAME.fullmatch(transactional_id)
    if found is None or int(found[2]) >= 2**31 or int(found[3]) >= 2**63:
        return None
    return SinkName(found[1], int(found[2]), int(found[3]))
