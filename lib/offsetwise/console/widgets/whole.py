"""Limits the width of a table that does not fit, so that its right edge cuts no number.

A browser that cuts `1,295` shows `1,29`, another number. The columns that do not fit are reached by scrolling.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from typing import Any, Final

import streamlit as st

MARK: Final = "whole"
"""Class of the element before a table that its width rules refer to."""
_FRAME_PX: Final = 2
_BOX_PX: Final = 32
"""Width of the column with the check box of each row."""
_WIDER_BOX_PX: Final = 36
"""The same for more than 100 rows; a page is never longer."""
_MANY_ROWS: Final = 100
_TEXT_PX: Final = 200
"""A wider column is text."""
_LEAST_PX: Final = 60
"""A narrower piece of a text is of no use."""


def columns(layout: Mapping[str, Any], numbers: Set[str], *, boxed: int = 0) -> None:
    """End the next table at the edge of one of its columns; draws the rules in a block of its own.

    Args:
        layout: Streamlit's configuration of each column.
        numbers: The columns with digits; other columns may be cut.
        boxed: How many rows have a check box, in a column before all others; 0 if there is no such column.
    """
    limits = edges(layout, numbers, boxed=boxed)
    if not limits:
        return
    name = f"{MARK}-{hashlib.sha256(repr(limits).encode()).hexdigest()[:12]}"
    table = f'[data-testid="stElementContainer"]:has(.{name}) + [data-testid="stElementContainer"]'
    rules = "".join(
        f"@container (width > {start}px) and (width < {end}px) {{ {table} {{ max-width: {start}px }} }}"
        for start, end in limits
    )
    st.html(f'<i class="{MARK} {name}"></i><style>{rules}</style>')


def edges(layout: Mapping[str, Any], numbers: Set[str], *, boxed: int = 0) -> tuple[tuple[int, int], ...]:
    """Return the ranges of table widths at which the right edge cuts a number, or leaves a sliver of a text, in pixels.

    From left to right. Pinned columns have none: a narrower table would not help. Nothing is known beyond a column
    whose width the browser chooses.

    >>> edges({"topic": {"width": 96, "pinned": True}, "old": {"width": 60}, "new": {"width": 60}}, {"new"}, boxed=8)
    ((130, 190), (190, 250))
    """
    box = 0 if not boxed else _BOX_PX if boxed <= _MANY_ROWS else _WIDER_BOX_PX
    at, limits = _FRAME_PX + box, []
    for name, column in sorted(layout.items(), key=lambda entry: not entry[1].get("pinned")):
        width = column.get("width")
        if not isinstance(width, int):
            break
        if not column.get("pinned") and at > _FRAME_PX:
            whole = name in numbers and width <= _TEXT_PX
            limits.append((at, at + (width if whole else min(width, _LEAST_PX))))
        at += width
    return tuple(limits)
