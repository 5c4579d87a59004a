"""Tables: a column is described once, for the screen, for files and for its colours.

Integers are exact and have separators, unknown is `?`, long tables come in pages, and one row can be selected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import count
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise import wording
from offsetwise.console.widgets import palette, selectors, terms, whole
from offsetwise.console.widgets.cached import cached, told_apart_by
from offsetwise.console.widgets.escaping import cell, plain
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.times import Time
from offsetwise.model import AnyPosition
from offsetwise.position import OpaquePosition
from offsetwise.wording.verdicts import Tone, Verdict

Row = TypeVar("Row")
Cell: TypeAlias = AnyPosition | str | Verdict | Time | None
_ROW_PX: Final = 35
_BAR_PX: Final = 10
"""Height of a table's horizontal scroll bar, which tables with a selection reserve."""
_MAX_ROWS: Final = 12
_LARGEST_NUMBER: Final = 2**53
_DIGIT_PX: Final = 8
_LETTER_PX: Final = 7
_HEADING_LETTER_PX: Final = 5
"""Width that a column loses for each letter by which its heading is shorter in another stream's terms."""
_VERDICT_LETTER_PX: Final = 6
_WIDEST_VERDICT_PX: Final = 160
_NARROWEST_PX: Final = 60
_CELL_PADDING_PX: Final = 20
_KEPT_TABLES: Final = 128
_DIGITS: Final = re.compile(r"\d")
_ids = count()


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    name: str
    value: Callable[[Row], Cell]
    """An integer, None if it is not known; a position that is not a number; a verdict, which has its own colour; a
    time; or a text, which is neutralised."""
    width: int | None = None
    """In pixels; numbers may need more. None for the width of the content."""
    help: str | None = None
    tone: Callable[[Row], Tone | None] | None = None
    """Tone of values that are not verdicts."""
    _: KW_ONLY
    heading: str = ""
    """Full heading on screen, if `name`, which files use, is shorter."""
    printed: Callable[[int], str] | None = None
    """Formats an integer on screen if its digits would not be helpful."""
    right: bool = False
    """Whether text is aligned to the right."""
    pinned: bool = False
    only: Literal["screen", "file"] | None = None
    when: Callable[[Sequence[Row]], bool] | None = None
    """Whether the column is relevant for these rows; otherwise it is not on screen."""


Columns: TypeAlias = tuple[Column[Row], ...]


def partition(value: Callable[[Row], int], *, pinned: bool = False) -> Column[Row]:
    """Return the column of a partition's number, which is `p` in files."""
    return Column("p", value, 70, pinned=pinned, heading="partition")


@told_apart_by(lambda table: table.id)
@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table ready to be drawn. Shared between sessions and never changed."""

    styled: Styler | pd.DataFrame
    """Without styles if all cells are text of one colour, which is drawn faster."""
    columns: dict[str, Any]
    """Streamlit's configuration of each column."""
    rows: int
    numbers: frozenset[str]
    """The columns with digits, which the table's edge must not cut."""
    id: int = field(default_factory=lambda: next(_ids))
    """Identifies what the browser got when it was first drawn: a rerun sends that again."""


PAGE_ROWS: Final = 250
"""Rows sent to the browser at once. With 10,000 rows a filter would send 1.5 MB again, with 500 more than 200 KB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    key: str
    """Key of the selected row's name in the URL and in the session."""
    grid: str
    """Key of the table: it differs for other rows, since a selection is stored by index."""
    names: tuple[str, ...]
    """Names of the rows, in the order of the table; at least one, without duplicates."""
    first: int
    """Index selected if nothing, or a row that is not here, was chosen before."""

    def draw(self, shown: Prepared, *, alt: str, picked: Callable[[], None] | None = None) -> None:
        """Draw the table; a click on a row selects it, or calls `picked`, and then no row is selected at first."""
        with st.container():
            whole.columns(shown.columns, shown.numbers, boxed=shown.rows)
            st.dataframe(
                shown.styled,
                hide_index=True,
                height=_height(shown.rows) + _BAR_PX,
                placeholder="?",
                key=self.grid,
                on_select=picked or self._picked,
                selection_mode=("single-row", "single-cell"),
                selection_default=None if picked else {"selection": {"rows": [self._first_selected()]}},
                column_config=shown.columns,
                alt=terms.said(alt),
            )

    def choose(self, label: str, *, width: int) -> int:
        if st.session_state.get(self.key) not in self.names:
            st.session_state[self.key] = self.names[self._current()]
        chosen = st.selectbox(
            terms.said(label),
            self.names,
            key=self.key,
            bind="query-params",
            format_func=plain,
            width=width,
            on_change=self._follow,
        )
        return self.names.index(chosen)

    def _current(self) -> int:
        selected = st.session_state.get(self.key) or st.query_params.get(self.key)
        return self.names.index(selected) if selected in self.names else self.first

    def _first_selected(self) -> int:
        """Return the row that was selected when this table was first drawn: an unchanged table is not sent again."""
        known: tuple[str, int] | None = st.session_state.get(f"{self.key}-first-selected")
        if known is None or known[0] != self.grid:
            known = st.session_state[f"{self.key}-first-selected"] = (self.grid, self._current())
        return known[1]

    def _picked(self) -> None:
        selected = st.session_state[self.grid]["selection"]
        cells = [row for row, _ in selected.get("cells", ())]
        rows = cells or list(selected["rows"])
        if rows and 0 <= rows[0] < len(self.names):
            st.session_state[self.key] = self.names[rows[0]]
            if cells:
                self._follow()

    def _follow(self) -> None:
        row = self.names.index(st.session_state[self.key])
        st.session_state[self.grid] = {"selection": {"rows": [row], "columns": [], "cells": []}}


