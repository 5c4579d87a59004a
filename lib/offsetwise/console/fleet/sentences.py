"""The Fleet screen in words: verdicts, times, sizes, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from offsetwise import wording
from offsetwise.errors import (
    CheckpointError,
    LibraryMissingError,
    MissingError,
    NotACheckpointError,
    OutsideRootsError,
    StorageError,
)
from offsetwise.fleet import FleetRow, FleetVerdict
from offsetwise.model import Checkpoint
from offsetwise.sources.spark_checkpoint_rows import FailedCheckpoint
from offsetwise.wording import duration, many, moment, number
from offsetwise.wording.verdicts import Tone, Verdict

VERDICTS: Final = {
    FleetVerdict.UNREADABLE: Verdict(icon="?", word="unreadable", tone=Tone.UNKNOWN),
    FleetVerdict.PROBLEMS: Verdict(icon="!", word="problems", tone=Tone.WRONG),
    FleetVerdict.PENDING: Verdict(icon="◇", word="pending batch", tone=Tone.CAREFUL),
    FleetVerdict.RESTARTABLE: Verdict(icon="✓", word="restartable", tone=Tone.RIGHT),
}

MEANING: Final = {
    FleetVerdict.UNREADABLE: "It gave nothing: the row says why.",
    FleetVerdict.PROBLEMS: "Something in it blocks a restart, or a move to the other cluster.",
    FleetVerdict.PENDING: "A batch was planned and not committed. It runs again on restart.",
    FleetVerdict.RESTARTABLE: "It starts where its newest committed batch ended or, of Flink, where it was taken.",
}


UNREADABLE: Final = {
    error.__name__: words
    for error, words in (
        (NotACheckpointError, "not a checkpoint"),
        (MissingError, "not there"),
        (OutsideRootsError, "outside the allowed roots"),
        (LibraryMissingError, "a library is missing"),
        (StorageError, "the storage fails"),
        (CheckpointError, "no usable checkpoint"),
    )
}
"""Why a checkpoint gave nothing, in words, by the name of the error."""


def age(milliseconds: Any) -> str:
    """Print how long ago something was; in the future when a clock is wrong, which is said and not cut to 0.

    >>> age(8_000), age(43_200_000), age(8_640_000_000), age(-300_000), age(None)
    ('8 s', '12 h', '100 days', '5 min ahead', '?')
    """
    if milliseconds is None or milliseconds is pd.NA:
        return "?"
    shown = duration(abs(int(milliseconds)))
    return f"{shown} ahead" if milliseconds <= -1000 else shown


def size(count: Any) -> str:
    """Print a number of bytes; none at all is a query that keeps no state.

    >>> size(0), size(3_370), size(5_000_000_000), size(None)
    ('none', '3.3 KiB', '4.7 GiB', '?')
    """
    if count is None or count is pd.NA:
        return "?"
    return "none" if count == 0 else wording.size(int(count))


def age_ms(then_ms: int | None, now_ms: int) -> int | None:
    """Give the time since a moment; None where it is not known, or no moment that a calendar has."""
    return None if then_ms is None or moment(then_ms) == "?" else now_ms - then_ms


def topics(row: FleetRow, at_most: int = 3) -> str:
    """Name the topics of a row with their partitions; `?` where damage hides them. Not escaped."""
    if row.partitions is None:
        return "?"
    named = [f"{topic} ({partitions})" for topic, partitions in row.topics]
    rest = len(named) - at_most
    return ", ".join(named[:at_most]) + (f", and {number(rest)} more" if rest > 0 else "")


def copies(row: FleetRow) -> str:
    """Say that others carry the same query id; nothing where none does."""
    return f"▲ {number(row.same_query)} alike" if row.same_query > 1 else ""


def problems(row: FleetRow) -> tuple[str, ...]:
    """Name what is wrong: the codes of its problems; of an unreadable one, why it gave nothing. Not escaped."""
    if isinstance(row.read, FailedCheckpoint):
        return (UNREADABLE.get(row.read.error, "could not be read"),)
    return row.codes


def restart(row: FleetRow) -> str:
    """Say where it restarts, or why that is not known. Not escaped."""
    return row.read.restart if isinstance(row.read, Checkpoint) else row.read.problem


def answer(rows: Sequence[FleetRow]) -> tuple[Tone, str, str]:
    """Say how the fleet stands: tone, a short head, and a sentence or two."""
    count = Counter(row.verdict for row in rows)
    total = many(len(rows), "checkpoint")
    bad = count[FleetVerdict.UNREADABLE] + count[FleetVerdict.PROBLEMS]
    pending = count[FleetVerdict.PENDING]
    alike = sum(row.same_query > 1 for row in rows)
    said = []
    if bad:
        tone, head = Tone.WRONG, f"{_some(bad, rows)} cannot be relied on."
        said.append(
            f"{_have(count[FleetVerdict.PROBLEMS], 'problems that block a restart or a move')}, "
            f"{number(count[FleetVerdict.UNREADABLE])} could not be read."
        )
        if pending:
            said.append(f"A planned batch is not committed in {number(pending)} more.")
    elif pending:
        tone, head = Tone.CAREFUL, f"{_some(pending, rows)} would run a batch again."
        said.append("It was planned and not committed. Best let it commit on the old cluster first.")
    else:
        tone, head = Tone.RIGHT, f"{'The checkpoint' if len(rows) == 1 else f'All {total}'} can be restarted."
        said.append("No planned batch is uncommitted.")
    if alike:
        tone = Tone.CAREFUL if tone is Tone.RIGHT else tone
        said.append(f"{number(alike)} carry a query id that another has too: they are copies.")
    return tone, head, " ".join(said)


def longest(rows: Sequence[FleetRow], now_ms: int) -> str:
    """Print the longest time since a newest batch was planned."""
    return age(max((since for row in rows if (since := age_ms(row.planned_at_ms, now_ms)) is not None), default=None))


def _some(count: int, rows: Sequence[FleetRow]) -> str:
    return "The checkpoint" if len(rows) == 1 else f"{number(count)} of {many(len(rows), 'checkpoint')}"


def _have(count: int, what: str) -> str:
    return f"{number(count)} {'has' if count == 1 else 'have'} {what}"
