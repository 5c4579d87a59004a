"""The transactional ids of Flink's KafkaSink: `prefix-subtask-number` (`TransactionalIdFactory`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_INT_DIGITS: Final = 10
_LONG_DIGITS: Final = 19


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
    if not dash or not _is_number(subtask, _INT_DIGITS) or not _is_number(number, _LONG_DIGITS):
        return None
    name = SinkName(prefix, int(subtask), int(number))
    return name if name.subtask < 2**31 and name.number < 2**63 else None


def _is_number(text: str, most: int) -> bool:
    """Return whether Java writes a number so: ASCII digits, no sign, no zero in front."""
    return text.isdigit() and text.isascii() and len(text) <= most and (text[0] != "0" or text == "0")
