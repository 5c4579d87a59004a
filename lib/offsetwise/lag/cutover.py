"""Decide from observations whether the old cluster's logs have stopped growing and are copied. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from offsetwise.findings import Stage, finding
from offsetwise.lag.alerts import of_worst
from offsetwise.model import (
    CutoverPartition,
    CutoverState,
    Finding,
    GroupBefore,
    GroupState,
    LateCommit,
    LogWriter,
    Outcome,
    Severity,
    TopicPartition,
)
from offsetwise.ports.log_observations import LogEnd, LogsLook
from offsetwise.wording import clock, duration, many

ORDER: Final = tuple(CutoverState)
"""From the furthest behind to the furthest ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiesFound:
    end: int
    outcome: Outcome
    message: str
    """Why, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartitionLog:
    newest: LogEnd
    first: int | None = None
    """The first known end."""
    since_ms: int | None = None
    """When the first observation with the present end was complete, by a monotonic clock."""
    moved_ms: int | None = None
    """The same for an end that followed another one, by the wall clock."""
    moved_from: int | None = None
    """The previous end, if the newest observation found another one."""
    writers: tuple[LogWriter, ...] = ()

    @property
    def grown(self) -> int:
        return max(0, (self.newest.end or 0) - self.first) if self.first is not None else 0


@dataclass(slots=True, kw_only=True)
class LogWatch:
    still_for_ms: int
    """How long a log must not have grown."""
    look_count: int = 0
    cluster_id: str | None = None
    _logs: dict[TopicPartition, _PartitionLog] = field(default_factory=dict)
    _began_ms: int = 0

    @property
    def ends(self) -> Mapping[TopicPartition, int]:
        return {at: log.newest.end for at, log in self._logs.items() if log.newest.end is not None}

    @property
    def least_still_ms(self) -> int:
        return min(map(self._still_ms, self._logs.values()), default=0)

    @property
    def grows(self) -> bool:
        """Whether a log has moved between observations, or its end is unknown."""
        return self.look_count > 1 and any(self._state(log)[0] is CutoverState.OPEN for log in self._logs.values())

    @property
    def frozen_topics(self) -> frozenset[str]:
        """The topics whose logs have all not grown for long enough, such as those of an early wave."""
        others = {at.topic for at, log in self._logs.items() if self._state(log)[0] is not CutoverState.FROZEN}
        return frozenset({at.topic for at in self._logs} - others)

    @property
    def is_over(self) -> bool:
        """Whether further observations cannot change the result: no log has grown for long enough, or one grows."""
        return self.grows or self.least_still_ms >= self.still_for_ms

    def heard(self, observation: LogsLook, *, began_ms: int, over_ms: int, clock_ms: int) -> None:
        """Add the next observation.

        Args:
            observation: The observation.
            began_ms: When it began, by a monotonic clock.
            over_ms: When it was complete, by the same clock.
            clock_ms: When it was complete, epoch ms.
        """
        self.look_count += 1
        self.cluster_id = self.cluster_id or observation.cluster_id
        self._began_ms = began_ms
        removed = dict.fromkeys(
            self._logs.keys() - observation.logs.keys(), LogEnd(None, None, "it is not there any more")
        )
        for at, end in {**observation.logs, **removed}.items():
            writers = observation.writers.get(at, ())
            self._logs[at] = _next(self._logs.get(at), end, writers, over_ms=over_ms, clock_ms=clock_ms)

    def missed(self) -> None:
        self.look_count += 1
        no_answer = LogEnd(None, None, "the cluster gave no answer")
        for at, log in self._logs.items():
            self._logs[at] = replace(log, newest=no_answer, since_ms=None, moved_from=None)

    def partitions(
        self, new_topic: Callable[[str], str], copies: Mapping[TopicPartition, CopiesFound]
    ) -> tuple[CutoverPartition, ...]:
        """Return the state of every partition.

        Args:
            new_topic: Returns the name of a topic on the new cluster.
            copies: The result for the copies; it is ignored if it is about an earlier end.
        """
        logs = sorted(self._logs.items())
        return tuple(self._partition(at, log, new_topic(at.topic), copies.get(at)) for at, log in logs)

    def _partition(
        self, at: TopicPartition, log: _PartitionLog, new_topic: str, copies: CopiesFound | None
    ) -> CutoverPartition:
        state, message = self._state(log)
        if state is CutoverState.FROZEN and copies is not None and copies.end == log.newest.end:
            message = f"{message} {copies.message}"
            state = CutoverState.COPIED if copies.outcome is Outcome.PASSED else state
        return CutoverPartition(
            topic=at.topic,
            partition=at.partition,
            new_topic=new_topic,
            state=state,
            told=message,
            end=log.newest.end,
            stable=log.newest.stable,
            grown=log.grown,
            moved_ms=log.moved_ms,
            still_ms=self._still_ms(log),
            writers=log.writers,
        )

    def _still_ms(self, log: _PartitionLog) -> int:
        return 0 if log.since_ms is None else max(0, self._began_ms - log.since_ms)

    def _state(self, log: _PartitionLog) -> tuple[CutoverState, str]:
        end, stable, still_ms = log.newest.end, log.newest.stable, self._still_ms(log)
        if end is None or stable is None:
            why = log.newest.error or "its leader did not say"
            return CutoverState.OPEN, f"Where the log ends is not known: {why}."
        if self.look_count == 1:
            return CutoverState.OPEN, f"It ends at {end:,}; one look does not tell whether it grows."
        if log.moved_from is not None and log.moved_from > end:
            return CutoverState.OPEN, f"The log became shorter: it ended at {log.moved_from:,}, and now at {end:,}."
        if log.moved_from is not None:
            return CutoverState.OPEN, f"It grew by {many(log.grown, 'offset')} since the first look, to {end:,}."
        still = f"It has ended at {end:,} for {duration(still_ms)}"
        if stable < end:
            return CutoverState.DRAINING, f"{still}, and a transaction is open: the last stable offset is {stable:,}."
        if still_ms < self.still_for_ms:
            return CutoverState.DRAINING, f"{still} of {duration(self.still_for_ms)}."
        return CutoverState.FROZEN, f"{still}."


def _next(
    before: _PartitionLog | None, end: LogEnd, writers: tuple[LogWriter, ...], *, over_ms: int, clock_ms: int
) -> _PartitionLog:
    if before is None:
        return _PartitionLog(newest=end, first=end.end, since_ms=None if end.end is None else over_ms)
    known = before.newest.end
    log = replace(before, newest=end, moved_from=None)
    if end.end == known:
        return log
    if end.end is None or known is None:
        first = before.first if before.first is not None else end.end
        return replace(log, first=first, since_ms=None if end.end is None else over_ms)
    return replace(log, since_ms=over_ms, moved_ms=clock_ms, moved_from=known, writers=writers)


@finding(
    code="OLD_LOG_GROWS",
    severity=Severity.BLOCKS,
    title="Somebody still writes to the old cluster",
    remedy="Stop every producer of the topic, or point it at the new cluster, then watch until the logs stand still: "
    "offsetwise cutover --watch.",
    rank=305,
    stage=Stage.CUTOVER,
)
def old_log_grows(row: CutoverPartition) -> Iterator[str]:
    """The old log has grown, and has not been unchanged for the stated time since."""
    if row.grown == 0 or row.moved_ms is None or row.state in (CutoverState.FROZEN, CutoverState.COPIED):
        return
    named = ", ".join(f"{writer.producer_id:,}" for writer in row.writers[:3])
    who = f"; the producers that its leader remembers, the last to write first: {named}" if named else ""
    end = "?" if row.end is None else f"{row.end:,}"
    yield f"{row.topic_partition} grew by {many(row.grown, 'offset')} to {end}, last seen at {clock(row.moved_ms)}{who}"


@finding(
    code="LATE_COMMIT",
    severity=Severity.BLOCKS,
    title="The group has committed on the old cluster since the plan was drafted",
    remedy="Stop every member of the group, then compare again and draft the plan anew.",
    rank=306,
    stage=Stage.CUTOVER,
)
def late_commit(group: str, late: LateCommit) -> Iterator[str]:
    """A commit of the group on the old cluster differs from that in the plan."""
    before = "nothing" if late.planned is None else f"{late.planned:,}"
    yield (
        f"Group {group} has committed {late.committed:,} in {late.topic_partition} on the old cluster; when the plan "
        f"was drafted, {before}"
    )


def late_commits(then: GroupBefore, now: GroupState | None) -> tuple[LateCommit, ...]:
    """Return the commits of a group that differ from those in a plan.

    Args:
        then: The group in the plan.
        now: The current group; None if it could not be read.
    """
    planned = {TopicPartition(topic, partition): offset for topic, partition, offset in then.offsets}
    return tuple(
        LateCommit(
            topic=offset.topic,
            partition=offset.partition,
            planned=planned.get(offset.topic_partition),
            committed=offset.offset,
        )
        for offset in (() if now is None else now.offsets)
        if planned.get(offset.topic_partition) != offset.offset
    )


def findings_of(rows: Iterable[CutoverPartition], group: str | None, late: Sequence[LateCommit]) -> tuple[Finding, ...]:
    rows = tuple(rows)
    growing = sorted((row for row in rows if any(old_log_grows(row))), key=lambda row: -row.grown)
    committed = sorted(
        late, key=lambda commit: abs(commit.committed - (0 if commit.planned is None else commit.planned)), reverse=True
    )
    findings = []
    if growing:
        (worst,) = old_log_grows.decide(growing[0])
        findings.append(of_worst(old_log_grows, str(worst), growing[0].topic_partition, others=len(growing) - 1))
    if group is not None and committed:
        (worst,) = late_commit.decide(group, committed[0])
        findings.append(of_worst(late_commit, str(worst), committed[0].topic_partition, others=len(committed) - 1))
    return tuple(findings)


def state_of(rows: Iterable[CutoverPartition]) -> CutoverState:
    return min((row.state for row in rows), key=ORDER.index)
