"""Long tables in pages: a filter sends the browser only what it shows."""

from __future__ import annotations

from typing import Final

import pandas as pd

from offsetwise.console import choosing, table

PAGE_ROWS: Final = 250
"""Rows sent to the browser at once. Of 10,000 a filter would send 1.5 MB again, of 500 more than 200 KB."""


def page(count: int, key: str = "rows", *, label: str = "Rows", size: int = PAGE_ROWS) -> slice:
    """Let the person leaf through more rows than are sent at once; give the ones to show."""
    if count <= size:
        return slice(0, count)
    starts = {f"{first + 1}–{min(first + size, count)}": first for first in range(0, count, size)}
    first = starts[choosing.choice(label, list(starts), key, width=200)]
    return slice(first, first + size)


def draw(frame: pd.DataFrame, key: str, *, alt: str, missing: str = "?") -> None:
    """Draw a table that is only read, in pages where it is long."""
    table.plain(frame.iloc[page(len(frame), key)], alt=alt, missing=missing)
