"""Predict what a job does if it starts on the new cluster with its old offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.findings.case import MigrationCase
from offsetwise.findings.register import Fact, Stage, describe, finding
from offsetwise.model import Comparison, PartitionComparison, Prediction, RawVerdict, Severity
from offsetwise.plan.moving import Elsewhere, moving_of
from offsetwise.position import in_partitions, of_one_stream
from offsetwise.wording import many

NOTHING: Final = "nothing"
SILENT_SKIP: Final = "silent skip"
REPLAY: Final = "replay"
OTHER_RECORDS: Final = "other records"
EXCEPTION: Final = "exception"
UNKNOWN: Final = "unknown"

Rows = tuple[PartitionComparison, ...]
SAME_PLACE: Final = Prediction(effect=NOTHING, told="Every number means the same position on the new cluster.")


def predict(comparison: Comparison, *, rewound: bool = False) -> Prediction:
    """Return the worst effect of an unedited start, by the rules of the engine.

    Args:
        comparison: The comparison.
        rewound: Whether it is a comparison of an earlier batch, from which an unedited job would not start.
    """
    if rewound:
        message = "The comparison is of an earlier batch; an unedited job would start after its last one."
        return Prediction(effect=UNKNOWN, told=message)
    rows = tuple(row for row in comparison.partitions if row.old_offset is not None)
    if any(not of_one_stream(row.old_offset, row.place_there) for row in rows):
        return Prediction(
            effect=NOTHING, told="It goes on reading the stream that it reads now: the new one is another."
        )
    foretold = [finding for finding in comparison.findings if finding.topic is None and describe(finding.code).unedited]
    if foretold:
        # The sentence itself says which of a skip, a replay or a failure results.
        return Prediction(effect=UNKNOWN, told=" ".join(finding.message for finding in foretold))
    return moving_of(comparison.engine).predict(comparison, rows)


def by_numbers(rows: Rows, begins: str) -> Prediction:
    """Return the effect of a start that raises no exception.

    Args:
        rows: The rows that have a position.
        begins: How the job begins, as the beginning of a sentence.
    """
    prediction = damage(rows, begins)
    if prediction is not None:
        return prediction
    if all(row.raw.verdict is RawVerdict.SAME for row in rows):
        return SAME_PLACE
    return Prediction(effect=UNKNOWN, told="What the numbers point at on the new cluster was not read.")


def damage(rows: Rows, begins: str) -> Prediction | None:
    """Return the worst effect that causes no error; None if none is known."""
    for verdict, effect in (
        (RawVerdict.LOSS, SILENT_SKIP),
        (RawVerdict.CONFUSION, OTHER_RECORDS),
        (RawVerdict.REPLAY, REPLAY),
    ):
        comparisons = [row for row in rows if row.raw.verdict is verdict]
        if comparisons:
            return Prediction(effect=effect, told=_counted(comparisons, verdict, begins))
    return None


def besides(message: str, prediction: Prediction | None) -> Prediction:
    if prediction is None:
        return Prediction(effect=UNKNOWN, told=message)
    return Prediction(effect=prediction.effect, told=f"{message} {prediction.told}")


def named(row: PartitionComparison) -> str:
    return f"{row.topic_partition} at {row.restart[-1].old:,}" if row.restart else str(row.topic_partition)


def _counted(rows: list[PartitionComparison], verdict: RawVerdict, begins: str) -> str:
    where = f"{many(len(rows), 'partition')}, for example {named(rows[0])}"
    if verdict is RawVerdict.CONFUSION:
        return f"{begins} without an error and reads other records than its state expects: {where}."
    counts = [row.raw.skip if verdict is RawVerdict.LOSS else row.raw.replay for row in rows]
    known = sum(count for count in counts if count is not None)
    some = f"at least {many(known, 'record')}" if None in counts else many(known, "record")
    word = "never reads" if verdict is RawVerdict.LOSS else "reads again"
    return f"{begins} without an error and {word} {some}: {where}."


@finding(
    code="OTHER_STREAM_UNEDITED",
    severity=Severity.BLOCKS,
    title="A job that is only given another stream's name does not go on there",
    remedy="Write the positions that were found on the new stream, by a plan; do not start the job from its old state "
    "unedited.",
    rank=1190,
    stage=Stage.MIGRATION,
    unedited=True,
    needs={Fact.OPAQUE},
)
def other_stream_unedited(case: MigrationCase) -> Iterator[str]:
    """The job's code names the new stream, and its state still has positions in the old one."""
    known = [(row, row.old_offset) for row in case.rows if row.old_offset is not None]
    moved = [row for row, position in known if in_partitions(row.topic_partition, position)[0][1] is not position]
    says = None if case.checkpoint is None else moving_of(case.checkpoint.engine).elsewhere
    if not moved or case.checkpoint is None or says is None:
        return
    old, new = moved[0].topic, moved[0].new_topic
    one_name = old == new
    yield says(
        Elsewhere(
            checkpoint=case.checkpoint,
            old=f"{old!r} of {case.old.name!r}" if one_name else repr(old),
            new=f"{new!r} of {case.new.name!r}" if one_name else repr(new),
            highest=max(
                at.partition for row, position in known for at, _ in in_partitions(row.topic_partition, position)
            ),
            numbers=tuple(
                part.partition
                for pair in case.topics
                if pair.old_name == old and pair.new is not None
                for part in pair.new.shards
            ),
        )
    )
