"""All checks, in one tuple each, and the two verbs that run them.

A check is a pure function of its case: no clock, no client, no file. It gives a finding only where what it was
handed proves one; a value nobody read never becomes a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from offsetwise.findings import committed, logs, migration, place, unedited
from offsetwise.findings.case import Case, MigrationCase
from offsetwise.findings.codes import Code
from offsetwise.model import Finding, Severity

Check = Callable[[Case], Finding | None]
MigrationCheck = Callable[[MigrationCase], Iterator[Finding]]

CHECKS: Final[tuple[Check, ...]] = (
    unedited.loss_beyond_end,
    unedited.loss_inside_log,
    unedited.confusion,
    place.below_log_start,
    logs.topic_missing,
    logs.partition_missing,
    logs.topic_recreated,
    logs.open_transaction,
    place.not_yet_mirrored,
    place.pending_batch_differs,
    place.native_below,
    logs.aborted_visible,
    place.replay_not_tolerated,
    place.untranslated,
    place.replay,
    place.new_partition,
    logs.target_ahead,
    logs.missing_ahead,
    logs.foreign_ahead,
    logs.duplicates_ahead,
    logs.earlier_copies_possible,
    place.schema_ids_masked,
    logs.metadata_not_carried,
    logs.leader_epoch_carried,
    logs.retention_before_cutover,
    place.isolation_differs,
    logs.records_filtered,
)
"""What is looked at for one partition; each gives at most one finding, of a code of its own."""

MIGRATION_CHECKS: Final[tuple[MigrationCheck, ...]] = (
    migration.checkpoint_polluted,
    migration.cluster_unclear,
    migration.partition_counts,
    migration.pending_batch,
    migration.reader_suspected,
    migration.mirror_stalled,
    migration.sink_batch_ids,
    migration.group_offsets_expire,
    migration.timestamps_unusable,
    migration.compacted,
    migration.checkpoint_old,
    migration.source_not_compared,
    committed.transaction_expired,
    committed.group_apart,
)
"""What is looked at once per migration."""

_RANK = {Severity.BLOCKS: 0, Severity.WARNS: 1, Severity.INFORMS: 2}
_PLACE = {code.value: index for index, code in enumerate(Code)}


def judge(case: Case) -> tuple[Finding, ...]:
    """Give the findings of one partition, the most serious first, no code twice."""
    return _ordered(finding for check in CHECKS if (finding := check(case)) is not None)


def judge_migration(case: MigrationCase) -> tuple[Finding, ...]:
    """Give the findings about the checkpoint, the topics, the mirror and the group, the most serious first.

    What the checkpoint's reader found is told in its words, and not a second time.
    """
    told = set() if case.checkpoint is None else {problem.code for problem in case.checkpoint.problems}
    read = tuple(migration.problems(case))
    more = (finding for check in MIGRATION_CHECKS for finding in check(case) if finding.code not in told)
    return _ordered((*read, *more))


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort by severity, then by the order of the codes; equal ones keep their order."""
    return tuple(sorted(findings, key=lambda finding: (_RANK[finding.severity], _PLACE.get(finding.code, -1))))
