"""Findings from samples that need attention, with the published codes.

A finding names the partition where it is worst and the number of others: ten thousand partitions make one finding, not
ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from offsetwise.findings import FindingKind, Stage, finding
from offsetwise.findings.logs import retention_before_cutover
from offsetwise.findings.migration import HEARTBEAT_AGE_MS, mirror_stalled
from offsetwise.findings.target_position import below_log_start, not_yet_mirrored
from offsetwise.lag.amounts import drift, lag
from offsetwise.lag.moments import Moment
from offsetwise.lag.rates import start_reaches
from offsetwise.model import Cluster, Finding, LagPartition, LagSample, Severity, TopicPartition
from offsetwise.position import offset_or_none
from offsetwise.wording import duration, many, utc

RETENTION_HORIZON_MS: Final = 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    finding: Finding
    partitions: int | None = None
    """None if it is about no partition."""


@dataclass(frozen=True, slots=True)
class _AlertCase:
    row: LagPartition
    amount: int
    """How bad it is; the partition with the largest amount is named."""
    message: str


def alerts(newest: LagSample, earlier: LagSample | None) -> tuple[Alert, ...]:
    """Return the findings of the newest sample, alone and compared with an earlier one, the most serious first.

    Args:
        newest: The newest sample.
        earlier: An earlier one of the same subject; None if there is none, and then movement is not judged.
    """
    results = [*_alone(newest), *(() if earlier is None else _between(newest, earlier))]
    severities = list(Severity)
    return tuple(sorted(results, key=lambda alert: severities.index(alert.finding.severity)))


@finding(
    code="GROUP_DRIFT",
    severity=Severity.WARNS,
    title="The group moved after it was read",
    remedy="Stop the group's members, take a new snapshot, and draft the plan again.",
    rank=160,
    stage=Stage.SAMPLES,
)
def group_drift(group: str, since: int, to: int, within: str) -> Iterator[str]:
    """The group's commit in one partition of the old cluster differs from that in the earlier sample."""
    way = "forward" if to > since else "back"
    yield f"Group {group} moved {way} from {since:,} to {to:,} within {within}"


def _alone(sample: LagSample) -> Iterator[Alert]:
    yield from _worst(below_log_start, _below(sample))
    yield from _worst(not_yet_mirrored, _not_mirrored(sample))
    beat, now = sample.heartbeat_ms, sample.new.read_at_ms
    if beat is not None and now is not None and now - beat > HEARTBEAT_AGE_MS:
        message = (
            f"The last heartbeat from {sample.old.name} to {sample.new.name} is from {utc(beat)}, "
            f"{duration(now - beat)} before the sample."
        )
        yield Alert(finding=mirror_stalled.finding(message))


def _between(newest: LagSample, earlier: LagSample) -> Iterator[Alert]:
    before = {row.key: row for row in earlier.partitions}
    elapsed = newest.taken_at_ms - earlier.taken_at_ms
    for index, group in enumerate(newest.groups):
        if group in earlier.groups:
            moved = _moved(newest, before, index, earlier.groups.index(group), within=duration(elapsed))
            yield from _worst(group_drift, moved)
    yield from _worst(retention_before_cutover, _retention(newest, earlier, before))


def _below(sample: LagSample) -> Iterator[_AlertCase]:
    for row in sample.partitions:
        for side in Cluster:
            position, start = row.position_on(side), row.log(side).log_start
            if position is not None and start is not None and position < start:
                expired = start - position
                yield _AlertCase(
                    row,
                    expired or 0,
                    f"{position:,} lies below the {side} log's start ({start:,}): up to {many(expired, 'record')} "
                    "that the job has not read may be gone there",
                )


def _not_mirrored(sample: LagSample) -> Iterator[_AlertCase]:
    for row in sample.partitions:
        remaining = lag(row, Cluster.NEW, sample.isolation_level)
        if remaining is not None and remaining < 0:
            yield _AlertCase(
                row,
                -remaining,
                f"The position is {row.new_position:,}, {many(-remaining, 'offset')} past the end of the new log",
            )


def _moved(
    newest: LagSample, before: dict[tuple[str, str, int], LagPartition], now: int, then: int, *, within: str
) -> Iterator[_AlertCase]:
    for row in newest.partitions:
        old = before.get(row.key)
        to = row.groups[now].old if now < len(row.groups) else None
        since = old.groups[then].old if old is not None and then < len(old.groups) else None
        if to is None or since is None or to == since:
            continue
        apart = drift(row, now)
        suffix = "" if apart is None or newest.checkpoint is None else f", {_apart(apart)}"
        for problem in group_drift(newest.groups[now], since, to, f"{within}{suffix}"):
            yield _AlertCase(row, abs(to - since), problem.message)


def _apart(drifted: int) -> str:
    if drifted == 0:
        return "where the checkpoint is"
    return f"{many(abs(drifted), 'offset')} {'ahead of' if drifted > 0 else 'behind'} the checkpoint"


def _retention(
    newest: LagSample, earlier: LagSample, before: dict[tuple[str, str, int], LagPartition]
) -> Iterator[_AlertCase]:
    for row in newest.partitions:
        old = before.get(row.key)
        starts = [
            Moment(at_ms=sample.new.read_at_ms, offset=start)
            for sample, partition in ((earlier, old), (newest, row))
            if partition is not None and sample.new.read_at_ms is not None
            if (start := offset_or_none(partition.new.log_start)) is not None
        ]
        remaining_ms = start_reaches(starts, offset_or_none(row.new_position)) if len(starts) == 2 else None
        if remaining_ms is None or remaining_ms == 0 or remaining_ms > RETENTION_HORIZON_MS:
            continue
        yield _AlertCase(
            row,
            RETENTION_HORIZON_MS - remaining_ms,
            f"The new log's start moved from {starts[0].offset:,} to {starts[1].offset:,}; at this rate it reaches the "
            f"position, {row.new_position:,}, in {duration(remaining_ms)}",
        )


def _worst(kind: FindingKind, cases: Iterable[_AlertCase]) -> Iterator[Alert]:
    alert_cases = list(cases)
    if not alert_cases:
        return
    worst = max(alert_cases, key=lambda case: case.amount)
    concerned = {case.row.key for case in alert_cases}
    worst_finding = of_worst(kind, worst.message, worst.row.topic_partition, others=len(concerned) - 1)
    yield Alert(finding=worst_finding, partitions=len(concerned))


def of_worst(kind: FindingKind, message: str, at: TopicPartition, *, others: int) -> Finding:
    more = f"; so in {many(others, 'more partition')}" if others else ""
    return kind.finding(f"{message}{more}.", topic=at.topic, partition=at.partition)
