"""Keeps Review up to date with the store: changes by others appear within seconds, and typed text is not lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from offsetwise.console import board
from offsetwise.console.board import Seat
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks
from offsetwise.review.sets.sheet import SetStanding
from offsetwise.review.sheet import Sheet, Waiting
from offsetwise.store.review_rows import PlanRow, SetRow
from offsetwise.wording.verdicts import Tone

EVERY_S: Final = 5
"""How often an open page checks the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreListing:
    plans: tuple[PlanRow, ...]
    waiting: tuple[Waiting, ...]
    sets: tuple[tuple[SetRow, SetStanding], ...] = ()
    """Sets of plans, the newest first, and their states."""
    comments: int = 0
    """Number of comments about the chosen plan."""
    decisions: int = 0


def listed(seat: Seat) -> StoreListing:
    return StoreListing(
        plans=seat.board.plans(seat.person),
        waiting=seat.board.waiting_for(seat.person),
        sets=seat.board.sets(seat.person),
    )


def with_plan(listing: StoreListing, sheet: Sheet | None) -> StoreListing:
    if sheet is None:
        return listing
    return replace(listing, comments=len(sheet.comments), decisions=len(sheet.decisions))


def watch(seat: Seat, plan: int | None, shown: StoreListing) -> None:
    """Redraw the page as soon as the store differs from what is shown.

    Args:
        seat: The board, and who looks.
        plan: The number of the chosen plan; None if there is none.
        shown: The store's content before the page was drawn.
    """
    st.fragment(_refresh, run_every=EVERY_S)(seat, plan, shown)


def _refresh(seat: Seat, plan: int | None, shown: StoreListing) -> None:
    with guard.block("live"):
        if seat.person is not None and board.person() is None:
            # The page is not redrawn: that would remove the fields, with the text typed into them.
            blocks.box(
                Tone.CAREFUL,
                "**Your sign-in has ended, so nothing can be decided or remarked.** **What to do:** press any button "
                "and sign in again. A remark that you typed is kept, and is in its field then.",
            )
            return
        now = with_plan(listed(seat), None if plan is None else seat.board.sheet(seat.person, plan))
        if now != shown:
            st.rerun()
