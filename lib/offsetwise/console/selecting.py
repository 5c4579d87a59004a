"""A table and a list that select the same row: the mouse takes the table, the keyboard the list, a link the URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise.console import table
from offsetwise.console.escaping import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The rows of a table by name, and which of them is selected."""

    key: str
    """Of the selected row's name in the URL and in the session."""
    grid: str
    """Of the table: another one for other rows, since a selection is kept by place."""
    names: tuple[str, ...]
    """Of the rows, in the order of the table; at least one, none twice."""
    first: int
    """Selected where nothing, or a row that is not here, was chosen before."""

    def draw(self, shown: pd.DataFrame | Styler, *, columns: Mapping[str, Any], alt: str) -> None:
        """Draw the table."""
        st.dataframe(
            shown,
            hide_index=True,
            height=table.height(len(self.names)),
            placeholder="?",
            key=self.grid,
            on_select=self._picked,
            selection_mode="single-row",
            selection_default={"selection": {"rows": [self._first_selected()]}},
            column_config=columns,
            alt=alt,
        )

    def choose(self, label: str, *, width: int) -> int:
        """Draw the list, and give the place of the selected row."""
        if st.session_state.get(self.key) not in self.names:
            st.session_state[self.key] = self.names[self._current()]
        chosen = st.selectbox(
            label,
            self.names,
            key=self.key,
            bind="query-params",
            format_func=plain,
            width=width,
            on_change=self._follow,
        )
        return self.names.index(chosen)

    def _current(self) -> int:
        wanted = st.session_state.get(self.key) or st.query_params.get(self.key)
        return self.names.index(wanted) if wanted in self.names else self.first

    def _first_selected(self) -> int:
        """Keep saying what was selected when this table was first drawn: an unchanged table is not sent again."""
        known: tuple[str, int] | None = st.session_state.get(f"{self.key}-first-selected")
        if known is None or known[0] != self.grid:
            known = st.session_state[f"{self.key}-first-selected"] = (self.grid, self._current())
        return known[1]

    def _picked(self) -> None:
        rows: Sequence[int] = st.session_state[self.grid]["selection"]["rows"]
        if rows and rows[0] < len(self.names):
            st.session_state[self.key] = self.names[rows[0]]

    def _follow(self) -> None:
        place = self.names.index(st.session_state[self.key])
        st.session_state[self.grid] = {"selection": {"rows": [place], "columns": [], "cells": []}}
