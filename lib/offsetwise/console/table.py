"""Tables on screen: exact integers with separators, and unknown as `?`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

Layout: TypeAlias = dict[str, tuple[int | None, Literal["right"] | None]]
"""Width and alignment by column."""

_ROW_PX: Final = 35
_MAX_ROWS: Final = 12
_LARGEST_NUMBER: Final = 2**53
_DIGIT_PX: Final = 8
_CELL_PADDING_PX: Final = 20


def height(rows: int) -> int:
    """Give the height of a table that shows all its rows if they are few, in pixels."""
    return _ROW_PX * (min(rows, _MAX_ROWS) + 1) + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table ready to be drawn. Shared between sessions and never changed."""

    styled: Styler
    layout: Layout
    rows: int


def prepared(table: pd.DataFrame, widths: Mapping[str, int] | None = None) -> Prepared:
    """Print a table and lay it out, which takes longer than to draw it."""
    return Prepared(styled=printed(table), layout=layout(table, widths or {}), rows=len(table))


def plain(
    table: pd.DataFrame, *, alt: str | None = None, widths: Mapping[str, int] | None = None, missing: str = "?"
) -> None:
    """Draw a small table that is only read. A missing number is printed as `missing`."""
    draw(prepared(table, widths), alt=alt, missing=missing)


def draw(table: Prepared, *, alt: str | None = None, missing: str = "?") -> None:
    """Draw a table that is only read."""
    st.dataframe(
        table.styled,
        hide_index=True,
        height=height(table.rows),
        placeholder=missing,
        alt=alt,
        column_config={
            name: st.column_config.Column(width=width, alignment=alignment)
            for name, (width, alignment) in table.layout.items()
        },
    )


def printed(table: pd.DataFrame) -> Styler:
    """Print integers with separators, every digit of them.

    A column with an integer beyond 2^53 becomes text: the browser's number cells refuse such integers.
    """
    integers = [name for name in table.columns if _integer(table[name])]
    text = [name for name in integers if any(abs(end) > _LARGEST_NUMBER for end in _ends(table[name]))]
    exact = table.assign(**{name: table[name].map(_digits, na_action="ignore").astype(object) for name in text})
    return exact.style.format(_digits, subset=pd.Index([name for name in integers if name not in text]))


def layout(table: pd.DataFrame, widths: Mapping[str, int]) -> Layout:
    """Give width and alignment by column: never so narrow that leading digits of a number would be cut."""
    made: Layout = {}
    for name in table.columns:
        if _integer(table[name]):
            digits = max((len(f"{end:,}") for end in _ends(table[name])), default=0)
            made[name] = (max(widths.get(name, 80), _CELL_PADDING_PX + _DIGIT_PX * digits), "right")
        else:
            made[name] = (widths.get(name), None)
    return made


def _integer(column: pd.Series[Any]) -> bool:
    return str(column.dtype) in ("Int64", "int64")


def _ends(column: pd.Series[Any]) -> list[int]:
    """Give the smallest and the largest integer that are known, if any is."""
    return [int(end) for end in (column.min(), column.max()) if not pd.isna(end)]


def _digits(value: object) -> str:
    return "?" if value is pd.NA else f"{value:,}"
