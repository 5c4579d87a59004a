"""The Review screen."""

from __future__ import annotations

from offsetwise.console import blocks, board, guard


def show(head: guard.Head) -> None:
    """Draw the whole screen."""
    head.says("Plans, and what people decide about them. The console never applies one.")
    seat = board.seat()
    if seat is None:
        return
    plans = seat.board.plans(seat.person)
    if not plans:
        blocks.empty("There is no plan yet.", "An author drafts one on the page Draft.")
