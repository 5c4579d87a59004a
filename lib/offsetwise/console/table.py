"""Tables on screen: exact integers with separators, and unknown as `?`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
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
_LETTER_PX: Final = 7
_NARROWEST_PX: Final = 60
_CELL_PADDING_PX: Final = 20
_KEPT_TABLES: Final = 128
_CELL: Final = re.compile(r"row(\d+)_col(\d+)")

_ids = count()


def height(rows: int) -> int:
    """Give the height of a table that shows all its rows if they are few, in pixels."""
    return _ROW_PX * (min(rows, _MAX_ROWS) + 1) + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table ready to be drawn. Shared between sessions and never changed."""

    styled: Styler
    layout: Layout
    rows: int
    id: int = field(default_factory=lambda: next(_ids))
    """Names what the browser got of it when it was first drawn: a rerun sends that again."""


def prepared(table: pd.DataFrame, widths: Mapping[str, int] | None = None) -> Prepared:
    """Print a table and lay it out, which takes longer than to draw it. For one that is kept."""
    return Prepared(styled=printed(table), layout=layout(table, widths or {}), rows=len(table))


def plain(
    table: pd.DataFrame, *, alt: str | None = None, widths: Mapping[str, int] | None = None, missing: str = "?"
) -> None:
    """Draw a small table that is only read. A missing number is printed as `missing`."""
    _draw(prepared(table, widths), alt, missing)


def draw(table: Prepared, *, alt: str | None = None, missing: str = "?") -> None:
    """Draw a table that is kept and only read."""
    _draw_again(table.id, alt, missing, table)


@st.cache_resource(max_entries=_KEPT_TABLES, show_spinner=False)
def _draw_again(table_id: int, alt: str | None, missing: str, _table: Prepared) -> None:  # noqa: ARG001 - the key
    """Draw it: Streamlit keeps what a cached function sent to the browser, and sends it again."""
    _draw(_table, alt, missing)


def _draw(table: Prepared, alt: str | None, missing: str) -> None:
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


def dressed(styled: Styler, column: str, css: list[str]) -> Styler:
    """Style the cells of a column, one text of CSS for each row."""
    return styled.apply(lambda _: css, subset=[column])


def fixed(styled: Styler) -> Styler:
    """Give a styled table that no longer changes and is drawn sooner.

    At each drawing, Streamlit styles a table anew, and writes what is printed into every cell of a copy. This one
    keeps its styles, and names only those cells where another text is printed than the value's own.
    """
    styled._compute()  # type: ignore[attr-defined] # what Streamlit calls; no public one gives cells
    sent: dict[str, Any] = styled._translate(False, False)  # type: ignore[attr-defined] # as above
    data: pd.DataFrame = styled.data  # type: ignore[attr-defined] # the types of pandas lack it
    own = [column.tolist() for _, column in data.astype(str).items()]
    sent["body"] = [
        [
            cell
            for cell in row
            if (found := _CELL.fullmatch(cell.get("id", "")))
            and own[int(found[2])][int(found[1])] != str(cell["display_value"])
        ]
        for row in sent["body"]
    ]
    # On the object: Streamlit takes no subclass for a styled table.
    styled._compute = lambda: styled  # type: ignore[attr-defined] # as above
    styled._translate = lambda *_, **__: sent  # type: ignore[attr-defined] # as above
    return styled


def layout(table: pd.DataFrame, widths: Mapping[str, int]) -> Layout:
    """Give width and alignment by column: never so narrow that leading digits of a number would be cut.

    Where `widths` says nothing, a column of numbers holds its heading too.
    """
    made: Layout = {}
    for name in table.columns:
        if _integer(table[name]):
            digits = max((len(f"{end:,}") for end in _ends(table[name])), default=0)
            heading = max(_NARROWEST_PX, _CELL_PADDING_PX + _LETTER_PX * len(str(name)))
            made[name] = (max(widths.get(name, heading), _CELL_PADDING_PX + _DIGIT_PX * digits), "right")
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
