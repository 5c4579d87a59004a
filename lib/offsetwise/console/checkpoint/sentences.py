"""The Checkpoint screen in words. What these functions give is plain text: the caller escapes it."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from offsetwise.batches import History, Moment, Phase, Standing
from offsetwise.findings.codes import describe
from offsetwise.model import Checkpoint, Problem, Severity
from offsetwise.sources.spark_reading import CheckpointReading
from offsetwise.wording import many, number
from offsetwise.wording.verdicts import Tone

YOUNG_MS: Final = 120_000
"""A log written this shortly before the reading is taken as a sign of a running query."""
COPIED_MS: Final = 600_000
"""Spark writes `offsets/N` when it plans batch N. A file much younger than its plan was written by a copy."""
NAMED_LANES: Final = 3

HOW_TOLD: Final = (
    "Told by the times of the files in offsets/ and commits/ and by what changed between two readings. Nothing locks "
    "a checkpoint: a query that waits for data looks like one that was stopped."
)

_TONES: Final = {Severity.BLOCKS: Tone.WRONG, Severity.WARNS: Tone.CAREFUL, Severity.INFORMS: Tone.UNKNOWN}
_TITLES: Final = {
    "PENDING_BATCH": "Planned: a batch is not committed",
    "CHECKPOINT_POLLUTED": "Polluted: offsets of another log",
    "CHECKPOINT_DAMAGED": "Damaged",
    "READER_SUSPECTED": "Running: a query seems to write to it",
    "GAP": "Gap: batches without files",
}


def tone(problem: Problem) -> Tone:
    """Give how serious a problem is."""
    return _TONES[describe(problem.code).severity]


def title(problem: Problem) -> str:
    """Name a problem in a few words."""
    return _TITLES.get(problem.code, describe(problem.code).title)


def beside_restart(problem: Problem) -> str:
    """Give what a problem says beyond the restart sentence, which stands above it."""
    return "The sink may hold part of the batch." if problem.code == "PENDING_BATCH" else problem.message


def restart_tone(checkpoint: Checkpoint) -> Tone:
    """Give the tone of the restart sentence: that of the most serious problem."""
    tones = {tone(problem) for problem in checkpoint.problems}
    worst = next((one for one in (Tone.WRONG, Tone.CAREFUL) if one in tones), None)
    if worst is not None:
        return worst
    return Tone.RIGHT if any(source.positions for source in checkpoint.sources) else Tone.UNKNOWN


def seems_running(reading: CheckpointReading) -> str | None:
    """Say why a query seems to run on it, from the times of its files alone; None if nothing points to it."""
    newest = reading.newest
    if newest is None or is_copy(reading):
        return None
    age = reading.read_at_ms - newest.modified_ms
    if age >= YOUNG_MS:
        return None
    when = f"{age / 1000:.0f} s before this reading" if age >= 0 else "in the future by this machine's clock"
    return f"{newest.path} was written {when}."


def is_copy(reading: CheckpointReading) -> bool:
    """Whether its files were copied: then their times tell nothing about a query."""
    planned = next((one for one in reading.checkpoint.batches if one.id == reading.checkpoint.last_planned_batch), None)
    if reading.newest_plan is None or planned is None or planned.timestamp_ms is None:
        return False
    return reading.newest_plan.modified_ms - planned.timestamp_ms > COPIED_MS


def moved_on(before: Checkpoint, now: Checkpoint) -> str | None:
    """Say what changed between two readings; None if nothing did."""
    changes = [
        f"the newest {what} batch went from {number(old)} to {number(new)}"
        for what, old, new in (
            ("planned", before.last_planned_batch, now.last_planned_batch),
            ("committed", before.last_committed_batch, now.last_committed_batch),
        )
        if old != new
    ]
    return f"Between two readings {' and '.join(changes)}." if changes else None


def holds(history: History, moment: Moment) -> str:
    """Say what the checkpoint holds at a moment."""
    if moment.row is None:
        return "The initial offsets are recorded in sources/, and no batch is planned."
    batch = history.batches[moment.row]
    if moment.phase is Phase.COMMITTED:
        return f"offsets/{batch.id} and commits/{batch.id} stand: the sink finished batch {number(batch.id)}."
    return (
        f"offsets/{batch.id} stands, commits/{batch.id} does not: batch {number(batch.id)} was planned, and may be "
        "running."
    )


def fails(history: History, moment: Moment, at: Standing) -> tuple[Tone, str, str]:
    """Say what a failure right then would read again: tone, the answer, and its details."""
    if moment.row is None:
        return Tone.RIGHT, "A failure right then reads nothing twice.", "Batch 0 starts at the initial offsets."
    batch = history.batches[moment.row].id
    if moment.phase is Phase.COMMITTED:
        doubt = _unfiled(history, moment.row)
        if doubt is not None:
            return Tone.CAREFUL, "By these files, a failure right then reads nothing twice.", doubt
        follows = f"Batch {number(batch + 1)} starts where batch {number(batch)} ended."
        return Tone.RIGHT, "A failure right then reads nothing twice.", follows
    again = at.again
    if again.back:
        return (
            Tone.WRONG,
            f"The plan of batch {number(batch)} goes back in {many(again.back, 'partition')}.",
            "Its numbers come from another log; what would be read cannot be told from them.",
        )
    if not again.at_all:
        why = (
            "Its offset file cannot be read."
            if not at.end_known.any()
            else "Where it began is purged: only its end is retained."
        )
        return Tone.UNKNOWN, f"How much of batch {number(batch)} would be read again is not known.", why
    least = "at least " if again.unknown else ""
    more = f" Where {many(again.unknown, 'more partition')} began is not recorded." if again.unknown else ""
    if not again.records:
        return (
            Tone.RIGHT,
            f"A failure right then runs batch {number(batch)} again, which reads {least}no record.",
            f"Its plan ends where the batch before it ended.{more}",
        )
    return (
        Tone.CAREFUL,
        f"A failure right then reads {least}{many(again.records, 'record')} again.",
        f"Batch {number(batch)} runs again: {_spans(history, at)}. The sink may hold part of them already.{more}",
    )


def taken(history: History, moment: Moment, at: Standing, lanes: slice) -> str:
    """Say in one sentence what the picture of a step shows."""
    counted = many(int(at.start_known.sum()), "partition")
    again = many(at.again.records, "record")
    return f"{moment.name(history).capitalize()}: {counted} of {len(history.lanes[lanes]):,}, {again} to read again."


def again_on_restart(checkpoint: Checkpoint) -> int | None:
    """Count what a restart now would read again; None where that cannot be told."""
    if checkpoint.reruns_batch is None:
        if checkpoint.last_committed_batch is not None:
            return 0
        return None if checkpoint.batches or restart_tone(checkpoint) is Tone.WRONG else 0
    positions = [position for source in checkpoint.sources for position in source.positions]
    steps = [one.planned_offset - one.offset for one in positions if one.planned_offset is not None]
    return None if not steps or min(steps) < 0 else sum(steps)


def _unfiled(history: History, row: int) -> str | None:
    """Say which batches may have run after a commit without leaving a file; None where nothing points to any."""
    batch = history.batches[row].id
    after = history.batches[row + 1].id if row + 1 < len(history.batches) else None
    if after is not None and after > batch + 1:
        return (
            f"But batches {number(batch + 1)} to {number(after - 1)} left no files, as asynchronous progress tracking "
            f"does: a failure while they ran reads everything since batch {number(batch)} again."
        )
    if after is None and any(later.id - one.id > 1 for one, later in pairwise(history.batches)):
        return (
            "But batch ids are missing before it, as asynchronous progress tracking leaves them: batches after it may "
            "have run without a file yet, and would be read again."
        )
    return None


def _spans(history: History, at: Standing) -> str:
    """Name the partitions with most to read again; `at` covers all lanes."""
    known = at.start_known & at.end_known
    moved = [
        (int(end) - int(start), lane, int(start), int(end))
        for lane, start, end, ok in zip(history.lanes, at.start, at.end, known, strict=True)
        if ok and end > start
    ]
    moved.sort(key=lambda one: (-one[0], one[1]))
    named = [
        f"{lane.topic}-{lane.partition} from {number(start)} to {number(end)}"
        for _, lane, start, end in moved[:NAMED_LANES]
    ]
    if len(moved) > NAMED_LANES:
        named.append(f"and {many(len(moved) - NAMED_LANES, 'more partition')}")
    return ", ".join(named)
