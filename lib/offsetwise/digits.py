"""Whole numbers in external texts: `str.isdigit` and `int` accept more than Kafka, Spark and Flink write."""

from __future__ import annotations

import re
from typing import Final

_WHOLE: Final = re.compile("0|[1-9][0-9]{0,38}")
"""At most as long as a number of 128 bits, the longest that occurs."""


def whole_number(text: str, most: int = 2**63 - 1) -> int | None:
    """Parse a number as Java and JSON write it: ASCII digits, no sign, no leading zero.

    >>> whole_number("1050"), whole_number("-1"), whole_number("007"), whole_number("²"), whole_number("9" * 5000)
    (1050, None, None, None, None)

    Args:
        text: Any text.
        most: The largest number that is one.

    Returns:
        None for every other text.
    """
    number = int(text) if _WHOLE.fullmatch(text) else None
    return number if number is not None and number <= most else None


def numbers_first(name: str) -> tuple[bool, int, str]:
    """Return a sort key for names: numbers first, in numeric order, and then the others.

    >>> sorted(("10", "etl", "9"), key=numbers_first)
    ['9', '10', 'etl']
    """
    number = whole_number(name)
    return number is None, number or 0, name
