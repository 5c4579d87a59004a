from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from offsetwise.model import AnyPosition, Candidate, Exactness, PartitionComparison
from offsetwise.translation.windows import Cut, Reason
from offsetwise.wording import many


class ReadingWay(StrEnum):
    CLIENT = "client"
    """Narrow windows by librdkafka, one client for many partitions in a Spark task."""
    SOURCE = "source"
    """By Spark's own Kafka source."""


def read_by(ways: Collection[ReadingWay]) -> str:
    """Describe how the records behind a proof were read; empty if none was.

    >>> read_by({ReadingWay.SOURCE})
    "The records were read by Spark's own Kafka source."
    """
    if {*ways} == {ReadingWay.CLIENT}:
        return "The records were read by librdkafka in Spark's tasks."
    if ReadingWay.CLIENT in ways:
        return "The records were read by librdkafka in Spark's tasks, and some by Spark's own Kafka source."
    return "The records were read by Spark's own Kafka source." if ways else ""


def explain(
    row: PartitionComparison, offset: AnyPosition, cut: Cut, *, made_of: str, candidates: tuple[Candidate, ...]
) -> tuple[str, tuple[str, ...]]:
    """Return the reason in one sentence, and the statements that lead to it.

    MirrorMaker's answer and the effect of the unchanged offset have separate fields.
    """
    statements = [_alignment(cut, made_of), *_ahead(row), *_claims(row, candidates)]
    return _reason(row, offset, cut), tuple(statement for statement in statements if statement)


def _reason(row: PartitionComparison, offset: AnyPosition, cut: Cut) -> str:  # noqa: PLR0911 - one sentence for each reason
    where = str(row.new_topic_partition)
    if row.exactness is Exactness.CLAIMED:
        return f"Too few records could be paired to prove a position; the offset is a claim of {row.method}."
    match cut.reason:
        case Reason.PROVEN if cut.caught_up:
            return f"The job has read everything; {cut.offset:,} is right behind the copy of the last record it read."
        case Reason.PROVEN:
            return f"At {cut.offset:,} no unread record is skipped and no read one repeated, counted on the records."
        case Reason.IDENTICAL_RECORDS:
            return (
                f"Identical records lie on both sides of {offset:,} and their copies on {where} do not add up, so the "
                f"position is only known to lie {_range(cut)}."
            )
        case Reason.REPLAY_UNAVOIDABLE:
            return f"{where} holds second copies: every position that skips nothing repeats {_repeated(cut)}."
        case Reason.NATIVE_BELOW:
            return (
                f"{cut.foreign_below:,} records below the position on {where} match no record of the old log: others "
                "may have written them, and the job would never read them."
            )
        case Reason.OLD_LOG_TRIMMED:
            return (
                f"The job has read nothing that the old log still holds, and {where} holds older records, which it may "
                "or may not have read."
            )
        case Reason.OLD_RECORDS_GONE:
            return (
                f"{where} holds records between the copies of read and of unread ones that the old log does not hold: "
                f"it has lost records before {offset:,}, which the job may have read."
            )
        case Reason.COPIES_BELOW:
            return (
                f"Copies of unread records may lie below the position that fits on {where}, as where a mirror went "
                f"back: no position above {cut.lo:,} is sure to skip none."
            )
        case Reason.AHEAD_NOT_READ:
            return (
                f"One position fits the records that were read on {where}. But what lies ahead is more than the "
                "budget, and no timestamp of a producer tells where else copies of unread records may lie: no position "
                f"above {cut.lo:,} is sure to skip none."
            )
        case Reason.COPIES_TO_COME:
            return (
                f"The last copies on {where} do not show that the mirror has come to the end of the old log: "
                f"{_repeated(cut)} that the job has read may be copied again to {cut.offset:,} or above."
            )
        case _:
            return _reason_in_logs(row, offset, cut)


