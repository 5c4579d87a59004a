"""Tables on screen: exact integers with separators, and unknown as `?`."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

_ROW_PX: Final = 35
_MAX_ROWS: Final = 12


def height(rows: int) -> int:
    """Give the height of a table that shows all its rows if they are few, in pixels."""
    return _ROW_PX * (min(rows, _MAX_ROWS) + 1) + 3


def plain(
    table: pd.DataFrame, *, alt: str | None = None, widths: dict[str, int] | None = None, missing: str = "?"
) -> None:
    """Draw a small table that is only read. A missing number is printed as `missing`."""
    sizes = widths or {}
    st.dataframe(
        printed(table),
        hide_index=True,
        height=height(len(table)),
        placeholder=missing,
        alt=alt,
        column_config={name: st.column_config.Column(width=sizes[name]) for name in sizes},
    )


def printed(table: pd.DataFrame) -> Styler:
    """Print integers with separators, exactly: formatted by the browser they would lose digits above 2^53."""
    integers = [name for name in table.columns if str(table[name].dtype) in ("Int64", "int64")]
    return table.style.format(_digits, subset=pd.Index(integers))


def _digits(value: object) -> str:
    return "?" if value is pd.NA else f"{value:,}"