_INT64_MAX = 2**63 - 1


def frame(columns: Columns[Row], rows: Sequence[Row], *, file: bool = False) -> pd.DataFrame:
    """Return the rows as they are on screen or in a file, which has every column.

    Integer columns are nullable: missing means unknown.
    """
    retained = [column for column in columns if column.only != "screen"] if file else _on_screen(columns, rows)
    return _frame({column: [column.value(row) for row in rows] for column in retained}, file=file)


def prepared(columns: Columns[Row], rows: Sequence[Row], colours: Palette | None = None) -> Prepared:
    """Format, colour and lay out a table, by default in the colours of the person's theme."""
    shown = {column: [column.value(row) for row in rows] for column in _on_screen(columns, rows)}
    cells, colours = _frame(shown, file=False), colours or palette.current()
    css = {column.name: results for column, values in shown.items() if (results := _css(column, rows, values, colours))}
    prints = {column.name: column.printed for column in shown if column.printed is not None}
    plain_text = not css and not any(_integer(cells[name]) for name in cells)
    return Prepared(
        styled=cells if plain_text else styled(cells, css, prints),
        columns={column.name: _layout(column, cells[column.name], values) for column, values in shown.items()},
        rows=len(cells),
        numbers=frozenset(str(name) for name in cells if _integer(cells[name]) or any(map(_has_digits, cells[name]))),
    )


def _has_digits(value: object) -> bool:
    return _DIGITS.search(str(value)) is not None


def _on_screen(columns: Columns[Row], rows: Sequence[Row]) -> Columns[Row]:
    return tuple(column for column in columns if column.only != "file" and (column.when is None or column.when(rows)))


def _frame(values: dict[Column[Row], list[Cell]], *, file: bool) -> pd.DataFrame:
    return pd.DataFrame({column.name: _cells(cells, file=file) for column, cells in values.items()})


def _cells(values: Sequence[Cell], *, file: bool) -> pd.Series[Any]:
    known = [value for value in values if isinstance(value, int | None)]
    if len(known) == len(values):
        return integers(known)
    # The product's own words are not formulas on screen; a spreadsheet takes "+ new partition" for one.
    return pd.Series(
        [
            str(value)
            if isinstance(value, Verdict) and not file
            else cell("" if value is None else _text(value, file=file))
            for value in values
        ]
    )


def _text(value: Cell, *, file: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, Time) and not file:
        return value.shown
    return str(value) if file or isinstance(value, str | Verdict | Time) else wording.brief(value)


def _css(column: Column[Row], rows: Sequence[Row], values: Sequence[Cell], colours: Palette) -> list[str]:
    tones = [
        value.tone if isinstance(value, Verdict) else column.tone(row) if column.tone else None
        for row, value in zip(rows, values, strict=True)
    ]
    return [_css_of(tone, colours) for tone in tones] if any(tones) else []


def _css_of(tone: Tone | None, colours: Palette) -> str:
    if tone is None:
        return ""
    return f"color: {colours.tone(tone)}{'; font-weight: 600' if tone is Tone.WRONG else ''}"


def _layout(column: Column[Row], cells: pd.Series[Any], values: Sequence[Cell]) -> Any:
    """Return Streamlit's configuration of a column: wide enough for all digits of a number, or a position.

    Without a width, a column of numbers is wide enough for its heading too.
    """
    heading = column.heading or column.name
    number, label = _integer(cells), terms.said(heading)
    width = None
    if column.width is not None:
        letters = max((len(str(value)) for value in values if isinstance(value, Verdict)), default=0)
        width = _widened(column.width, heading, label, letters)
    if number:
        printed = column.printed or "{:,}".format
        digits = max((len(printed(end)) for end in _ends(cells)), default=0)
        headed = max(_NARROWEST_PX, _CELL_PADDING_PX + _LETTER_PX * len(label))
        width = max(width or headed, _CELL_PADDING_PX + _DIGIT_PX * digits)
    if positions := [cells.iloc[at] for at, value in enumerate(values) if isinstance(value, OpaquePosition)]:
        width = max(width or 0, _CELL_PADDING_PX + _LETTER_PX * max(map(len, positions)))
    return st.column_config.Column(
        label=label,
        width=width,
        alignment="right" if number or column.right else None,
        help=None if column.help is None else terms.said(column.help),
        pinned=column.pinned,
    )


