"""Whether the audit log is whole: looked at when the page is opened, and again when a person asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import board, guard
from offsetwise.console.audit import sentences
from offsetwise.store.audit import Chain
from offsetwise.wording import many, moment

AT_ONCE: Final = 20_000
"""Rows that are checked without being asked: about half a second of work. A longer log is read when a person asks."""
_CHECKED: Final = "audit-checked"
_WANTED: Final = "audit-check-wanted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check found, and when."""

    chain: Chain
    at: datetime
    demo: bool
    """Of which log: what was found of one says nothing of the other."""


def checked(seat: board.Seat, newest: int) -> Chain | None:
    """Draw what the last check found, with a way to check again, and give it.

    Args:
        seat: Whose log.
        newest: The number of its newest row.
    """
    place = st.container()
    known: Checked | None = st.session_state.get(_CHECKED)
    if known is not None and known.demo != seat.demo:
        known = None
    with guard.block("chain"):
        if st.session_state.pop(_WANTED, False) or (known is None and newest <= AT_ONCE):
            with place, st.spinner(f"Checking {many(newest, 'row')} …"):
                known = Checked(chain=seat.board.check_chain(seat.person), at=datetime.now(UTC), demo=seat.demo)
            st.session_state[_CHECKED] = known
        with place:
            _draw(known, newest)
    return None if known is None else known.chain


def _draw(known: Checked | None, newest: int) -> None:
    if known is None:
        st.info(
            f"**? It was not checked yet whether the audit log is intact.** Reading all {many(newest, 'row')} takes a "
            "while.",
            icon=":material/link:",
        )
    elif known.chain.intact:
        st.success(sentences.verdict(known.chain), icon=":material/link:")
    else:
        st.error(sentences.verdict(known.chain), icon=":material/link_off:")
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
            st.markdown(f":gray[Checked {known.at:%Y-%m-%d %H:%M:%S} UTC, up to row {known.chain.rows:,}.]")
            with st.popover(f"Last hash `{known.chain.head[:8]}`"):
                st.code(f"{known.chain.rows}:{known.chain.head}", language=None)
                written = "" if known.chain.at_ms is None else f", written {moment(known.chain.at_ms)}"
                st.markdown(
                    f"Row {known.chain.rows:,}{written}. Noted elsewhere, it shows later whether the log's end was cut "
                    "off, or all of it written anew: `offsetwise audit --noted ROW:HASH`."
                )


def _ask() -> None:
    st.session_state[_WANTED] = True
