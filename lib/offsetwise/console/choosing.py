"""Selections and filters, kept in the URL: a link shows what the sender saw, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.console import verdicts, wording
from offsetwise.console.desk import Desk, Offered, Subject
from offsetwise.model import PartitionComparison

PAGE_ROWS: Final = 250
"""Rows sent to the browser at once. Of 10,000 a filter would send 1.5 MB again, of 500 more than 200 KB."""

WORST_FIRST: Final = "Worst first"
BY_TOPIC: Final = "By topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which partitions are shown, and in which order. An empty tuple keeps all."""

    topics: tuple[str, ...] = ()
    unedited: tuple[str, ...] = ()
    exactness: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    order: str = WORST_FIRST

    def apply(self, rows: Sequence[PartitionComparison]) -> tuple[PartitionComparison, ...]:
        """Give the rows that pass, in the chosen order."""
        kept = [
            row
            for row in rows
            if (not self.topics or row.topic in self.topics)
            and (not self.unedited or verdicts.RAW[row.raw.verdict] in self.unedited)
            and (not self.exactness or verdicts.EXACTNESS[row.exactness].word in self.exactness)
            and (not self.findings or not set(self.findings).isdisjoint(row.findings))
        ]
        kept.sort(key=lambda row: (row.topic, row.partition, row.source))
        if self.order == WORST_FIRST:
            kept.sort(key=verdicts.urgency)
        return tuple(kept)


def migration_and_subject(desk: Desk) -> tuple[Offered, Subject | None]:
    """Let the person pick a migration and one of its checkpoints or groups, in the sidebar."""
    names = {one.name: one for one in desk.offered}
    with st.sidebar:
        chosen = names[
            st.selectbox("Migration", list(names), key="migration", bind="query-params", format_func=wording.plain)
        ]
        subjects = {str(one): one for one in chosen.subjects}
        if not subjects:
            return chosen, None
        of = st.selectbox("Positions of", list(subjects), key="of", bind="query-params", format_func=wording.plain)
    return chosen, subjects[of]


def filters(topics: Sequence[str], codes: Sequence[str]) -> Filters:
    """Draw the filters of the partition table."""
    words = list(dict.fromkeys(verdict.word for verdict in verdicts.EXACTNESS.values()))
    with st.container(horizontal=True):
        return Filters(
            topics=_several("Topic", "topic", list(topics)),
            unedited=_several("If unedited", "unedited", list(verdicts.RAW.values())),
            exactness=_several("Exactness", "exactness", words),
            findings=_several("Finding", "finding", list(codes)),
            order=st.selectbox("Order", [WORST_FIRST, BY_TOPIC], key="order", bind="query-params"),
        )


def rows_page(count: int) -> slice:
    """Let the person leaf through more rows than are sent at once."""
    if count <= PAGE_ROWS:
        return slice(0, count)
    starts = {f"{first + 1}–{min(first + PAGE_ROWS, count)}": first for first in range(0, count, PAGE_ROWS)}
    chosen = starts[st.selectbox("Rows", list(starts), key="rows", bind="query-params", width=200)]
    return slice(chosen, chosen + PAGE_ROWS)


def row_id(row: PartitionComparison) -> str:
    """Name a row in the URL."""
    return f"{row.topic}-{row.partition}" if row.source == "0" else f"{row.topic}-{row.partition}@{row.source}"


def _several(label: str, key: str, options: list[str]) -> tuple[str, ...]:
    return tuple(
        st.multiselect(label, options, key=key, bind="query-params", placeholder="all", format_func=wording.plain)
    )
