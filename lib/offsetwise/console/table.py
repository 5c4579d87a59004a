"""Tables on screen: exact integers with separators, and unknown as `?`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

_ROW_PX: Final = 35
_MAX_ROWS: Final = 12
_LARGEST_NUMBER: Final = 2**53
_DIGIT_PX: Final = 8
_CELL_PADDING_PX: Final = 20


def height(rows: int) -> int:
    """Give the height of a table that shows all its rows if they are few, in pixels."""
    return _ROW_PX * (min(rows, _MAX_ROWS) + 1) + 3


def plain(
    table: pd.DataFrame, *, alt: str | None = None, widths: Mapping[str, int] | None = None, missing: str = "?"
) -> None:
    """Draw a small table that is only read. A missing number is printed as `missing`."""
    shown = printed(table)
    st.dataframe(
        shown,
        hide_index=True,
        height=height(len(table)),
        placeholder=missing,
        alt=alt,
        column_config={
            name: st.column_config.Column(width=width, alignment=alignment)
            for name, (width, alignment) in layout(table, widths or {}).items()
        },
    )


def printed(table: pd.DataFrame) -> Styler:
    """Print integers with separators, every digit of them.

    A column with an integer beyond 2^53 becomes text: the browser's number cells refuse such integers.
    """
    integers = [name for name in table.columns if _integer(table[name])]
    text = [name for name in integers if _beyond(table[name])]
    exact = table.assign(**{name: table[name].map(_digits, na_action="ignore").astype(object) for name in text})
    return exact.style.format(_digits, subset=pd.Index([name for name in integers if name not in text]))


def layout(table: pd.DataFrame, widths: Mapping[str, int]) -> dict[str, tuple[int | None, Literal["right"] | None]]:
    """Give width and alignment by column: never so narrow that leading digits of a number would be cut."""
    made: dict[str, tuple[int | None, Literal["right"] | None]] = {}
    for name in table.columns:
        if _integer(table[name]):
            ends = table[name].dropna()
            digits = max((len(f"{end:,}") for end in (ends.min(), ends.max())), default=0) if len(ends) else 0
            made[name] = (max(widths.get(name, 80), _CELL_PADDING_PX + _DIGIT_PX * digits), "right")
        else:
            made[name] = (widths.get(name), None)
    return made


def _integer(column: pd.Series[Any]) -> bool:
    return str(column.dtype) in ("Int64", "int64")


def _beyond(column: pd.Series[Any]) -> bool:
    known = column.dropna()
    return bool(len(known)) and max(abs(int(known.min())), abs(int(known.max()))) > _LARGEST_NUMBER


def _digits(value: object) -> str:
    return "?" if value is pd.NA else f"{value:,}"
