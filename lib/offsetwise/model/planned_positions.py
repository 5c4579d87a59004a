"""The start of each partition in a plan, who decided it, and the records that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from offsetwise.model.closed_sets import Exactness, Method, Side
from offsetwise.model.clusters import LogRange
from offsetwise.model.comparison import Evidence, Neighbour, PartProof, RawReuse, RestartPoint
from offsetwise.model.offsets import AnyPosition, Count
from offsetwise.position import OfTwins


class Start(StrEnum):
    """How the start of a partition was chosen."""

    TRANSLATED = "translated"
    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    GROUP = "group"
    SPECIFIC = "specific"
    """An offset that a person decided, with a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A person's own offset in the place of the translated one."""

    offset: AnyPosition
    reason: str
    by: str
    """As recorded, not verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What lets anybody read the same records again: both neighbours by identity."""

    salt: str
    """Keys the identity hashes, hex."""
    identity: str
    """The components of the identity."""
    ignored_headers: tuple[str, ...] = ()
    schema_ids: tuple[tuple[int, int], ...] = ()
    before: Neighbour | None = None
    """The nearest record below the position that is on both logs."""
    after: Neighbour | None = None
    """The nearest record at or above the position that is on both logs."""
    parts: tuple[PartProof, ...] = ()
    """For a position in several partitions, instead of `before` and `after`: the records of each. Not written if
    empty."""

    @property
    def has_records(self) -> bool:
        part = (record for proof in self.parts for record in (proof.before, proof.after))
        return any(record is not None for record in (self.before, self.after, *part))

    @property
    def timed(self) -> bool:
        """Whether timestamps are part of the identity: files of format version 1 list them first in it."""
        return self.identity.partition(", ")[0] == "timestamp"

    @classmethod
    def of(cls, evidence: Evidence, old: AnyPosition | None, new: AnyPosition | None) -> Proof | None:
        """Return the proof with the nearest common records on both sides of a position; None if no record was read."""
        if not evidence.salt or new is None or old is None:
            return None
        if evidence.parts:
            return cls(salt=evidence.salt, identity=evidence.identity, parts=evidence.parts)
        both = [
            (neighbour, neighbour.old_offset, neighbour.new_offset)
            for neighbour in evidence.neighbours
            if neighbour.old_offset is not None and neighbour.new_offset is not None
        ]
        below = [n for n, o, t in both if n.side is Side.READ and o < old and t < new]
        above = [n for n, o, t in both if n.side is Side.UNREAD and o >= old and t >= new]
        below = below or _alike([n for n in evidence.neighbours if n.side is Side.READ][::-1])
        above = above or _alike([n for n in evidence.neighbours if n.side is Side.UNREAD])
        if not below and not above:
            return None
        return cls(
            salt=evidence.salt,
            identity=evidence.identity,
            ignored_headers=evidence.ignored_headers,
            schema_ids=evidence.schema_ids,
            before=below[-1] if below else None,
            after=above[0] if above else None,
        )


def _alike(nearest_first: Sequence[Neighbour]) -> list[Neighbour]:
    """Return the nearest records of both logs as one pair if they are equal, as in a run of equal records."""
    old = next((neighbour for neighbour in nearest_first if neighbour.old_offset is not None), None)
    new = next((neighbour for neighbour in nearest_first if neighbour.new_offset is not None), None)
    if old is None or new is None or old.identity != new.identity:
        return []
    return [replace(old, new_offset=new.new_offset)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPosition(OfTwins):
    """One partition of a plan: where the job resumes, and how that is known."""

    source: str
    """The id of the source inside the checkpoint; empty for a group."""
    topic: str
    partition: int
    old_offset: AnyPosition | None
    """None for a partition that the checkpoint lacks."""
    new_topic: str
    new_offset: AnyPosition
    start: Start
    method: Method
    exactness: Exactness
    restart: tuple[RestartPoint, ...]
    """Every position that a restart uses; for a pending batch both ends. Each has its new offset."""
    bounds: tuple[AnyPosition | None, AnyPosition | None]
    replay: Count | None
    skip: Count | None
    foreign_below: Count | None
    counted: bool
    old: LogRange
    new: LogRange
    raw: RawReuse
    """The effect of the unchanged offset: the risk of an unedited start."""
    proof: Proof | None = None
    end_proof: Proof | None = None
    """The proof of the end of a pending batch; None if none is written, or no record was read there."""
    override: Override | None = None
    reason: str = ""
    """The evidence in one sentence."""
    aggregate: Count | None = None
    """How many user records the record before `new_offset` aggregates; None for a plain record, and if it was not read.
    Not written if null."""

    @property
    def proven(self) -> bool:
        """Whether it must be proven by records: its exactness says so, and no person decided otherwise."""
        return self.exactness.proven and self.override is None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetPartition(OfTwins):
    """A partition that a consumer group has no commit for, and that the plan writes nothing for."""

    topic: str
    partition: int
    new_topic: str
