"""How far the move from the old logs to their copies has come, in a sentence."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Cutover, CutoverState
from offsetwise.wording import duration, many, part
from offsetwise.wording.verdicts import Tone, Verdict

STATE: Final = {
    CutoverState.OPEN: Verdict(icon="!", word="open", tone=Tone.WRONG),
    CutoverState.DRAINING: Verdict(icon="▲", word="draining", tone=Tone.CAREFUL),
    CutoverState.FROZEN: Verdict(icon="▲", word="frozen", tone=Tone.CAREFUL),
    CutoverState.COPIED: Verdict(icon="✓", word="copied", tone=Tone.RIGHT),
}


def answer(cutover: Cutover) -> str:
    """Say in one sentence what the newest look showed, for the partitions that are furthest behind."""
    rows = [row for row in cutover.partitions if row.state is cutover.state]
    total = len(cutover.partitions)
    which = part(len(rows), total, "partition")
    still = min((row.still_ms for row in cutover.partitions), default=0)
    match cutover.state:
        case CutoverState.OPEN:
            grown = sum(row.grown for row in rows)
            if grown:
                return f"The old cluster is still written to: {which} grew by {many(grown, 'offset')} in total."
            if cutover.looks_taken == 1:
                return "One look does not tell whether the old logs grow."
            return f"Whether the old logs stand still is not known: {rows[0].told}"
        case CutoverState.DRAINING:
            opened = sum(1 for row in rows if row.stable is not None and row.stable != row.end)
            if opened:
                return f"A transaction is open on the old cluster, in {part(opened, total, 'partition')}."
            return f"The old logs have stood still for {duration(still)} of {duration(cutover.still_for_ms)}."
        case CutoverState.FROZEN:
            told = f"The old logs have stood still for {duration(still)}."
            return f"{told} Not every record of {which} is known to be on the new cluster."
        case CutoverState.COPIED:
            return f"Every record of {many(total, 'partition')} of the old cluster is on the new one."
