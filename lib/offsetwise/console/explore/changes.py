"""The partitions whose offsets change, largest difference first, with both offsets and how the new one is known.

They come before all other numbers of a comparison, because people read them out, compare them and type them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.console.answers import CachedAnswer
from offsetwise.console.widgets import terms
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, new_in_bold
from offsetwise.model import Comparison, PartitionComparison
from offsetwise.position import offset_or_none
from offsetwise.wording import brief, changing, signed, verdicts

SHOWN: Final = 5
"""Rows of this table; the page's full table has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    changed: int
    same: int
    undecided: int

    def __str__(self) -> str:
        not_known = f"{self.undecided:,} not known yet" if self.undecided else ""
        return ", ".join(filter(None, (changing(self.changed, self.same), not_known)))


def changes_of(rows: Sequence[PartitionComparison]) -> tuple[Changes, tuple[PartitionComparison, ...]]:
    """Return how many partitions change their offset, and those with the largest differences."""
    known = [row for row in rows if row.new_offset is not None]
    moved = [row for row in known if row.new_offset != row.old_offset]
    counts = Changes(changed=len(moved), same=len(known) - len(moved), undecided=len(rows) - len(known))
    return counts, tuple(sorted(moved, key=_order)[:SHOWN])


def _order(row: PartitionComparison) -> tuple[int, tuple[int, bool, int]]:
    return -abs(verdicts.shift(row) or 0), verdicts.urgency(row)


def in_markdown(largest: Sequence[PartitionComparison]) -> str:
    numeric = all(offset_or_none(row.new_offset) is not None for row in largest)
    shift = ("| shift ", "|---:") if numeric else ("", "")
    lines = [f"| {terms.said('partition')} | old → new {shift[0]}| known |", f"|:---|:---{shift[1]}|:---|"]
    for row in largest:
        verdict = verdicts.EXACTNESS[row.exactness]
        difference = f"| {signed(verdicts.shift(row))} " if numeric else ""
        lines.append(
            f"| **{markdown(str(row.topic_partition))}** | {markdown(brief(row.old_offset))} → "
            f"{new_in_bold(row.old_offset, row.new_offset)} {difference}| :{verdict.tone.colour}[{verdict}] |"
        )
    return "\n".join(lines)


@cached(16)
def changes(answer: CachedAnswer[Comparison]) -> tuple[Changes, tuple[PartitionComparison, ...]]:
    return changes_of(answer.value.partitions)


def draw(answer: CachedAnswer[Comparison]) -> None:
    counted, largest = changes(answer)
    if not largest:
        st.markdown(f"**{terms.said('No partition changes its position')}** · {counted}")
        return
    more = "" if counted.changed <= SHOWN else f" · the {SHOWN} largest changes"
    st.markdown(f"**{counted}**{more}")
    st.markdown(in_markdown(largest))
