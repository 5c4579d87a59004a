"""The effects of using the checkpoint unedited, which are no errors of the translation.

A row that is EXACT at 950 still has LOSS_INSIDE_LOG if the checkpoint says 1050: the offset in the file would lose
records until it is edited.
"""

from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings.case import Case
from offsetwise.findings.register import Fact, finding
from offsetwise.model import Severity
from offsetwise.wording import many


@finding(
    code="LOSS_BEYOND_END",
    severity=Severity.BLOCKS,
    title="The old number lies past the new log's end",
    remedy="Write the translated offset; do not start the job from this checkpoint unedited.",
    rank=10,
    unedited=True,
    needs={Fact.OLD_NUMBER},
)
def loss_beyond_end(case: Case) -> Iterator[str]:
    """The old offset, or the pending batch's end, is past the new log's end."""
    row, end = case.row, case.row.new.hw
    if end is None:
        return
    beyond = [point for point in row.restart if point.old > end]
    if row.old_offset is not None and row.old_offset > end:
        position, effect = (
            row.old_offset,
            "an unedited job fails there, or jumps to the end and skips everything before it",
        )
    elif beyond:
        position, effect = beyond[0].old, "the batch that runs again waits for records that are not there"
    else:
        return
    yield (
        f"{position:,} lies {many(position - end, 'offset')} past the end of {row.new_topic_partition} on the new "
        f"cluster ({end:,}): {effect}."
    )


@finding(
    code="LOSS_INSIDE_LOG",
    severity=Severity.BLOCKS,
    title="The old number would skip unread records",
    remedy="Write the translated offset; do not start the job from this checkpoint unedited.",
    rank=20,
    unedited=True,
    needs={Fact.OLD_NUMBER, Fact.LOSS},
)
def loss_inside_log(case: Case) -> Iterator[str]:
    """Unread records are below the old offset on the new log."""
    row = case.row
    lost = "records" if row.raw.skip is None else many(row.raw.skip, "record")
    known = row.new_offset is not None and row.exactness.proven
    instead = f"; the same position there is {row.new_offset:,}" if known else ""
    yield (f"Reusing {row.old_offset:,} on the new cluster would skip {lost} that the job has not read{instead}.")


@finding(
    code="CONFUSION",
    severity=Severity.BLOCKS,
    title="The old number points at another record",
    remedy="Do not reuse the number. Find out what filled the new topic, then decide where this partition starts.",
    rank=30,
    unedited=True,
    needs={Fact.OLD_NUMBER, Fact.CONFUSION},
)
def confusion(case: Case) -> Iterator[str]:
    """No translation exists, and the record at the old offset is another one."""
    row = case.row
    yield (
        f"Offset {row.old_offset:,} of {row.new_topic_partition} on the new cluster holds another record than "
        "on the old one, and no position there continues what the job has read."
    )
