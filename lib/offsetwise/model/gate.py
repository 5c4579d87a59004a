"""The conditions of a start, the effect of an unedited one, and how far the old logs are copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from offsetwise.model.comparison import ClusterRef
from offsetwise.model.findings import Finding, Problem
from offsetwise.model.offsets import Count, Offset, Time, TimeMs
from offsetwise.position import OfPartition, OfTwins


class Outcome(StrEnum):
    """How a check went."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One condition of the start gate."""

    name: str
    outcome: Outcome
    told: str
    """One sentence with its numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the engine would do if it were started with the checkpoint unedited."""

    effect: str
    """`nothing`, `silent skip`, `replay`, `other records`, `exception` or `unknown`."""
    told: str


class CutoverState(StrEnum):
    """How far a partition has come. The states follow each other in this order."""

    OPEN = "OPEN"
    """Its old log grows, or that is unknown."""
    DRAINING = "DRAINING"
    """Its old log has not grown, but for less than the stated time; or a transaction is open there."""
    FROZEN = "FROZEN"
    """Its old log has not grown for the stated time."""
    COPIED = "COPIED"
    """In addition, every record of it is on the new cluster."""

    def reaches(self, other: CutoverState) -> bool:
        """Return whether a partition in this state has come at least as far as one in another state.

        >>> CutoverState.COPIED.reaches(CutoverState.FROZEN), CutoverState.DRAINING.reaches(CutoverState.FROZEN)
        (True, False)
        """
        order = [*CutoverState]
        return order.index(self) >= order.index(other)


CUTOVER_CONDITIONS: Final[Mapping[str, CutoverState]] = MappingProxyType(
    {state.lower(): state for state in (CutoverState.FROZEN, CutoverState.COPIED)}
)
"""What a plan may require of the cutover, in the order in which plans list it."""
MIN_STILL_FOR_MS: Final = 1_000
"""Two observations cannot show a shorter time."""
MAX_STILL_FOR_MS: Final = 24 * 3_600_000
"""The longest time for which `apply` watches the old logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoverRequirement:
    """How far the cutover must have come before a plan is applied."""

    states: tuple[str, ...]
    """Keys of `CUTOVER_CONDITIONS`, in their order."""
    still_for_ms: int
    """How long the logs of the plan's topics on the old cluster must not have grown."""

    @property
    def goal(self) -> CutoverState:
        """The state that every partition must have reached."""
        return CUTOVER_CONDITIONS[self.states[-1]]

    @property
    def objection(self) -> tuple[str, str] | None:
        """The expected and the actual value, as parts of a sentence; None if the requirement is valid."""
        known = tuple(state for state in CUTOVER_CONDITIONS if state in self.states)
        if not known or self.states != known:
            return f"the old logs required to be {' or '.join(CUTOVER_CONDITIONS)}", repr(", ".join(self.states)[:80])
        if not MIN_STILL_FOR_MS <= self.still_for_ms <= MAX_STILL_FOR_MS:
            return "a time from 1 s to 24 h for which the old logs stand still", f"{self.still_for_ms:,} ms"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWriter:
    """A producer that the leader of a partition remembers: one with idempotence or transactions."""

    producer_id: Count
    last_timestamp_ms: TimeMs | None
    """The producer's timestamp of its newest record there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoverPartition(OfTwins):
    """One partition of the old cluster."""

    topic: str
    partition: int
    new_topic: str
    state: CutoverState
    told: str
    """Why it is in this state, in one sentence with its numbers."""
    end: Offset | None
    """The high watermark at the newest observation; None if unknown."""
    stable: Offset | None
    """The last stable offset at the newest observation."""
    grown: Count
    """By how many offsets the end has risen since the first observation."""
    moved_ms: TimeMs | None
    """When an observation first showed the present end after another one, epoch ms; None if it has not moved."""
    still_ms: int
    """For how long observations have shown the present end."""
    writers: tuple[LogWriter, ...] = ()
    """The producers of the last records that arrived, as far as the leader knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCommit(OfPartition):
    """A commit of the group on the old cluster that came after the plan was drafted."""

    topic: str
    partition: int
    planned: Offset | None
    """The commit when the plan was drafted; None if there was none."""
    committed: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutover:
    """How far the move from the old logs to their copies has come."""

    migration: str
    plan: str | None
    """The digest of the plan with these topics, whose group's commits were compared."""
    began_at: Time
    """When the first observation was made."""
    taken_at: Time
    """When the newest observation was made."""
    looks_taken: int
    still_for_ms: int
    """How long a log must not have grown."""
    state: CutoverState
    """The state of the partition that is furthest behind."""
    old: ClusterRef
    new: ClusterRef
    partitions: tuple[CutoverPartition, ...]
    late_commits: tuple[LateCommit, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What could not be read."""
