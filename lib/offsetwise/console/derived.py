"""What is derived from a held comparison, computed once: a rerun of the page only looks it up.

Every function is keyed by the id of what is held; the comparison itself is not hashed. Results are shared by all
sessions and must not be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise.console import figures, frames, heat, table, takeaways
from offsetwise.console.choosing import Filters
from offsetwise.console.desk import Held
from offsetwise.console.drawn import Drawn
from offsetwise.console.palette import Palette
from offsetwise.fleet import severity_of
from offsetwise.model import Comparison, PartitionComparison
from offsetwise.wording import verdicts
from offsetwise.wording.verdicts import Tone

Rows = tuple[PartitionComparison, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the page says about a whole comparison."""

    answer: tuple[Tone, str, str]
    at_new_offsets: str
    """What a restart at the new offsets would cost."""
    topics: tuple[str, ...]
    """By name."""
    worst_topics: tuple[str, ...]
    codes: tuple[str, ...]
    """Codes of findings, by name."""
    takeaway: str
    """Of the heat map."""


def facts(held: Held[Comparison]) -> Facts:
    """Give what the page says about the whole comparison."""
    return _facts(held.id, held)


def filtered(held: Held[Comparison], filters: Filters) -> Rows:
    """Give the partitions that pass, in the chosen order."""
    return _filtered(held.id, filters, held)


def of_topic(held: Held[Comparison], topic: str) -> Rows:
    """Give the partitions of a topic; of more than a chart can show, those that most need a look. In log order."""
    rows = filtered(held, Filters(topics=(topic,)))
    worst = sorted(rows, key=verdicts.urgency)[: figures.MAX_LANES]
    return tuple(sorted(worst, key=lambda row: (row.partition, row.source)))


def lanes(held: Held[Comparison], rows: Rows, colours: Palette, *, lag: bool = True) -> tuple[Any, str]:
    """Give the chart of lanes and what it shows in words."""
    return _lanes(held.id, _ids(rows), colours, lag, rows)


def heat_map(held: Held[Comparison], colours: Palette) -> Any:
    """Give the heat map."""
    return _heat_map(held.id, colours, held)


def topic_table(held: Held[Comparison]) -> pd.DataFrame:
    """Give the numbers behind the heat map, by topic."""
    return _topic_table(held.id, held)


def lane_table(held: Held[Comparison], rows: Rows) -> table.Prepared:
    """Give the numbers behind the chart of lanes."""
    return _lane_table(held.id, _ids(rows), rows)


def partition_table(held: Held[Comparison], rows: Rows, columns: tuple[str, ...], colours: Palette) -> Styler:
    """Give the coloured table of these partitions, with these columns."""
    return _partition_table(held.id, _ids(rows), columns, colours, rows)


def partition_layout(
    held: Held[Comparison], rows: Rows, columns: tuple[str, ...], widths: Mapping[str, int]
) -> table.Layout:
    """Give width and alignment of the columns of that table."""
    return _partition_layout(held.id, _ids(rows), columns, rows, widths)


def _ids(rows: Rows) -> str:
    """Name these rows in a key: one string is hashed much sooner than hundreds."""
    return "\n".join(f"{row.topic}-{row.partition}@{row.source}" for row in rows)


@st.cache_resource(max_entries=16, show_spinner=False)
def _facts(held_id: int, _held: Held[Comparison]) -> Facts:  # noqa: ARG001 - the key
    shown = _held.value
    return Facts(
        answer=verdicts.answer(shown),
        at_new_offsets=verdicts.at_new_offsets(shown),
        topics=tuple(sorted({row.topic for row in shown.partitions})),
        worst_topics=tuple(heat.worst_topics(shown.partitions)),
        codes=tuple(sorted({code for row in shown.partitions for code in row.findings})),
        takeaway=takeaways.heat(shown.partitions) if shown.partitions else "",
    )


@st.cache_resource(max_entries=64, show_spinner=False)
def _filtered(held_id: int, filters: Filters, _held: Held[Comparison]) -> Rows:  # noqa: ARG001 - the key
    return filters.apply(_held.value.partitions)


@st.cache_resource(max_entries=64, show_spinner=False)
def _lanes(held_id: int, ids: str, colours: Palette, lag: bool, _rows: Rows) -> tuple[Any, str]:  # noqa: ARG001 - the key
    said = takeaways.lanes(_rows) if lag else takeaways.logs(_rows)
    return Drawn(figures.lanes(_rows, colours, lag=lag)), said


@st.cache_resource(max_entries=16, show_spinner=False)
def _heat_map(held_id: int, colours: Palette, _held: Held[Comparison]) -> Any:  # noqa: ARG001 - the key
    return Drawn(heat.heat_map(_held.value.partitions, colours))


@st.cache_resource(max_entries=16, show_spinner=False)
def _topic_table(held_id: int, _held: Held[Comparison]) -> pd.DataFrame:  # noqa: ARG001 - the key
    return heat.topic_table(_held.value.partitions)


@st.cache_resource(max_entries=64, show_spinner=False)
def _lane_table(held_id: int, ids: str, _rows: Rows) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(frames.lane_table(_rows))


@st.cache_resource(max_entries=32, show_spinner=False)
def _partition_table(
    held_id: int,  # noqa: ARG001 - the key, with the ids
    ids: str,  # noqa: ARG001 - as above
    columns: tuple[str, ...],
    colours: Palette,
    _rows: Rows,
) -> Styler:
    frame = frames.partition_table(_rows).assign(
        findings=[verdicts.findings(map(severity_of, row.findings)) for row in _rows]
    )
    styled = table.printed(frame[list(columns)])
    for column, tones, weight in (
        ("exactness", [verdicts.EXACTNESS[row.exactness].tone for row in _rows], ""),
        ("if unedited", [verdicts.raw(row).tone for row in _rows], "; font-weight: 600"),
        ("ahead", [verdicts.ahead(row).tone for row in _rows], ""),
        ("findings", [verdicts.worst(map(severity_of, row.findings)) for row in _rows], ""),
    ):
        styled = table.dressed(styled, column, [f"color: {colours.tone(tone)}{weight}" for tone in tones])
    return table.fixed(styled)


@st.cache_resource(max_entries=32, show_spinner=False)
def _partition_layout(
    held_id: int,  # noqa: ARG001 - the key, with the ids
    ids: str,  # noqa: ARG001 - as above
    columns: tuple[str, ...],
    _rows: Rows,
    _widths: Mapping[str, int],
) -> table.Layout:
    return table.layout(frames.partition_table(_rows)[list(columns)], _widths)
