"""The Draft screen."""

from __future__ import annotations

from offsetwise.console import blocks, board, guard
from offsetwise.console.wording import markdown
from offsetwise.review.allowing import Verb


def show(head: guard.Head) -> None:
    """Draw the whole screen."""
    head.says("What to write where, as a plan that a second person decides about.")
    seat = board.seat()
    if seat is None:
        return
    refused = seat.board.why_not(seat.person, Verb.SAVE)
    if refused is not None:
        blocks.empty(markdown(refused.why), markdown(refused.fix))
