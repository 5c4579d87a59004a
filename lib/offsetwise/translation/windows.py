"""The inputs and the result of the counted cut. Standard library only: shipped to Spark's workers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from offsetwise.model import Ahead, Exactness, Neighbour


class Reason(StrEnum):
    PROVEN = "PROVEN"
    IDENTICAL_RECORDS = "IDENTICAL_RECORDS"
    REPLAY_UNAVOIDABLE = "REPLAY_UNAVOIDABLE"
    NATIVE_BELOW = "NATIVE_BELOW"
    OLD_LOG_TRIMMED = "OLD_LOG_TRIMMED"
    OLD_RECORDS_GONE = "OLD_RECORDS_GONE"
    NOT_YET_MIRRORED = "NOT_YET_MIRRORED"
    COPIES_TO_COME = "COPIES_TO_COME"
    NO_COMMON_RECORD = "NO_COMMON_RECORD"
    COPIES_BELOW = "COPIES_BELOW"
    AHEAD_NOT_READ = "AHEAD_NOT_READ"
    FEW_ANCHORS = "FEW_ANCHORS"
    EMPTY_LOGS = "EMPTY_LOGS"
    EMPTY_PARTITION = "EMPTY_PARTITION"
    LOG_MOVED = "LOG_MOVED"
    LOOKS_DIFFER = "LOOKS_DIFFER"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWindow:
    """A stretch of one log, read completely: every data record of `[start, end)`, ascending by offset."""

    start: int
    end: int
    at_start: bool
    """Whether `start` is the log start."""
    at_end: bool
    """Whether `end` is the end of what the job may read (HW, or LSO for read_committed)."""
    offsets: Sequence[int]
    identities: Sequence[Hashable]
    timestamps: Sequence[int | None] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The result of `decide`. An `exactness` of None asks for larger windows."""

    exactness: Exactness | None
    reason: Reason
    offset: int | None = None
    lo: int | None = None
    hi: int | None = None
    skip: int | None = None
    replay: int | None = None
    foreign_below: int | None = None
    missing: int = 0
    """How many unread records of the examined stretch the new log does not hold."""
    unfound: bool = False
    """Whether unread records were seen without a copy in the examined stretch."""
    unread_since: int | None = None
    """The lowest timestamp of the unread records that were seen; None if timestamps cannot be used."""
    since_append: bool = False
    """Whether brokers set those timestamps: a copy is then younger than its original, except for clock skew."""
    new_from: int | None = None
    """Where the known part of the new log begins, if above its start."""
    aborted_visible: int = 0
    """How many records of aborted transactions are ordinary records on the new log."""
    ahead: Ahead = field(default_factory=lambda: Ahead(examined=False))
    caught_up: bool = False
    raw_skip: int | None = None
    raw_replay: int | None = None
    raw_differs: bool = False
    """Whether the records at the unchanged offset were seen on both logs and differ."""
    pending_equal: bool | None = None
    """Whether the pending batch holds the same records on both clusters; None if it was not compared."""
    anchors_before: int = 0
    anchors_after: int = 0
    shift: int | None = None
    """New offset minus old offset at the pair nearest to the position: where to look next."""
    old_records: int = 0
    new_records: int = 0
    looks: str = ""
    """How two observations of a log contradict each other, as a clause."""
    neighbours: tuple[Neighbour, ...] = ()
    at_raw: tuple[Neighbour, ...] = ()

    @property
    def proven_offset(self) -> int | None:
        return self.offset if self.exactness is not None and self.exactness.proven else None
