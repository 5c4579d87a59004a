"""Whole numbers in texts from outside: `str.isdigit` and `int` take more than Kafka, Spark and Flink write."""

from __future__ import annotations

import re
from typing import Final

_WHOLE: Final = re.compile("0|[1-9][0-9]{0,38}")
"""As long as a number of 128 bits, which is the longest that anything here has."""


def whole_number(text: str, most: int = 2**63 - 1) -> int | None:
    """Return the number in a text as Java and JSON write it: ASCII digits, no sign, no zero in front.

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
    """Return what names are sorted by so that numbers come first, in their order, and then the others.

    >>> sorted(("10", "etl", "9"), key=numbers_first)
    ['9', '10', 'etl']
    """
    number = whole_number(name)
    return number is None, number or 0, name