def _reason_in_logs(row: PartitionComparison, offset: AnyPosition, cut: Cut) -> str:
    where = str(row.new_topic_partition)
    match cut.reason:
        case Reason.NOT_YET_MIRRORED if row.exactness is Exactness.BOUNDED:
            return (
                f"The mirror has begun again on {where} and has not come to the end of the old log: once it has, "
                f"{_repeated(cut)} at or above {cut.offset:,} are second copies."
            )
        case Reason.NOT_YET_MIRRORED:
            return f"The copy of the last record the job read is not on {where} yet, or not behind those before it."
        case Reason.NO_COMMON_RECORD:
            return f"No record read on {where} is a copy of one read on the old log."
        case Reason.EMPTY_LOGS:
            return "Neither log holds a record to tell a position from."
        case Reason.EMPTY_PARTITION if row.exactness is Exactness.EXACT:
            phrase = (
                "holds none either"
                if not cut.new_records
                else f"holds {many(cut.new_records, 'record')}, no more than it ever did and all older than the batch "
                "that ended there, so copies of what was read"
            )
            return (
                f"The old log holds no record at or above {offset:,} and none below, and {where} {phrase}: reading "
                f"goes on at the end of the new log, {cut.offset:,}."
            )
        case Reason.EMPTY_PARTITION:
            return (
                f"The old log holds no record to compare with {where}, of whose records nothing tells whether the job "
                f"has read them: the position lies in [{cut.lo:,}, {cut.hi:,}]."
            )
        case Reason.LOG_MOVED:
            return (
                "Nothing says that retention kept what was read: twice, a log start moved past records while they were "
                "read, or the broker did not tell it again."
            )
        case Reason.LOOKS_DIFFER:
            return (
                f"Two looks at a log disagree: {cut.looks}. A log start never goes back and a log does not become "
                "shorter, unless its topic was created again or a leader without its last records took over. Compare "
                "again; if they still disagree, check the broker that leads it."
            )
        case _:
            return (
                f"Only {cut.anchors_before} records before and {cut.anchors_after} after the position could be paired "
                "within the budget, too few to prove a position."
            )


def _range(cut: Cut) -> str:
    return f"at or above {cut.lo:,}" if cut.hi is None else f"in [{cut.lo:,}, {cut.hi:,}]"


def _repeated(cut: Cut) -> str:
    return "records" if cut.replay is None else f"up to {many(cut.replay, 'record')}"


def _alignment(cut: Cut, made_of: str) -> str:
    if not cut.anchors_before and not cut.anchors_after:
        return ""
    return (
        f"{cut.anchors_before:,} unique records before and {cut.anchors_after:,} after the position align in order; "
        f"{made_of} are equal."
    )


def _ahead(row: PartitionComparison) -> list[str]:
    if row.exactness not in (Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.BOUNDED):
        return []
    ahead = row.ahead
    if not ahead.examined:
        return ["What lies further ahead was not examined."]
    differences = [
        f"{count:,} {word}"
        for count, word in (
            (ahead.missing, "missing on the new cluster"),
            (ahead.duplicated, "there more than once"),
            (ahead.foreign, "of unknown origin"),
        )
        if count
    ]
    if not differences and None in (ahead.missing, ahead.duplicated):
        return ["Everything ahead was read on both clusters; whether copies are still to come, it does not show."]
    if not differences:
        return ["Everything ahead was read on both clusters and is the same."]
    return [f"Ahead, read on both clusters to the end: {', '.join(differences)}."]


def _width(candidate: Candidate) -> float:
    if candidate.lo is None or candidate.hi is None or (width := candidate.hi - candidate.lo) is None:
        return float("inf")
    return width


def _claims(row: PartitionComparison, candidates: tuple[Candidate, ...]) -> list[str]:
    brackets = [
        candidate
        for candidate in candidates
        if candidate.lo is not None and candidate.hi is not None and candidate.lo < candidate.hi
    ]
    if not brackets or row.new_offset is None or not row.exactness.proven:
        return []
    narrowest = min(brackets, key=_width)
    lo, hi = narrowest.lo, narrowest.hi
    if lo is None or hi is None:
        return []
    word = "contains it" if lo <= row.new_offset <= hi else "does not contain it: the records decide"
    return [f"The narrowest bracket anybody claims, [{lo:,}, {hi:,}] by {narrowest.method}, {word}."]
