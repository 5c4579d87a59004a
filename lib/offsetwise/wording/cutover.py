from __future__ import annotations

from typing import Final

from offsetwise.model import Cutover, CutoverPartition, CutoverRequirement, CutoverState
from offsetwise.wording import duration, many, part
from offsetwise.wording.verdicts import Tone, Verdict

STATE: Final = {
    CutoverState.OPEN: Verdict(icon="!", word="open", tone=Tone.WRONG),
    CutoverState.DRAINING: Verdict(icon="▲", word="draining", tone=Tone.CAREFUL),
    CutoverState.FROZEN: Verdict(icon="▲", word="frozen", tone=Tone.CAREFUL),
    CutoverState.COPIED: Verdict(icon="✓", word="copied", tone=Tone.RIGHT),
}


_NAMED: Final = 3
"""How many producers a sentence lists."""


def required(requirement: CutoverRequirement) -> str:
    """Return a plan's required state of the cutover, as a clause.

    >>> required(CutoverRequirement(states=("frozen",), still_for_ms=90_000))
    'the logs of its topics on the old cluster have stood still for 1 min 30 s'
    """
    still = f"the logs of its topics on the old cluster have stood still for {duration(requirement.still_for_ms)}"
    copied = requirement.goal is CutoverState.COPIED
    return f"{still}, and every record of them is on the new cluster" if copied else still


def producer_ids(row: CutoverPartition) -> str:
    """Return the ids of a partition's producers, the last to write first; empty if unknown."""
    more = f" and {len(row.writers) - _NAMED:,} more" if len(row.writers) > _NAMED else ""
    return ", ".join(f"{writer.producer_id:,}" for writer in row.writers[:_NAMED]) + more


def producers(row: CutoverPartition) -> str:
    ids = producer_ids(row)
    return f"producer {ids}" if len(row.writers) == 1 else f"producers {ids}, the last to write first"


def furthest_behind_first(cutover: Cutover) -> tuple[CutoverPartition, ...]:
    """Return the partitions, furthest behind first; within one state those that grew most first."""
    order = [*CutoverState]
    return tuple(
        sorted(
            cutover.partitions,
            key=lambda row: (order.index(row.state), -row.grown, row.still_ms, row.topic, row.partition),
        )
    )


def answer(cutover: Cutover) -> str:
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
            message = f"The old logs have stood still for {duration(still)}."
            return f"{message} Not every record of {which} is known to be on the new cluster."
        case CutoverState.COPIED:
            return f"Every record of {many(total, 'partition')} of the old cluster is on the new one."
