"""The translated place: whether it can be used, and what using it costs."""

from __future__ import annotations

from offsetwise.findings.case import Case
from offsetwise.findings.codes import Code
from offsetwise.findings.sentence import about
from offsetwise.model import Exactness, Finding, IsolationLevel, RawVerdict
from offsetwise.wording import many


def untranslated(case: Case) -> Finding | None:
    """Nobody can prove where the position, or the pending batch's end, lies on the new cluster."""
    row = case.row
    if row.old_offset is None:
        return None
    if row.exactness in (Exactness.UNKNOWN, Exactness.CLAIMED):
        word = "has no known place" if row.new_offset is None else f"is only claimed to be {row.new_offset:,}"
        return about(
            row, Code.UNTRANSLATED, f"{row.old_offset:,} {word} on the new cluster: {_clause(row.evidence.reason)}"
        )
    lacking = next((point for point in row.restart if point.new is None), None)
    if lacking is None:
        return None
    batch = "the restart" if lacking.batch is None else f"batch {lacking.batch}"
    return about(row, Code.UNTRANSLATED, f"{lacking.old:,}, an end of {batch}, has no known place on the new cluster.")


def not_yet_mirrored(case: Case) -> Finding | None:
    """The mirror has not copied up to the position yet."""
    row, end = case.row, case.row.new.hw
    if row.old_offset is None:
        return None
    points = [point.new for point in row.restart if point.new is not None]
    furthest = max([*points, *(() if row.new_offset is None else (row.new_offset,))], default=None)
    if end is not None and furthest is not None and furthest > end:
        return about(
            row,
            Code.NOT_YET_MIRRORED,
            f"The place is {furthest:,}, {many(furthest - end, 'offset')} past the end of the new log ({end:,}).",
        )
    if Code.NOT_YET_MIRRORED.value not in case.reasons:
        return None
    where = "" if end is None else f", which ends at {end:,}"
    return about(
        row,
        Code.NOT_YET_MIRRORED,
        f"The last record read before {row.old_offset:,} has no copy on the new log{where}.",
    )


def below_log_start(case: Case) -> Finding | None:
    """A position, old or translated, lies below a log start: records are gone."""
    row = case.row
    told = []
    if row.old_offset is not None and row.old.log_start is not None and row.old_offset < row.old.log_start:
        told.append(
            f"{row.old_offset:,} lies below the old log's start ({row.old.log_start:,}): up to "
            f"{many(row.old.log_start - row.old_offset, 'record')} that the job has not read may be gone there"
        )
    start = row.new.log_start
    if start is not None:
        if row.new_offset is not None and row.new_offset < start:
            told.append(
                f"the place, {row.new_offset:,}, lies below the new log's start ({start:,}): up to "
                f"{many(start - row.new_offset, 'record')} may be gone there"
            )
        elif row.old_offset is not None and row.old_offset < start and row.raw.verdict is RawVerdict.OUT_OF_RANGE:
            told.append(
                f"the number {row.old_offset:,} as it is lies {many(start - row.old_offset, 'offset')} below the new "
                f"log's start ({start:,})"
            )
    return about(row, Code.BELOW_LOG_START, _sentence(told)) if told else None


def native_below(case: Case) -> Finding | None:
    """Records that no source record explains lie below the place."""
    row = case.row
    if not row.foreign_below:
        return None
    verb = "lies" if row.foreign_below == 1 else "lie"
    aborted = (
        f"; {many(case.aborted_visible, 'record')} of the new log are copies of aborted ones"
        if case.aborted_visible
        else ""
    )
    return about(
        row,
        Code.NATIVE_BELOW,
        f"{many(row.foreign_below, 'record')} that no record of the old log explains {verb} among the copies of what "
        f"the job has read: resuming behind them would never read them{aborted}.",
    )


def replay_not_tolerated(case: Case) -> Finding | None:
    """The place repeats records, and the job is not said to tolerate that."""
    if case.job.tolerates_replay or not _repeats(case):
        return None
    kept = " and keeps state, which would count them twice" if case.job.stateful else ""
    return about(
        case.row,
        Code.REPLAY_NOT_TOLERATED,
        f"{_repeated(case)}, and the job is not stated to tolerate that{kept}.",
    )


def replay(case: Case) -> Finding | None:
    """The place, or the old number as it is, repeats records."""
    row = case.row
    told = []
    if case.job.tolerates_replay and _repeats(case):
        told.append(_repeated(case))
    if row.raw.verdict is RawVerdict.REPLAY and row.old_offset is not None:
        again = "records" if row.raw.replay is None else many(row.raw.replay, "record")
        told.append(f"reusing {row.old_offset:,} on the new cluster would read {again} again")
    return about(row, Code.REPLAY, _sentence(told)) if told else None


def new_partition(case: Case) -> Finding | None:
    """The job has no position for a partition that the new topic has."""
    row = case.row
    if row.old_offset is not None:
        return None
    start = "its start" if row.new.log_start is None else f"its start, {row.new.log_start:,}"
    return about(
        row,
        Code.NEW_PARTITION,
        f"The job has no position for {row.new_topic}-{row.partition}; it would begin at {start}.",
    )


def schema_ids_masked(case: Case) -> Finding | None:
    """Records were found equal only after their schema registry ids were set aside."""
    pairs = case.row.evidence.schema_ids
    if not pairs:
        return None
    shown = ", ".join(f"{old} → {new}" for old, new in pairs[:3]) + (", …" if len(pairs) > 3 else "")
    count = "1 schema id differs" if len(pairs) == 1 else f"{len(pairs)} schema ids differ"
    return about(
        case.row,
        Code.SCHEMA_IDS_MASKED,
        f"{count} between the clusters ({shown}); the records are equal in every other byte.",
    )


def pending_batch_differs(case: Case) -> Finding | None:
    """The batch that runs again holds other records on the new cluster."""
    row = case.row
    if case.pending_equal is not False:
        return None
    ends = " to ".join(f"{point.old:,}" for point in row.restart)
    return about(
        row,
        Code.PENDING_BATCH_DIFFERS,
        f"The pending batch, {ends} on the old cluster, holds other records between its translated ends: the sink may "
        "already hold the first ones under this batch id.",
    )


def isolation_differs(case: Case) -> Finding | None:
    """A read_committed job cannot stand past the last stable offset."""
    row = case.row
    if case.job.isolation is not IsolationLevel.READ_COMMITTED or row.old_offset is None or row.old.lso is None:
        return None
    if row.old_offset <= row.old.lso or row.old.hw is None or row.old_offset > row.old.hw:
        return None
    return about(
        row,
        Code.ISOLATION_DIFFERS,
        f"The job is said to read read_committed, but stands at {row.old_offset:,}, "
        f"{many(row.old_offset - row.old.lso, 'offset')} past the last stable offset of the old log ({row.old.lso:,}).",
    )


def _repeats(case: Case) -> bool:
    row = case.row
    if row.new_offset is None or row.old_offset is None:
        return False
    return row.exactness is Exactness.BOUNDED or bool(row.replay and row.exactness.proven)


def _repeated(case: Case) -> str:
    row = case.row
    if row.replay is None:
        return (
            f"Resuming at {row.new_offset:,}, the safe end of the bounds, may read records twice; how many is unknown"
        )
    return f"Resuming at {row.new_offset:,} would read up to {many(row.replay, 'record')} twice"


def _sentence(clauses: list[str]) -> str:
    text = "; ".join(clauses)
    return text[:1].upper() + text[1:] + "."


def _clause(reason: str) -> str:
    text = reason.strip() or "no reason was given"
    return text if text.endswith(".") else f"{text}."
