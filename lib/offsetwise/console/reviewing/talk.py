"""What people said and decided about a plan, the newest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import streamlit as st

from offsetwise.approval import Verdict
from offsetwise.console import paging
from offsetwise.console.escaping import markdown
from offsetwise.console.reviewing import sentences
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import Who

_SHOWN: Final = 20
"""Entries on one page."""
_LONG: Final = 1_000
"""Characters of a remark that stand there at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that somebody said or did."""

    at_ms: int
    by: Who
    did: str
    """Markdown."""
    said: str = ""
    """As it was written, whatever that is."""


def entries(sheet: Sheet) -> tuple[Entry, ...]:
    """Give everything that was said and decided, the newest first."""
    return tuple(sorted(_entries(sheet), key=lambda entry: entry.at_ms, reverse=True))


def draw(sheet: Sheet, now: datetime) -> None:
    """Draw the discussion."""
    st.subheader("Discussion", anchor=False)
    found = entries(sheet)
    for place, entry in enumerate(found[paging.page(len(found), "talk", label="Entries", size=_SHOWN)]):
        st.markdown(
            f"**{markdown(entry.by.name)}** {entry.did}  \n"
            f":gray[{markdown(entry.by.subject)} of {markdown(entry.by.issuer)}, "
            f"{markdown(sentences.ago(entry.at_ms, now))}]" + (f"\n\n{text(entry.said[:_LONG])}" if entry.said else "")
        )
        if len(entry.said) > _LONG:
            with st.expander(f"All {len(entry.said):,} characters", key=f"talk-{place}"):
                st.markdown(text(entry.said))


def text(said: str) -> str:
    r"""Print a remark as Markdown that says exactly that, line by line.

    >>> text("one\n# two")
    'one  \n\\# two'
    """
    return "  \n".join(map(markdown, said.splitlines()))


def _entries(sheet: Sheet) -> Iterator[Entry]:
    for version in sheet.versions:
        yield Entry(at_ms=version.at_ms, by=version.by, did=f"saved version {version.number}")
    submission = sheet.standing.submission
    if submission is not None:
        yield Entry(at_ms=submission.at_ms, by=submission.by, did=f"submitted version {sheet.row.number}")
    numbers = {each.digest: each.number for each in sheet.versions}
    for decision in sheet.decisions:
        word = ":green[✓ approved]" if decision.verdict == Verdict.APPROVED else ":red[✗ rejected]"
        yield Entry(at_ms=decision.at_ms, by=decision.by, did=f"{word} version {numbers.get(decision.digest, '?')}")
    for comment in sheet.comments:
        yield Entry(at_ms=comment.at_ms, by=comment.by, did=f"on version {comment.number}", said=comment.body)
    for receipt in sheet.receipts:
        yield Entry(at_ms=receipt.at_ms, by=receipt.by, did="handed in a receipt of its application")
