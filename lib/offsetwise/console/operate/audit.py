"""The Audit screen: who did or attempted what, and whether the audit log is intact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

import streamlit as st

from offsetwise.console import board
from offsetwise.console.operate import audit_rows
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, layout, table
from offsetwise.console.widgets.escaping import cell
from offsetwise.console.widgets.table import Selection
from offsetwise.store.audit import AuditFilter, AuditRow, Chain
from offsetwise.wording import clock, many
from offsetwise.wording.verdicts import Tone, Verdict

PAGE_ROWS: Final = 100
AT_ONCE: Final = 20_000
"""Rows that are checked unasked: about half a second. A longer log is checked when a person asks."""
_CHECKED: Final = "audit-checked"
_WANTED: Final = "audit-check-wanted"
_FILES: Final = (
    ("CSV", "csv", audit_rows.csv, "One row a line."),
    ("JSON", "jsonl", audit_rows.json_lines, "One row a line, with what its hash was made of."),
)
"""Label, extension, writer and content of each download."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    chain: Chain
    at: datetime
    demo: bool
    """Whether the check was of the demonstration's log: its result holds for that log only."""


def show(head: guard.Head) -> None:
    head.says("Who did or tried what with plans, newest first. Refused attempts are written down too.")
    seat = board.seat()
    if seat is None:
        return
    newest = seat.board.audit(seat.person, most=1)
    if not newest:
        blocks.empty(
            "Nothing has been done or attempted yet.", "What people do on Draft and Review is written down here."
        )
        return
    whole = checked(seat, newest[0].seq)
    with guard.block("rows"):
        _rows(seat, newest[0].seq, whole)


def _rows(seat: board.Seat, newest: int, whole: Chain | None) -> None:
    request = audit_rows.filters()
    if request.problems:
        st.warning("  \n".join(("**Nothing is shown.**", *request.problems)), icon=":material/filter_alt_off:")
        return
    # One row more than is shown: it tells whether there are older ones.
    page_rows = seat.board.audit(seat.person, request.filter, most=PAGE_ROWS + 1)
    rows = page_rows[:PAGE_ROWS]
    before = request.filter.before_seq
    if not rows:
        blocks.empty("No row passes these filters.", "Clear a filter to see more.")
        audit_rows.leaf(before, 0, more=False)
        return
    links = audit_rows.links(rows, whole)
    generator, right = layout.two_columns("audit")
    with generator:
        selection = _table(seat, rows, links)
        more = len(page_rows) > PAGE_ROWS
        if more:
            _downloads_of_all(seat, request.filter, newest)
        else:
            _downloads(rows)
        chosen = selection.choose("Row", width=160)
        audit_rows.leaf(before, rows[-1].seq, more=more)
    with right:
        _row(rows[chosen], links[chosen])


def _table(seat: board.Seat, rows: Sequence[AuditRow], links: tuple[Verdict, ...]) -> Selection:
    names = tuple(str(row.seq) for row in rows)
    selection = Selection(key="row", grid=f"audit-{abs(hash((names, links, seat.demo)))}", names=names, first=0)
    selection.draw(
        table.prepared(audit_rows.COLUMNS, tuple(zip(rows, links, strict=True))),
        alt=f"{many(len(rows), 'row')} of the audit log with who, what, result, plan, digest and states.",
    )
    return selection


def _downloads(rows: Sequence[AuditRow]) -> None:
    with downloads.to_the_right_of(f":gray[{many(len(rows), 'row')}. Select a row to see all of it.]"):
        for label, ending, make, says in _FILES:
            downloads.button(label, f"audit.{ending}", partial(make, rows), key=f"download-{label}", says=says)


def _downloads_of_all(seat: board.Seat, audit_filter: AuditFilter, newest: int) -> None:
    def built(make: Callable[[Iterable[AuditRow]], bytes]) -> bytes:
        return make(audit_rows.rows(seat.board, seat.person, audit_filter))

    with downloads.to_the_right_of(
        f":gray[{PAGE_ROWS} rows shown. The downloads hold every row that passes the filters. "
        "Select a row to see all of it.]"
    ):
        requests = [
            downloads.on_request(
                label,
                f"audit.{ending}",
                partial(built, make),
                key=label,
                about=(seat.demo, audit_filter, newest),
                says=says,
            )
            for label, ending, make, says in _FILES
        ]
    downloads.reason(*requests, key="audit-failed")


def _row(row: AuditRow, link: Verdict) -> None:
    st.header(audit_rows.heading(row), anchor=False)
    if link is not audit_rows.INTACT:
        blocks.box(Tone.WRONG, f"**{link}:** this row, or the one before it, is not as it was written.")
    st.markdown(audit_rows.described(row))
    digests = (("Digest", row.record.digest), ("Hash", row.hash), ("Hash of the row before", row.previous))
    for label, digest in digests:
        if digest is not None:
            st.caption(label)
            st.code(cell(digest), language=None, wrap_lines=True)
    with st.expander("Everything it says"):
        table.show(audit_rows.DETAILS, sorted(row.record.details.items()), missing="none")


def checked(seat: board.Seat, newest: int) -> Chain | None:
    """Draw the last check with a button to check again, and return its result.

    Args:
        seat: Whose log.
        newest: The number of its newest row.
    """
    container = st.container()
    known: Checked | None = st.session_state.get(_CHECKED)
    if known is not None and known.demo != seat.demo:
        known = None
    with guard.block("chain"):
        if st.session_state.pop(_WANTED, False) or (known is None and newest <= AT_ONCE):
            with container, st.spinner(f"Checking {many(newest, 'row')} …"):
                known = Checked(chain=seat.board.check_chain(seat.person), at=datetime.now(UTC), demo=seat.demo)
            st.session_state[_CHECKED] = known
        with container:
            _draw(known, newest)
    return None if known is None else known.chain


def _draw(known: Checked | None, newest: int) -> None:
    if known is None:
        blocks.box(
            Tone.UNKNOWN,
            f"**It was not checked yet whether the audit log is intact.** Reading all {many(newest, 'row')} takes a "
            "while.",
        )
    elif known.chain.intact:
        blocks.box(Tone.RIGHT, audit_rows.verdict(known.chain))
    else:
        blocks.box(Tone.WRONG, audit_rows.verdict(known.chain))
        st.markdown(
            "**What to do:** compare the database with a copy from before, keep both, and find out who could write to "
            "it. Do not apply a plan on the word of this console until you know."
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Check the chain" if known is None else "Check again",
            icon=":material/refresh:",
            key="audit-check",
            on_click=_ask,
        )
        if known is not None:
            st.markdown(f":gray[Checked {clock(known.at)}, up to row {known.chain.rows:,}.]")
            with st.popover(f"Last hash `{known.chain.head[:8]}`"):
                st.code(f"{known.chain.rows}:{known.chain.head}", language=None, wrap_lines=True)
                written = "" if known.chain.at_ms is None else f", written {clock(known.chain.at_ms)}"
                st.markdown(
                    f"Row {known.chain.rows:,}{written}. Noted elsewhere, it shows later whether the log's end was cut "
                    "off, or all of it written anew: `offsetwise audit --noted ROW:HASH`."
                )


def _ask() -> None:
    st.session_state[_WANTED] = True
