"""What the engine would do if it were started on the new cluster with its old numbers.

By the table in `spec/spark-checkpoints.md`, "Restart", for `failOnDataLoss=true`, Spark's default; for Flink by
`spec/flink-savepoints.md`, "On restore".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offsetwise.model import Comparison, PartitionComparison, Prediction, RawVerdict
from offsetwise.plan.flink_ways import is_flink
from offsetwise.wording import many

NOTHING: Final = "nothing"
SILENT_SKIP: Final = "silent skip"
REPLAY: Final = "replay"
OTHER_RECORDS: Final = "other records"
EXCEPTION: Final = "exception"
UNKNOWN: Final = "unknown"


def predict(comparison: Comparison, *, rewound: bool = False) -> Prediction:
    """Say what an unedited start does. The worst comes first: an exception stops the job before it can skip anything.

    Args:
        comparison: The comparison.
        rewound: Whether it is one of an earlier batch, where an unedited job would not start.
    """
    rows = tuple(row for row in comparison.partitions if row.old_offset is not None)
    if rewound:
        told = "The comparison is of an earlier batch; an unedited job would start after its last one."
        return Prediction(effect=UNKNOWN, told=told)
    if comparison.group is not None:
        return _group(rows)
    if is_flink(comparison):
        return _restore(rows)
    fails, why = _exception(comparison, rows)
    damage = _damage(rows)
    if fails:
        return Prediction(effect=EXCEPTION, told=why + (f" With failOnDataLoss=false it would go on: {_jump(rows)}"))
    if damage is not None:
        return damage
    unknown = _first(rows, lambda row: row.raw.verdict is not RawVerdict.SAME)
    if unknown is not None:
        told = f"What the numbers point at on the new cluster was not read, for example at {_named(unknown)}."
        return Prediction(effect=UNKNOWN, told=told)
    return Prediction(effect=NOTHING, told="Every number means the same place on the new cluster.")


def _exception(comparison: Comparison, rows: tuple[PartitionComparison, ...]) -> tuple[bool, str]:
    """Say whether the query fails, and what it leaves behind."""
    renamed = _first(rows, lambda row: row.new_topic != row.topic)
    beyond = _first(rows, lambda row: row.new.hw is not None and row.restart[-1].old > row.new.hw)
    below = _first(rows, lambda row: row.new.log_start is not None and row.restart[0].old < row.new.log_start)
    added = _first(comparison.partitions, lambda row: row.old_offset is None and bool(row.new.log_start))
    told = []
    if renamed is not None:
        told.append(f"The query fails: the new cluster has no topic {renamed.topic}, it is called {renamed.new_topic}.")
    if beyond is not None:
        checkpoint = comparison.checkpoint
        last = None if checkpoint is None else checkpoint.last_planned_batch
        left = (
            f"and leaves offsets/{0 if last is None else last + 1} with new numbers: a polluted checkpoint"
            if checkpoint is None or checkpoint.reruns_batch is None
            else f"because batch {checkpoint.reruns_batch} ends past the log"
        )
        told.append(f"The query fails: {_named(beyond)} lies past the new log's end, {beyond.new.hw:,}, {left}.")
    if below is not None:
        told.append(f"The query fails: {_named(below)} lies below the new log's start, {below.new.log_start:,}.")
    if added is not None:
        told.append(
            f"The query fails: {added.new_topic}-{added.partition} is new and starts at {added.new.log_start:,}, not 0."
        )
    return bool(told), " ".join(told)


def _damage(rows: tuple[PartitionComparison, ...], begins: str = "The query starts") -> Prediction | None:
    for verdict, effect in (
        (RawVerdict.LOSS, SILENT_SKIP),
        (RawVerdict.CONFUSION, OTHER_RECORDS),
        (RawVerdict.REPLAY, REPLAY),
    ):
        found = [row for row in rows if row.raw.verdict is verdict]
        if found:
            return Prediction(effect=effect, told=_counted(found, verdict, begins))
    return None


def _counted(found: list[PartitionComparison], verdict: RawVerdict, begins: str) -> str:
    where = f"{many(len(found), 'partition')}, for example {_named(found[0])}"
    if verdict is RawVerdict.CONFUSION:
        return f"{begins} without an error and reads other records than its state expects: {where}."
    counts = [row.raw.skip if verdict is RawVerdict.LOSS else row.raw.replay for row in found]
    known = sum(count for count in counts if count is not None)
    some = f"at least {many(known, 'record')}" if None in counts else many(known, "record")
    word = "never reads" if verdict is RawVerdict.LOSS else "reads again"
    return f"{begins} without an error and {word} {some}: {where}."


def _jump(rows: tuple[PartitionComparison, ...]) -> str:
    damage = _damage(rows)
    skipped = "positions past an end fall to it, what lies before is skipped; renamed topics begin at earliest."
    return skipped if damage is None else f"{skipped} {damage.told}"


def _group(rows: tuple[PartitionComparison, ...]) -> Prediction:
    """Say what copying the group's numbers does: a consumer gets no exception, it follows its settings."""
    outside = _first(rows, lambda row: row.raw.verdict is RawVerdict.OUT_OF_RANGE)
    damage = _damage(rows)
    if outside is not None:
        told = (
            f"Copied as it is, {_named(outside)} lies outside the new log, and the consumer follows "
            "auto.offset.reset: to the end (what lies before is skipped) or to the start (all is read again)."
        )
        effect = UNKNOWN if damage is None else damage.effect
        return Prediction(effect=effect, told=told + ("" if damage is None else f" {damage.told}"))
    if damage is not None:
        return damage
    if all(row.raw.verdict is RawVerdict.SAME for row in rows):
        return Prediction(effect=NOTHING, told="Every number means the same place on the new cluster.")
    return Prediction(effect=UNKNOWN, told="What the numbers point at on the new cluster was not read.")


def _restore(rows: tuple[PartitionComparison, ...]) -> Prediction:
    """Say what an unedited restore of a Flink job does: nothing stops it by itself."""
    renamed = _first(rows, lambda row: row.new_topic != row.topic)
    outside = _first(rows, lambda row: row.raw.verdict is RawVerdict.OUT_OF_RANGE)
    damage = _damage(rows, "The job is restored")
    told = "" if damage is None else f" {damage.told}"
    if renamed is not None:
        return Prediction(
            effect=UNKNOWN if damage is None else damage.effect,
            told=f"The positions of {renamed.topic} mean nothing to {renamed.new_topic}, which the job begins as its "
            f"source's initializer says.{told}",
        )
    if outside is not None:
        return Prediction(
            effect=UNKNOWN if damage is None else damage.effect,
            told=f"{_named(outside)} lies outside the new log. The job is restored without an error and follows "
            "auto.offset.reset: earliest, which most sources have set, reads the whole log again; latest skips to its "
            f"end; none stops the job.{told}",
        )
    if damage is not None:
        return damage
    if all(row.raw.verdict is RawVerdict.SAME for row in rows):
        return Prediction(effect=NOTHING, told="Every number means the same place on the new cluster.")
    return Prediction(effect=UNKNOWN, told="What the numbers point at on the new cluster was not read.")


def _first(
    rows: tuple[PartitionComparison, ...], holds: Callable[[PartitionComparison], bool]
) -> PartitionComparison | None:
    return next((row for row in rows if holds(row)), None)


def _named(row: PartitionComparison) -> str:
    return f"{row.topic}-{row.partition} at {row.restart[-1].old:,}" if row.restart else f"{row.topic}-{row.partition}"
