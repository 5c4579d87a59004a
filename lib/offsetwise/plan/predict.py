"""What a job would do if it were started on the new cluster with its old numbers; and what engines share of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offsetwise.model import Comparison, PartitionComparison, Prediction, RawVerdict
from offsetwise.plan.moving import moving_of
from offsetwise.position import of_one_stream
from offsetwise.wording import many

NOTHING: Final = "nothing"
SILENT_SKIP: Final = "silent skip"
REPLAY: Final = "replay"
OTHER_RECORDS: Final = "other records"
EXCEPTION: Final = "exception"
UNKNOWN: Final = "unknown"

Rows = tuple[PartitionComparison, ...]
SAME_PLACE: Final = Prediction(effect=NOTHING, told="Every number means the same place on the new cluster.")


def predict(comparison: Comparison, *, rewound: bool = False) -> Prediction:
    """Say what an unedited start does, by what the engine does. The worst comes first.

    Args:
        comparison: The comparison.
        rewound: Whether it is one of an earlier batch, where an unedited job would not start.
    """
    if rewound:
        told = "The comparison is of an earlier batch; an unedited job would start after its last one."
        return Prediction(effect=UNKNOWN, told=told)
    rows = tuple(row for row in comparison.partitions if row.old_offset is not None)
    if any(not of_one_stream(row.old_offset, row.place_there) for row in rows):
        return Prediction(
            effect=NOTHING, told="It goes on reading the stream that it reads now: the new one is another."
        )
    return moving_of(comparison.engine).predict(comparison, rows)


def by_numbers(rows: Rows, begins: str) -> Prediction:
    """Say what a start without any exception does.

    Args:
        rows: The rows that have a position.
        begins: That the job begins, as the beginning of a sentence.
    """
    found = damage(rows, begins)
    if found is not None:
        return found
    if all(row.raw.verdict is RawVerdict.SAME for row in rows):
        return SAME_PLACE
    return Prediction(effect=UNKNOWN, told="What the numbers point at on the new cluster was not read.")


def damage(rows: Rows, begins: str) -> Prediction | None:
    """Say what goes wrong without an error, the worst of it; None where nothing is known to."""
    for verdict, effect in (
        (RawVerdict.LOSS, SILENT_SKIP),
        (RawVerdict.CONFUSION, OTHER_RECORDS),
        (RawVerdict.REPLAY, REPLAY),
    ):
        found = [row for row in rows if row.raw.verdict is verdict]
        if found:
            return Prediction(effect=effect, told=_counted(found, verdict, begins))
    return None


def besides(told: str, found: Prediction | None) -> Prediction:
    """Give a sentence whose effect depends on the job's settings, followed by what goes wrong besides."""
    if found is None:
        return Prediction(effect=UNKNOWN, told=told)
    return Prediction(effect=found.effect, told=f"{told} {found.told}")


def first(rows: Rows, holds: Callable[[PartitionComparison], bool]) -> PartitionComparison | None:
    """Give the first row of which something holds."""
    return next((row for row in rows if holds(row)), None)


def named(row: PartitionComparison) -> str:
    """Name a row with the position that a start uses last."""
    return f"{row.topic_partition} at {row.restart[-1].old:,}" if row.restart else str(row.topic_partition)


def _counted(found: list[PartitionComparison], verdict: RawVerdict, begins: str) -> str:
    where = f"{many(len(found), 'partition')}, for example {named(found[0])}"
    if verdict is RawVerdict.CONFUSION:
        return f"{begins} without an error and reads other records than its state expects: {where}."
    counts = [row.raw.skip if verdict is RawVerdict.LOSS else row.raw.replay for row in found]
    known = sum(count for count in counts if count is not None)
    some = f"at least {many(known, 'record')}" if None in counts else many(known, "record")
    word = "never reads" if verdict is RawVerdict.LOSS else "reads again"
    return f"{begins} without an error and {word} {some}: {where}."
