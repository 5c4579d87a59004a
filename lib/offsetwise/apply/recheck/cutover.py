"""Check the cutover that a plan requires: have the old logs stopped growing, and are they copied?

The check takes as long as the logs must not have grown. It comes last, so that little time passes between it and the
writing; a producer that starts after it goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from offsetwise.apply.recheck.proofs import RecheckResult
from offsetwise.model import Cutover, CutoverPartition, Outcome, Plan
from offsetwise.wording import many
from offsetwise.wording.cutover import STATE, producers, required


class CutoverReader(Protocol):
    def cutover(self, plan: Plan) -> Cutover:
        """Watch the old logs of a plan's topics; see `apply.readers.Readers`."""


def cutover_again(plan: Plan, reader: CutoverReader) -> Iterator[RecheckResult]:
    """Watch the old logs if the plan requires it, and yield the results.

    Later commits of the plan's group are yielded too: its position is no longer the reviewed one.

    Raises:
        ClusterError: A cluster does not answer.
        SparkError: Records cannot be read.
    """
    requirement = plan.requirements.cutover
    if requirement is None:
        return
    cutover = reader.cutover(plan)
    for late in cutover.late_commits:
        before = "nothing" if late.planned is None else f"{late.planned:,}"
        message = (
            f"{late.topic_partition}: the group has committed {late.committed:,} on the old cluster; when the plan was "
            f"drafted, {before}."
        )
        yield RecheckResult(outcome=Outcome.FAILED, told=message, topic=late.topic, partition=late.partition)
    if cutover.state.reaches(requirement.goal):
        message = f"As the plan requires, {required(requirement)}."
        yield RecheckResult(outcome=Outcome.PASSED, told=message, cutover=True)
    else:
        yield _unmet(cutover, f"The plan requires that {required(requirement)}")


def _unmet(cutover: Cutover, requires: str) -> RecheckResult:
    lagging = [row for row in cutover.partitions if row.state is cutover.state]
    worst = max(lagging, key=lambda row: (row.grown, row.end is None))
    outcome = Outcome.UNKNOWN if worst.end is None else Outcome.FAILED
    more = f" {many(len(lagging) - 1, 'more partition')} came no further." if len(lagging) > 1 else ""
    message = f"{requires}, but {_evidence(worst)}{more}"
    return RecheckResult(outcome=outcome, told=message, topic=worst.topic, partition=worst.partition, cutover=True)


def _evidence(row: CutoverPartition) -> str:
    who = f" Its leader remembers {producers(row)}." if row.grown and row.writers else ""
    return f"{row.topic_partition} is {STATE[row.state].word}. {row.told}{who}"
