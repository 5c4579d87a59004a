"""The Audit screen: who did or tried what, and whether the log of it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise.console import blocks, board, downloads, guard, table
from offsetwise.console.audit import chain, exports, frames, sentences
from offsetwise.console.audit import choosing as audit_choosing
from offsetwise.console.escaping import cell
from offsetwise.console.palette import Palette
from offsetwise.console.selecting import Selection
from offsetwise.store.audit import AuditFilter, AuditRow, Chain
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone, Verdict

PAGE_ROWS: Final = 100
_WIDTHS: Final = {
    "row": 56,
    "when (UTC)": 186,
    "who": 130,
    "what": 96,
    "result": 84,
    "plan": 52,
    "digest": 80,
    "before → after": 160,
    "why": 300,
    "subject": 104,
    "issuer": 150,
    "chain": 120,
}


def show(head: guard.Head) -> None:
    """Draw the whole screen."""
    head.says("Who did or tried what with plans, newest first. Refused attempts are written down too.")
    seat = board.seat()
    if seat is None:
        return
    newest = seat.board.audit(seat.person, most=1)
    if not newest:
        blocks.empty("Nobody did or tried anything yet.", "What people do on Draft and Review is written down here.")
        return
    whole = chain.checked(seat, newest[0].seq)
    with guard.block("rows"):
        _rows(seat, newest[0].seq, whole, guard.colours())


def _rows(seat: board.Seat, newest: int, whole: Chain | None, colours: Palette) -> None:
    asked = audit_choosing.filters()
    if asked.problems:
        st.warning("  \n".join(("**Nothing is shown.**", *asked.problems)), icon=":material/filter_alt_off:")
        return
    # One more than are shown says whether there are older ones.
    found = seat.board.audit(seat.person, asked.filter, most=PAGE_ROWS + 1)
    rows = found[:PAGE_ROWS]
    before = asked.filter.before_seq
    if not rows:
        blocks.empty("No row passes these filters.", "Clear a filter to see more.")
        audit_choosing.leaf(before, 0, more=False)
        return
    links = sentences.links(rows, whole)
    selection = _table(seat, rows, links, colours)
    _downloads(seat, asked.filter, len(rows), newest)
    chosen = selection.choose("Row", width=160)
    audit_choosing.leaf(before, rows[-1].seq, more=len(found) > PAGE_ROWS)
    _row(rows[chosen], links[chosen])


def _table(seat: board.Seat, rows: Sequence[AuditRow], links: Sequence[Verdict], colours: Palette) -> Selection:
    names = tuple(str(row.seq) for row in rows)
    shown = frames.audit_table(rows, links)
    broken = any(link is not sentences.INTACT for link in links)
    columns = [name for name in frames.COLUMNS if broken or name != "chain"]
    selection = Selection(key="row", grid=f"audit-{abs(hash((names, broken, seat.demo)))}", names=names, first=0)
    layout = table.layout(shown[columns], _WIDTHS)
    selection.draw(
        _styled(shown[columns], rows, links, colours),
        columns={
            name: st.column_config.Column(width=width, alignment=alignment, pinned=name == "row")
            for name, (width, alignment) in layout.items()
        },
        alt=f"{many(len(rows), 'row')} of the audit log with who, what, result, plan, digest and states.",
    )
    return selection


def _downloads(seat: board.Seat, wanted: AuditFilter, shown: int, newest: int) -> None:
    with downloads.beside(
        f":gray[{many(shown, 'row')} shown. The downloads hold every row that passes the filters. "
        "Select a row to see all of it.]"
    ):
        failed = [
            downloads.on_request(
                label,
                f"audit.{ending}",
                partial(make, seat.board, seat.person, wanted),
                key=label,
                about=(seat.demo, wanted, newest),
                says=f"One row a line{more}.",
            )
            for label, ending, make, more in (
                ("CSV", "csv", exports.csv, ""),
                ("JSON", "jsonl", exports.json_lines, ", with what its hash was made of"),
            )
        ]
    for error in failed:
        if error is not None:
            blocks.failed(error, key="audit-failed")
            break


def _styled(shown: pd.DataFrame, rows: Sequence[AuditRow], links: Sequence[Verdict], colours: Palette) -> Styler:
    styled = table.printed(shown)
    for column, tones in (
        ("result", [sentences.result(row).tone for row in rows]),
        ("chain", [link.tone for link in links]),
    ):
        if column in shown.columns:
            css = [f"color: {colours.tone(tone)}{'; font-weight: 600' if tone is Tone.WRONG else ''}" for tone in tones]
            styled = table.dressed(styled, column, css)
    return styled


def _row(row: AuditRow, link: Verdict) -> None:
    st.subheader(sentences.heading(row), anchor=False)
    if link is not sentences.INTACT:
        st.error(f"**{link}:** this row, or the one before it, is not as it was written.", icon=":material/link_off:")
    st.markdown(sentences.told(row))
    digests = (("Digest", row.record.digest), ("Hash", row.hash), ("Hash of the row before", row.previous))
    for label, digest in digests:
        if digest is not None:
            st.caption(label)
            st.code(cell(digest), language=None)
    with st.expander("Everything it says"):
        table.plain(frames.details(row), missing="none", widths={"said": 200, "as": 700})
