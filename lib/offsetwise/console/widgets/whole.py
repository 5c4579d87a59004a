"""How wide a table is drawn where it does not fit: only so wide that its right edge cuts no number.

What a browser cuts of `1,295` reads `1,29`, and is another number. The columns that do not fit are reached by the bar.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from typing import Any, Final

import streamlit as st

MARK: Final = "whole"
"""Class of what stands before a table, on which the styles of its widths hang."""
_FRAME_PX: Final = 2
_BOX_PX: Final = 32
"""Of the column with the box of each row."""
_WIDER_BOX_PX: Final = 36
"""The same of more than 100 rows; there are never more than a page of them."""
_MANY_ROWS: Final = 100
_TEXT_PX: Final = 200
"""A wider column is a text."""
_LEAST_PX: Final = 60
"""Of a text, a narrower piece says nothing."""


def columns(layout: Mapping[str, Any], numbers: Set[str], *, boxed: int = 0) -> None:
    """Let the table that is drawn next end where one of its columns ends, in a block of its own.

    Args:
        layout: How each column looks, as Streamlit has it.
        numbers: The columns with digits; of another one a part may be seen.
        boxed: How many rows have a box, in a column before all others; 0 where there is no such column.
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
    """Return between which widths of a table its right edge cuts a number, or leaves a sliver of a text, in pixels.

    From left to right. Columns that stay at the left have none: what is cut of them no narrower table would hold.
    Nothing is known behind a column whose width the browser chooses.

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
