"""The Audit screen."""

from __future__ import annotations

from offsetwise.console import blocks, board, guard


def show(head: guard.Head) -> None:
    """Draw the whole screen."""
    head.says("Who did or tried what, newest first.")
    seat = board.seat()
    if seat is None:
        return
    rows = seat.board.audit(seat.person)
    if not rows:
        blocks.empty("Nobody did or tried anything yet.", "What people do on Draft and Review is written down here.")
