"""What happens if the checkpoint is used as it is. No fault of the translation.

A row that is EXACT at 950 still carries LOSS_INSIDE_LOG when the checkpoint says 1050: the number in the file would
lose records until it is edited.
"""

from __future__ import annotations

from offsetwise.findings.case import Case
from offsetwise.findings.codes import Code
from offsetwise.findings.sentence import about
from offsetwise.model import Cluster, Finding, RawVerdict
from offsetwise.wording import many


def loss_beyond_end(case: Case) -> Finding | None:
    """The old number, or the pending batch's end, lies past the new log's end."""
    row, end = case.row, case.row.new.hw
    if end is None or not _reused(case):
        return None
    beyond = [point for point in row.restart if point.old > end]
    if row.old_offset is not None and row.old_offset > end:
        found, effect = row.old_offset, "an unedited job fails there, or falls to the end and skips what lies before"
    elif beyond:
        found, effect = beyond[0].old, "the batch that runs again waits for records that are not there"
    else:
        return None
    return about(
        row,
        Code.LOSS_BEYOND_END,
        f"{found:,} lies {many(found - end, 'offset')} past the end of {row.new_topic}-{row.partition} on the new "
        f"cluster ({end:,}): {effect}.",
    )


def loss_inside_log(case: Case) -> Finding | None:
    """Unread records lie below the old number on the new log."""
    row = case.row
    if row.raw.verdict is not RawVerdict.LOSS or not _reused(case):
        return None
    lost = "records" if row.raw.skip is None else many(row.raw.skip, "record")
    return about(
        row,
        Code.LOSS_INSIDE_LOG,
        f"Reusing {row.old_offset:,} on the new cluster would skip {lost} that the job has not read{_instead(case)}.",
    )


def confusion(case: Case) -> Finding | None:
    """No translation exists, and the record at the old number is another one."""
    row = case.row
    if row.raw.verdict is not RawVerdict.CONFUSION or not _reused(case):
        return None
    return about(
        row,
        Code.CONFUSION,
        f"Offset {row.old_offset:,} of {row.new_topic}-{row.partition} on the new cluster holds another record than "
        "on the old one, and no place there continues what the job has read.",
    )


def _reused(case: Case) -> bool:
    """Say whether the number was written for the old cluster: only then is reusing it a question."""
    return case.row.old_offset is not None and case.belongs_to.cluster is not Cluster.NEW


def _instead(case: Case) -> str:
    row = case.row
    if row.new_offset is None or not row.exactness.proven:
        return ""
    return f"; the same place is {row.new_offset:,} there"
