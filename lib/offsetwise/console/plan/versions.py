from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import streamlit as st

from offsetwise.approval import Verdict
from offsetwise.console.board import Seat
from offsetwise.console.plan import accepting, plan_status
from offsetwise.console.plan.panel import override_fields
from offsetwise.console.plan.panel.position_words import spoken
from offsetwise.console.server import guard
from offsetwise.console.widgets import selectors, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import cut, markdown
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import PlannedPosition
from offsetwise.review.board import Board
from offsetwise.review.demo import name_of
from offsetwise.review.difference import Difference, PositionChange
from offsetwise.review.people import Person, identity_of
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import VersionRow, Who
from offsetwise.wording import many, number

_SHOWN: Final = 100
"""Versions, or partitions of a difference, on one page."""
_ENTRIES: Final = 20
"""Entries on one page."""
_LONG: Final = 1_000
"""Characters of a remark that are shown at first."""
_VERSIONS: Final[Columns[VersionRow]] = (
    Column("version", lambda row: row.number),
    Column("digest", lambda row: row.digest[:8]),
    Column("saved by", lambda row: plan_status.named(row.by)),
    Column("at (UTC)", lambda row: plan_status.at(row.at_ms)),
)
_CHANGES: Final[Columns[PositionChange]] = (
    Column("topic", lambda change: change.topic),
    table.partition(lambda change: change.partition),
    Column("to, before", lambda change: _position_text(change.before)),
    Column("to, now", lambda change: _position_text(change.after)),
    Column("what differs", lambda change: cut(_differs(change))),
    Column("decided by a person", lambda change: cut(_decided(change.after))),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    at_ms: int
    by: Who
    did: str
    """Markdown."""
    said: str = ""
    """Unescaped, as it was written."""


@st.fragment
def draw(seat: Seat, sheet: Sheet) -> None:
    with (
        st.expander(f"{many(len(sheet.versions), 'version')}", icon=":material/difference:"),
        guard.block("versions"),
    ):
        span = table.page(len(sheet.versions), "version-rows", label="Versions", size=_SHOWN)
        table.draw(version_table(sheet, span.start, span.stop), alt="Versions, and who saved them.")
        if len(sheet.versions) == 1:
            return
        numbers = [str(version.number) for version in sheet.versions]
        with st.container(horizontal=True):
            first = selectors.choice("What changed from version", numbers, "from", default=numbers[-2], width=200)
            second = selectors.choice("to version", numbers, "to", default=numbers[-1], width=200)
        if first == second:
            st.markdown(":gray[They are one version.]")
            return
        changes = difference_of(seat.board, seat.person, sheet, int(first), int(second))
        difference(changes, key="between")


def difference(changes: Difference, *, key: str) -> None:
    if not changes.positions and not changes.parts:
        st.markdown("Nothing that is planned differs.")
        return
    if changes.parts:
        st.markdown(f"Of the plan as a whole: **{markdown(', '.join(map(spoken, changes.parts)))}**.")
    if changes.positions:
        st.markdown(f"{many(len(changes.positions), 'partition')}:")
        span = table.page(len(changes.positions), f"{key}-rows", label="Changes", size=_SHOWN)
        table.draw(change_table(changes, span.start, span.stop), alt="Partitions that differ, before and now.")


def entries(sheet: Sheet) -> tuple[HistoryEntry, ...]:
    return tuple(sorted(_entries(sheet), key=lambda entry: entry.at_ms, reverse=True))


def timeline(sheet: Sheet, now: datetime) -> None:
    history = entries(sheet)
    with st.expander(f"Timeline · {many(len(history), 'entry', 'entries')}", icon=":material/timeline:", expanded=True):
        _draw_entries(history, now, "timeline")


def comments(sheet: Sheet, now: datetime) -> None:
    """Draw the remarks about the plan, the newest first; nothing if there are none."""
    remarks = tuple(sorted(_comments(sheet), key=lambda entry: entry.at_ms, reverse=True))
    if remarks:
        st.markdown(f"**{many(len(remarks), 'comment')}**")
        _draw_entries(remarks, now, "talk")


def _draw_entries(history: Sequence[HistoryEntry], now: datetime, key: str) -> None:
    for index, entry in enumerate(history[table.page(len(history), key, label="Entries", size=_ENTRIES)]):
        st.markdown(
            f"**{markdown(entry.by.name)}** {entry.did}  \n"
            f":gray[{markdown(_identity(entry.by))}{markdown(plan_status.ago(entry.at_ms, now))}]"
            + (f"\n\n{text(entry.said[:_LONG])}" if entry.said else "")
        )
        if len(entry.said) > _LONG:
            with st.expander(f"All {len(entry.said):,} characters", key=f"{key}-{index}"):
                st.markdown(text(entry.said))


def _identity(somebody: Who) -> str:
    """Return the identity behind a name, which anybody may choose; empty for people of the demonstration."""
    return "" if identity_of(somebody) == somebody.name else f"{identity_of(somebody)}, "


def text(said: str) -> str:
    r"""Format a remark as Markdown that shows exactly its text, line by line.

    >>> text("one\n# two")
    'one  \n\\# two'
    """
    return "  \n".join(map(markdown, said.splitlines()))


def _entries(sheet: Sheet) -> Iterator[HistoryEntry]:
    for version in sheet.versions:
        yield HistoryEntry(at_ms=version.at_ms, by=version.by, did=f"saved version {version.number}")
    submission = sheet.status.submission
    if submission is not None:
        yield HistoryEntry(at_ms=submission.at_ms, by=submission.by, did=f"submitted version {sheet.row.number}")
    numbers = {row.digest: row.number for row in sheet.versions}
    for decision in sheet.decisions:
        word = ":green[✓ approved]" if decision.verdict == Verdict.APPROVED else ":red[✗ rejected]"
        did = f"{word} version {numbers.get(decision.digest, '?')}"
        said = [override_fields.in_words(sheet, decision), accepting.accepted_in_words(decision)]
        yield HistoryEntry(at_ms=decision.at_ms, by=decision.by, did=did, said="\n".join(filter(None, said)))
    for receipt in sheet.receipts:
        yield HistoryEntry(at_ms=receipt.at_ms, by=receipt.by, did="handed in a receipt of its application")


def _comments(sheet: Sheet) -> Iterator[HistoryEntry]:
    for comment in sheet.comments:
        yield HistoryEntry(at_ms=comment.at_ms, by=comment.by, did=f"on version {comment.number}", said=comment.body)


def _differs(change: PositionChange) -> str:
    if change.before is None:
        return "only in the later version"
    if change.after is None:
        return "only in the earlier version"
    return ", ".join(map(spoken, change.parts))


def _position_text(position: PlannedPosition | None) -> str:
    return "none" if position is None else number(position.new_offset)


def _decided(position: PlannedPosition | None) -> str:
    return (
        ""
        if position is None or position.override is None
        else f"{name_of(position.override.by)}: {position.override.reason}"
    )


def before(board: Board, person: Person | None, sheet: Sheet) -> Difference | None:
    """Return the difference of the newest version to the one before; None if it is the first one."""
    if len(sheet.versions) == 1:
        return None
    return difference_of(board, person, sheet, sheet.versions[-2].number, sheet.row.number)


@cached(16)
def difference_of(_board: Board, _person: Person | None, sheet: Sheet, first: int, second: int) -> Difference:
    return _board.difference(_person, sheet.row.id, first, second)


@cached(16)
def version_table(sheet: Sheet, start: int, stop: int) -> table.Prepared:
    return table.prepared(_VERSIONS, sheet.versions[::-1][start:stop])


@cached(16)
def change_table(changes: Difference, start: int, stop: int) -> table.Prepared:
    return table.prepared(_CHANGES, changes.positions[start:stop])
