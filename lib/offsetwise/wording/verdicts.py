"""Verdicts as icon, word and tone: never a colour alone, and unknown is never a match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offsetwise.model import (
    Ahead,
    Comparison,
    Exactness,
    Method,
    Outcome,
    PartitionComparison,
    PlannedPosition,
    RawVerdict,
    Severity,
    Summary,
)
from offsetwise.position import OpaquePosition, offset_of
from offsetwise.wording import at_most, many, number


class Tone(StrEnum):
    """The meaning of a colour, which is always shown with an icon and a word."""

    RIGHT = "right"
    WRONG = "wrong"
    CAREFUL = "careful"
    UNKNOWN = "unknown"

    @property
    def colour(self) -> str:
        return {Tone.RIGHT: "green", Tone.WRONG: "red", Tone.CAREFUL: "orange", Tone.UNKNOWN: "gray"}[self]

    @property
    def icon(self) -> str:
        return {Tone.RIGHT: "✓", Tone.WRONG: "!", Tone.CAREFUL: "▲", Tone.UNKNOWN: "?"}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    icon: str
    word: str
    tone: Tone

    def __str__(self) -> str:
        return f"{self.icon} {self.word}"


EXACTNESS: Final = {
    Exactness.EXACT: Verdict(icon="✓", word="exact", tone=Tone.RIGHT),
    Exactness.POSITION_EXACT: Verdict(icon="✓", word="position exact", tone=Tone.RIGHT),
    Exactness.PRESERVED: Verdict(icon="✓", word="preserved", tone=Tone.RIGHT),
    Exactness.BOUNDED: Verdict(icon="≈", word="bounded", tone=Tone.CAREFUL),
    Exactness.CLAIMED: Verdict(icon="?", word="claimed", tone=Tone.UNKNOWN),
    Exactness.UNKNOWN: Verdict(icon="?", word="unknown", tone=Tone.UNKNOWN),
}

MEANING: Final = {
    Exactness.EXACT: "Proven on the records, and everything ahead is on both clusters.",
    Exactness.POSITION_EXACT: "The position is proven on the records; what lies ahead was not examined, or differs.",
    Exactness.PRESERVED: "The link keeps offsets, and records probed along the log agree.",
    Exactness.BOUNDED: "Proven to lie between two offsets; the lower one is used.",
    Exactness.CLAIMED: "A sync, a checkpoint or a timestamp says so; no record confirmed it.",
    Exactness.UNKNOWN: "It is not known yet; the evidence gives the reason.",
}

_ALL_THE_SAME: Final = (
    "The position is proven on the records, and everything ahead is the same on both. Not exact, because the new log "
    "was not read from its start: records of other writers may lie below."
)


def meaning(exactness: Exactness, records: Ahead) -> str:
    if exactness is not Exactness.POSITION_EXACT:
        return MEANING[exactness]
    verdict = ahead(records)
    if verdict.tone is Tone.RIGHT:
        return _ALL_THE_SAME
    if verdict.tone is Tone.UNKNOWN:
        return "The position is proven on the records; what lies ahead was not examined to the end."
    return f"The position is proven on the records; what lies ahead differs: {verdict.word}."


METHOD: Final = {
    Method.CONTENT: "by content",
    Method.PRESERVED: "by preserved offsets",
    Method.MIRROR_CHECKPOINT: "by the mirror's checkpoint",
    Method.MIRROR_SYNC: "by the mirror's sync",
    Method.HEADER: "by the provenance header",
    Method.TIMESTAMP: "by timestamp",
    Method.EARLIEST: "by the log start",
    Method.NONE: "by no method",
}

RAW: Final = {
    RawVerdict.SAME: "same record",
    RawVerdict.LOSS: "skips records",
    RawVerdict.REPLAY: "reads records twice",
    RawVerdict.CONFUSION: "other records",
    RawVerdict.OUT_OF_RANGE: "outside the log",
    RawVerdict.UNKNOWN: "unknown",
}

SEVERITY: Final = {
    Severity.BLOCKS: Verdict(icon="!", word="blocks", tone=Tone.WRONG),
    Severity.WARNS: Verdict(icon="▲", word="warns", tone=Tone.CAREFUL),
    Severity.INFORMS: Verdict(icon="i", word="informs", tone=Tone.UNKNOWN),
}

GATE: Final = {
    Outcome.PASSED: Verdict(icon="✓", word="met", tone=Tone.RIGHT),
    Outcome.FAILED: Verdict(icon="!", word="not met", tone=Tone.WRONG),
    Outcome.UNKNOWN: Verdict(icon="?", word="unknown", tone=Tone.UNKNOWN),
}
"""For the conditions under which a job may start."""


def raw(row: PartitionComparison) -> Verdict:
    """Return the effect of using the old offset unchanged in one partition of the new cluster."""
    if row.is_new:
        return Verdict(icon="+", word="new partition", tone=Tone.UNKNOWN)
    icon, tone = {RawVerdict.SAME: ("✓", Tone.RIGHT), RawVerdict.UNKNOWN: ("?", Tone.UNKNOWN)}.get(
        row.raw.verdict, ("!", Tone.WRONG)
    )
    match row.raw.verdict:
        case RawVerdict.SAME:
            word = "same record"
        case RawVerdict.LOSS:
            word = _counted("skips", row.raw.skip, proven=row.exactness.proven)
        case RawVerdict.REPLAY:
            word = _counted("replays", row.raw.replay, proven=row.exactness.proven)
        case RawVerdict.CONFUSION:
            word = "other records"
        case RawVerdict.OUT_OF_RANGE:
            word = _outside(row)
        case RawVerdict.UNKNOWN:
            word = "of another stream" if of_another_stream(row) else "unknown"
    return Verdict(icon=icon, word=word, tone=tone)


def of_another_stream(row: PartitionComparison) -> bool:
    return isinstance(row.old_offset, OpaquePosition) and bool(row.old_offset.of)


def rank(row: PartitionComparison) -> int:
    """Return the priority of a partition: 0 goes wrong, 1 unknown, 2 bounded or new, 3 right."""
    if row.is_new:
        return 2
    if row.raw.verdict is RawVerdict.UNKNOWN:
        return 1
    if row.raw.verdict is not RawVerdict.SAME:
        return 0
    return 3 if row.exactness.proven else 2


def urgency(row: PartitionComparison) -> tuple[int, bool, int]:
    """Return a sort key, worst first: partitions that go wrong, proven ones first, then those with the highest cost."""
    return rank(row), not row.exactness.proven, -(row.raw.skip or row.raw.replay or 0)


def shift(row: PartitionComparison | PlannedPosition) -> int | None:
    """Return new offset minus old offset; None if either is unknown, or no integer."""
    return None if row.new_offset is None or row.old_offset is None else row.new_offset - row.old_offset


def ahead(records: Ahead) -> Verdict:
    if not records.examined:
        return Verdict(icon="?", word="not read", tone=Tone.UNKNOWN)
    parts = [
        f"{number(count)} {word}"
        for count, word in (
            (records.missing, "missing"),
            (records.duplicated, "duplicated"),
            (records.foreign, "foreign"),
        )
        if count != 0
    ]
    if not parts:
        return Verdict(icon="✓", word="same", tone=Tone.RIGHT)
    return Verdict(icon="!", word=", ".join(parts), tone=Tone.CAREFUL)


def findings(severities: Iterable[Severity]) -> str:
    """Count findings by severity, the worst first.

    >>> findings([Severity.BLOCKS, Severity.WARNS]), findings([])
    ('! 1  ▲ 1', '')
    """
    counted = Counter(severities)
    return "  ".join(f"{SEVERITY[severity].icon} {counted[severity]}" for severity in Severity if counted[severity])


def worst(severities: Iterable[Severity]) -> Tone:
    present = {*severities}
    return next((SEVERITY[severity].tone for severity in Severity if severity in present), Tone.UNKNOWN)


def consequence(row: PartitionComparison) -> str:
    number_, skip, replay = number(row.old_offset), row.raw.skip, row.raw.replay
    most = "" if row.exactness.proven else "up to "
    match row.raw.verdict:
        case RawVerdict.SAME:
            text = f"{number_} is the right position on the new cluster too: nothing is skipped, nothing is read twice."
        case RawVerdict.LOSS:
            cost = "records that the job has not read" if skip is None else f"{most}{many(skip, 'unread record')}"
            text = f"Reading would begin behind {cost}. They would never be read, and no error would say so."
        case RawVerdict.REPLAY:
            cost = "records" if replay is None else f"{most}{many(replay, 'record')}"
            text = f"Reading would begin too early: {cost} that the job has read already would be read again."
        case RawVerdict.CONFUSION:
            text = "There is another record at this number: the job's state would meet records it does not belong to."
        case RawVerdict.OUT_OF_RANGE:
            text = (
                f"{number_} is {_outside(row)} of the new log ({number(row.new.log_start)} to {number(row.new.hw)}). "
                "The job would stop with an error or, depending on its settings, jump to another offset without one."
            )
        case RawVerdict.UNKNOWN if of_another_stream(row):
            text = (
                "The position is of another stream and names no record of this one. What the job does with it depends "
                "on its engine: it stops, retries forever, or goes on reading the old stream."
            )
        case RawVerdict.UNKNOWN:
            text = "Unknown, because the position on the new cluster is not known."
    return text


def mirror_maker(row: PartitionComparison) -> str:
    answer_ = row.mirror_maker
    if answer_ is None:
        return "It has no answer for this position."
    if row.new_offset is None:
        return f"{number(answer_)}, which no record confirms."
    if answer_ == row.new_offset:
        return f"{number(answer_)}, the same position."
    away = many(abs(answer_ - offset_of(row.new_offset)), "offset")
    if answer_ < row.new_offset:
        return f"{number(answer_)}, which is {away} earlier: safe, but those records would be read again."
    return f"{number(answer_)}, which is {away} too late."


def answer(comparison: Comparison) -> tuple[Tone, str, str]:
    """Describe what would happen if nobody acted: tone, headline, and the rest of the sentence.

    Sums are lower bounds, so they say "at least".
    """
    total, wrong = comparison.summary.partitions, comparison.summary.raw_wrong
    unresolved = sum(
        1 for row in comparison.partitions if row.raw.verdict is RawVerdict.UNKNOWN and row.old_offset is not None
    )
    if total == 0:
        return Tone.UNKNOWN, "There is no partition to compare.", "Neither the positions nor the clusters name one."
    tail = f" For {many(unresolved, 'more partition')} this is not known yet." if unresolved and wrong else ""
    if wrong:
        confused = sum(1 for row in comparison.partitions if row.raw.verdict is RawVerdict.CONFUSION)
        costs = ", ".join(_costs(comparison.summary, confused)) or "the cost was not counted"
        head = f"{wrong:,} of {many(total, 'partition')} would go wrong"
        return Tone.WRONG, head, f"if the job restarted on the new cluster with its current offsets: {costs}.{tail}"
    known = [row.new_offset is not None for row in comparison.partitions]
    if unresolved and all(map(of_another_stream, comparison.partitions)):
        share = f"{sum(known):,} of {many(total, 'partition')}"
        rest = f"and name no record of the new one. The position there is known for {share}."
        return Tone.CAREFUL, "The positions are of another stream", rest
    if unresolved:
        head = f"For {unresolved:,} of {many(total, 'partition')} it is not known"
        return (
            Tone.CAREFUL,
            head,
            "what the job's current offsets would do on the new cluster. None is known to go wrong.",
        )
    if total == 1:
        return Tone.RIGHT, "The job's current offset is right", "on the new cluster too."
    return Tone.RIGHT, f"The current offsets are right for all {total:,} partitions", "on the new cluster too."


def at_new_offsets(comparison: Comparison) -> str:
    counted = [
        (row.replay, row.skip) for row in comparison.partitions if row.replay is not None and row.skip is not None
    ]
    total = len(comparison.partitions)
    if not counted:
        return "What a restart at the new offsets would read twice or never is not counted for any partition."
    replay, skip = (sum(numbers) for numbers in zip(*counted, strict=True))
    of = "" if len(counted) == total else f", in the {len(counted):,} of {many(total, 'partition')} that were counted"
    if not replay and not skip:
        return f"At the new offsets no record is skipped, and none is read twice{of}."
    return f"At the new offsets, records read twice: {at_most(replay)}; never read: {at_most(skip)}{of}."


def _costs(summary: Summary, confused: int) -> list[str]:
    return [
        text
        for count, text in (
            (summary.raw_skip, f"at least {many(summary.raw_skip, 'record')} never read"),
            (summary.raw_replay, f"at least {many(summary.raw_replay, 'record')} read twice"),
            (summary.raw_out_of_range, f"{many(summary.raw_out_of_range, 'partition')} outside the log"),
            (confused, f"{many(confused, 'partition')} reading other records"),
        )
        if count
    ]


def _counted(verb: str, count: int | None, *, proven: bool) -> str:
    if count is None:
        return f"{verb} records"
    return f"{verb} {count:,}" if proven else f"{verb} ≤ {count:,}"


def _outside(row: PartitionComparison) -> str:
    if row.old_offset is None:
        return "outside the log"
    if row.new.hw is not None and row.old_offset > row.new.hw:
        return _by(row.old_offset - row.new.hw, "past the end")
    if row.new.log_start is not None and row.old_offset < row.new.log_start:
        return _by(row.new.log_start - row.old_offset, "before the start")
    return "outside the log"


def _by(distance: int | None, where: str) -> str:
    return where if distance is None else f"{distance:,} {where}"
