"""Sentences of a table, below it: a cell shows no more than its first words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import streamlit as st

from offsetwise.console.escaping import markdown
from offsetwise.wording import many

MAX_NOTES: Final = 12


def draw(title: str, said: Iterable[tuple[str, str]]) -> None:
    """Draw each sentence once, the most frequent first, with what it is about and in how many rows it stands."""
    counted = Counter((about, sentence) for about, sentence in said if sentence).most_common()
    if not counted:
        return
    rows = sum(count for _, count in counted)
    with st.container(gap=None):
        st.markdown(f":gray[{title}:]")
        for (about, sentence), count in counted[:MAX_NOTES]:
            name = f"**{markdown(about)}**: " if about else ""
            amount = "" if len(counted) == 1 else f" :gray[({many(count, 'row')} of {rows:,})]"
            st.markdown(f"- {name}{markdown(sentence)}{amount}")
        if len(counted) > MAX_NOTES:
            st.markdown(f":gray[and {len(counted) - MAX_NOTES:,} more, in the table.]")
