"""The Export screen: a plan and its approvals as files, and what comes back."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from offsetwise.console import board, bundles, guard
from offsetwise.console.exporting import bringing, sentences, taking
from offsetwise.console.reviewing import plans
from offsetwise.console.reviewing.sentences import caption
from offsetwise.review.sheet import Sheet


def show(head: guard.Head) -> None:
    """Draw the whole screen."""
    head.says("Plans and approvals as files, for the command line. The console never applies one.")
    seat = board.seat()
    if seat is None:
        return
    now = datetime.now(UTC)
    with guard.block("plan"):
        chosen = plans.choose(seat, now)
        sheet = None if chosen is None else seat.board.sheet(seat.person, chosen)
        if sheet is not None:
            head.says(caption(sheet, now))
            _plan(seat, sheet)
    st.subheader("From another console", anchor=False)
    bundles.offer(seat)
    bringing.bundle(seat)


def _plan(seat: board.Seat, sheet: Sheet) -> None:
    with guard.block("standing"):
        _standing(sheet)
    st.subheader("Files", anchor=False)
    taking.draw(seat, sheet)
    st.subheader("On the command line", anchor=False)
    with guard.block("commands"):
        taking.on_command_line(sheet)
    st.subheader("What came back", anchor=False)
    bringing.of_plan(seat, sheet.row)


def _standing(sheet: Sheet) -> None:
    why = sentences.why_draft(sheet)
    if why is None:
        st.success(sentences.approved(sheet), icon=":material/verified:")
    else:
        st.warning(why, icon=":material/edit_note:")
    with st.popover(f"Digest of the plan `{sheet.digest[:8]}`"):
        st.code(sheet.digest, language=None)
        st.markdown(":gray[What the approvals name. It is the SHA-256 of the plan's file.]")
