"""The conditions of a start, what an unedited one would do, and how far the old logs are copied."""

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
    """Its old log grows, or nobody knows whether it does."""
    DRAINING = "DRAINING"
    """Its old log stands still, not yet for the stated time; or a transaction is open there."""
    FROZEN = "FROZEN"
    """Its old log has stood still for the stated time."""
    COPIED = "COPIED"
    """And every record of it is on the new cluster."""

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
"""What a plan may require of the cutover, in the order in which a plan has them."""
MIN_STILL_FOR_MS: Final = 1_000
"""Two looks show no shorter time."""
MAX_STILL_FOR_MS: Final = 24 * 3_600_000
"""The longest time that `apply` watches the old logs for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoverRequirement:
    """How far the cutover must have come before a plan is applied."""

    states: tuple[str, ...]
    """Keys of `CUTOVER_CONDITIONS`, in their order."""
    still_for_ms: int
    """How long the logs of the plan's topics on the old cluster must have stood still."""

    @property
    def goal(self) -> CutoverState:
        """The state that every partition must have reached."""
        return CUTOVER_CONDITIONS[self.states[-1]]

    @property
    def objection(self) -> tuple[str, str] | None:
        """What is expected of it and what was found, as parts of a sentence; None where it can be looked at."""
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
    """Of its newest record there, as the producer dated it."""


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
    """The high watermark of the newest look; None where nobody told it."""
    stable: Offset | None
    """The last stable offset of the newest look."""
    grown: Count
    """By how many offsets the end moved since the first look."""
    moved_ms: TimeMs | None
    """When a look first found the present end behind another one, epoch ms; None where it has not moved."""
    still_ms: int
    """For how long looks have found the present end."""
    writers: tuple[LogWriter, ...] = ()
    """Who wrote what was last seen to arrive, as far as the leader tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCommit(OfPartition):
    """A commit of the group on the old cluster that came after the plan was drafted."""

    topic: str
    partition: int
    planned: Offset | None
    """What was committed when the plan was drafted; None for nothing."""
    committed: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutover:
    """How far the move from the old logs to their copies has come."""

    migration: str
    plan: str | None
    """The digest of the plan whose topics these are, and whose group's commits were compared."""
    began_at: Time
    """When the first look was taken."""
    taken_at: Time
    """When the newest one was."""
    looks_taken: int
    still_for_ms: int
    """How long a log has to stand still."""
    state: CutoverState
    """That of the partition that is furthest behind."""
    old: ClusterRef
    new: ClusterRef
    partitions: tuple[CutoverPartition, ...]
    late_commits: tuple[LateCommit, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What could not be read."""
