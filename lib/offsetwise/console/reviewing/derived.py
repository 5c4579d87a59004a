"""What is derived from a plan under review, computed once: a rerun of the page only looks it up.

Keyed by digests: what has the same digest is the same plan. Whoever asks was let look at the plan by the board before.
Results are shared by all sessions and must not be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise.console import table
from offsetwise.console.palette import Palette
from offsetwise.console.reviewing import frames
from offsetwise.console.reviewing.checklist import Looked, checks
from offsetwise.console.reviewing.rows import LOOKS, Row, cost, headline, mark, rows_of
from offsetwise.model import GateCheck
from offsetwise.review.board import Board
from offsetwise.review.difference import Difference
from offsetwise.review.people import Person
from offsetwise.review.sheet import Sheet
from offsetwise.wording.verdicts import Tone
from offsetwise.workflow import Observed

Rows = tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The partitions of one version, and what is said about them as a whole."""

    key: str
    rows: Rows
    headline: str
    cost: tuple[str, str, str]
    topics: tuple[str, ...]


def before(board: Board, person: Person | None, sheet: Sheet) -> Difference | None:
    """Give what the newest version changes against the one before; None where it is the first one."""
    if len(sheet.versions) == 1:
        return None
    return difference(board, person, sheet, sheet.versions[-2].number, sheet.row.number)


def difference(board: Board, person: Person | None, sheet: Sheet, first: int, second: int) -> Difference:
    """Give what differs between two versions."""
    digests = {each.number: each.digest for each in sheet.versions}
    key = (digests[first], digests[second])
    return _difference(key, board, person, sheet.row.id, first, second)


def shown(sheet: Sheet, since: Difference | None) -> Shown:
    """Give the partitions, those that most need a look first."""
    return _shown(f"{sheet.digest}{'' if since is None else since.before}", sheet, since)


def checked(sheet: Sheet, looked: Looked | None) -> tuple[GateCheck, ...]:
    """Give everything to check before approving."""
    return _checked(sheet.digest, looked, sheet)


def position_table(shown_: Shown, rows: Rows, columns: tuple[str, ...], colours: Palette) -> Styler:
    """Give the coloured table of these rows."""
    return _position_table(shown_.key, _ids(rows), columns, colours, rows)


def position_layout(shown_: Shown, rows: Rows, columns: tuple[str, ...], widths: Mapping[str, int]) -> table.Layout:
    """Give width and alignment of the columns of that table."""
    return _position_layout(shown_.key, _ids(rows), columns, rows, widths)


def version_table(sheet: Sheet, start: int, stop: int) -> table.Prepared:
    """Give a part of the versions as a table, the newest first."""
    return _version_table(sheet.digest, start, stop, sheet)


def change_table(found: Difference, start: int, stop: int) -> table.Prepared:
    """Give a part of what two versions treat differently as a table."""
    return _change_table((found.before, found.after), start, stop, found)


def observed(board: Board, person: Person | None, sheet: Sheet) -> Observed | None:
    """Give the comparison and the snapshots that the newest version was drafted from."""
    return _observed(sheet.digest, board, person, sheet.row.id, sheet.row.number)


def _ids(rows: Rows) -> str:
    return "\n".join(row.name for row in rows)


@st.cache_resource(max_entries=16, show_spinner=False)
def _difference(
    key: tuple[str, str],  # noqa: ARG001 - the key
    _board: Board,
    _person: Person | None,
    _plan: int,
    _first: int,
    _second: int,
) -> Difference:
    return _board.difference(_person, _plan, _first, _second)


@st.cache_resource(max_entries=8, show_spinner=False)
def _shown(key: str, _sheet: Sheet, _since: Difference | None) -> Shown:
    rows = rows_of(_sheet.plan, _since)
    return Shown(
        key=key,
        rows=rows,
        headline=headline(rows),
        cost=cost(rows),
        topics=tuple(sorted({row.position.topic for row in rows})),
    )


@st.cache_resource(max_entries=16, show_spinner=False)
def _checked(digest: str, looked: Looked | None, _sheet: Sheet) -> tuple[GateCheck, ...]:  # noqa: ARG001 - the key
    return checks(_sheet.plan, looked)


@st.cache_resource(max_entries=16, show_spinner=False)
def _position_table(key: str, ids: str, columns: tuple[str, ...], colours: Palette, _rows: Rows) -> Styler:  # noqa: ARG001 - the key
    styled = table.printed(frames.positions(_rows)[list(columns)])
    for column, tones, weight in (
        ("look", [LOOKS[row.look].tone for row in _rows], "; font-weight: 600"),
        ("exactness", [mark(row.position).tone for row in _rows], ""),
        ("skips", [Tone.RIGHT if row.position.skip == 0 else Tone.WRONG for row in _rows], ""),
    ):
        styled = table.dressed(styled, column, [f"color: {colours.tone(tone)}{weight}" for tone in tones])
    return table.fixed(styled)


@st.cache_resource(max_entries=16, show_spinner=False)
def _position_layout(
    key: str,  # noqa: ARG001 - the key, with the ids
    ids: str,  # noqa: ARG001 - as above
    columns: tuple[str, ...],
    _rows: Rows,
    _widths: Mapping[str, int],
) -> table.Layout:
    return table.layout(frames.positions(_rows)[list(columns)], _widths)


@st.cache_resource(max_entries=16, show_spinner=False)
def _version_table(digest: str, start: int, stop: int, _sheet: Sheet) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(frames.versions(_sheet.versions[::-1][start:stop]))


@st.cache_resource(max_entries=16, show_spinner=False)
def _change_table(key: tuple[str, str], start: int, stop: int, _found: Difference) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(frames.changes(_found.positions[start:stop]))


@st.cache_resource(max_entries=2, show_spinner="Reading what was kept with the plan …")
def _observed(
    digest: str,  # noqa: ARG001 - the key
    _board: Board,
    _person: Person | None,
    _plan: int,
    _number: int,
) -> Observed | None:
    return _board.observed(_person, _plan, _number)