def _widened(width: int, heading: str, label: str, letters: int) -> int:
    if len(label) > len(heading):
        width = max(width, _CELL_PADDING_PX + _LETTER_PX * len(label))
    width -= _HEADING_LETTER_PX * max(0, len(heading) - len(label))
    return max(width, min(_WIDEST_VERDICT_PX, _CELL_PADDING_PX + _VERDICT_LETTER_PX * letters))


def _height(rows: int) -> int:
    return _ROW_PX * (min(rows, _MAX_ROWS) + 1) + 3


def show(columns: Columns[Row], rows: Sequence[Row], *, alt: str | None = None, missing: str = "?") -> None:
    _draw(prepared(columns, rows), None if alt is None else terms.said(alt), missing)


def draw(table: Prepared, *, alt: str | None = None, missing: str = "?") -> None:
    _draw_again(table, None if alt is None else terms.said(alt), missing)


def _draw(table: Prepared, alt: str | None, missing: str) -> None:
    with st.container():
        whole.columns(table.columns, table.numbers)
        st.dataframe(
            table.styled,
            hide_index=True,
            height=_height(table.rows),
            placeholder=missing,
            alt=alt,
            column_config=table.columns,
        )


_draw_again = cached(_KEPT_TABLES)(_draw)
"""Streamlit keeps what a cached function sent to the browser, and sends it again."""


def styled(table: pd.DataFrame, css: Mapping[str, Sequence[str]], prints: Mapping[str, Callable[[int], str]]) -> Styler:
    """Return a table with formatted integers and coloured cells.

    pandas styles every cell, and Streamlit repeats that at every drawing. The parts that Streamlit uses are built here
    once, and only for cells with a colour, or a text other than their value's own.

    Args:
        table: The cells. A column with an integer beyond 2^53 becomes text: the browser's number cells refuse it.
        css: By column, the style of each cell; empty if a cell has none.
        prints: By column, the formatter of its integers; by default all digits with separators.
    """
    texts: dict[str, list[Any]] = {}
    beyond: dict[str, pd.Series[Any]] = {}
    indexes: dict[str, int] = {}
    for at, name in enumerate(map(str, table)):
        indexes[name] = at
        if _integer(table[name]):
            texts[name] = _texts(table[name], prints.get(name, "{:,}".format))
            if any(abs(end) > _LARGEST_NUMBER for end in _ends(table[name])):
                beyond[name] = pd.Series(texts[name], index=table.index, dtype=object)
    shown = table.assign(**beyond)
    sent = {
        "cellstyle": _rules(css, indexes, len(shown)),
        "body": [
            [
                {"id": f"row{row}_col{indexes[name]}", "display_value": "?" if text is pd.NA else text}
                for row, (text, value) in enumerate(zip(column, shown[name], strict=True))
                if text is pd.NA or text != str(value)
            ]
            for name, column in texts.items()
        ],
    }
    styler = shown.style
    # On the object: Streamlit does not accept a subclass as a styled table.
    styler._compute = lambda: styler  # type: ignore[attr-defined] # what Streamlit calls; no public one gives cells
    styler._translate = lambda *_, **__: sent  # type: ignore[attr-defined] # as above
    return styler


def _texts(column: pd.Series[Any], how: Callable[[int], str]) -> list[Any]:
    return [value if value is pd.NA else how(int(value)) for value in column]


def _rules(css: Mapping[str, Sequence[str]], indexes: Mapping[str, int], rows: int) -> list[dict[str, Any]]:
    cells: dict[str, list[str]] = {}
    for row in range(rows):
        for name in css:
            cells.setdefault(css[name][row], []).append(f"row{row}_col{indexes[name]}")
    cells.pop("", None)
    return [
        {"props": [tuple(part.split(": ")) for part in rule.split("; ")], "selectors": selectors}
        for rule, selectors in cells.items()
    ]


def _integer(column: pd.Series[Any]) -> bool:
    return str(column.dtype) in ("Int64", "int64")


def _ends(column: pd.Series[Any]) -> list[int]:
    return [int(end) for end in (column.min(), column.max()) if not pd.isna(end)]


def page(count: int, key: str = "rows", *, label: str = "Rows", size: int = PAGE_ROWS) -> slice:
    if count <= size:
        return slice(0, count)
    starts = {f"{first + 1}–{min(first + size, count)}": first for first in range(0, count, size)}
    first = starts[selectors.choice(label, list(starts), key, width=200)]
    return slice(first, first + size)


def paged(columns: Columns[Row], rows: Sequence[Row], key: str, *, alt: str, missing: str = "?") -> None:
    show(columns, rows[page(len(rows), key)], alt=alt, missing=missing)


def integers(values: Sequence[int | None]) -> pd.Series[Any]:
    """Return a nullable column of integers; a column of text if a sum exceeds int64."""
    if any(value is not None and abs(value) > _INT64_MAX for value in values):
        return pd.Series([wording.number(value) for value in values], dtype=object)
    return pd.Series(pd.array(list(values), dtype="Int64"))
