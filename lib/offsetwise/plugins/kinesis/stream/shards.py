"""The shards that a checkpoint names, and what they show without reading the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.digits import whole_number
from offsetwise.model import Problem, ShardPosition, ShardRange
from offsetwise.plugins.kinesis.stream.findings import (
    child_ahead,
    child_missing,
    children_wait,
    hash_range_gap,
    inside_aggregate,
    sequence_foreign,
    sequence_layout,
    sequence_other_shard,
)
from offsetwise.plugins.kinesis.stream.numbers import NumberEvidence, evidence_of
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, ShardPlace, shard_number

LAST_HASH_KEY: Final = 2**128 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    id: str
    position: ShardPlace
    stream: str | None = None
    """Its stream's name or ARN; None if the checkpoint names none."""
    planned: ShardPlace | None = None
    """The end of a batch that will run again."""
    low: int | None = None
    """The first hash key; None if the checkpoint does not record it."""
    high: int | None = None
    first: int | None = None
    """The shard's first sequence number; None if the checkpoint does not record it."""
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    """Children that the shard itself names, without those that name it as their parent."""
    waits: bool = False
    """Whether it is not read yet, because its parent is not finished."""

    @property
    def row(self) -> ShardPosition:
        return ShardPosition(stream=self.stream, shard=self.id, position=self.position, planned_position=self.planned)

    @property
    def evidence(self) -> NumberEvidence | None:
        return None if self.position.sequence is None else evidence_of(self.position.sequence)


def ranges_of(shards: Sequence[Shard]) -> tuple[ShardRange, ...]:
    """Return the hash key ranges in a checkpoint, of shards with a number in their id and recorded keys."""
    has_children = {parent for shard in shards for parent in shard.parents}
    ranges = []
    for listed_shard in shards:
        number, parents = shard_number(listed_shard.id), [shard_number(parent) for parent in listed_shard.parents]
        if number is None or listed_shard.low is None or listed_shard.high is None or None in parents:
            continue
        ranges.append(
            ShardRange(
                partition=number,
                low=listed_shard.low,
                high=listed_shard.high,
                parents=tuple(parent for parent in parents if parent is not None),
                first=None if listed_shard.first is None else str(listed_shard.first),
                closed=listed_shard.position == SHARD_END
                or bool(listed_shard.children)
                or listed_shard.id in has_children,
            )
        )
    return tuple(ranges)


def problems_of(shards: Sequence[Shard], *, knows_children: bool) -> list[Problem]:
    """Report problems of shards of one source and one stream of Kinesis.

    Args:
        shards: All shards of the source.
        knows_children: Whether the engine records the children of an ended shard, as it should.
    """
    evidences = [shard.evidence for shard in shards]
    problems = [
        problem for shard, evidence in zip(shards, evidences, strict=True) for problem in _alone(shard, evidence)
    ]
    problems += _layouts(shards, evidences)
    problems += _family(shards, knows_children=knows_children)
    problems += _gaps(shards)
    return problems


def _alone(shard: Shard, evidence: NumberEvidence | None) -> Iterator[Problem]:
    if evidence is not None and evidence.shard != shard_number(shard.id):
        yield from sequence_other_shard(shard.id, shard.position, evidence)
    first = None if shard.first is None else evidence_of(shard.first)
    if evidence is not None and first is not None and evidence.born_s != first.born_s:
        yield from sequence_foreign(shard.id, shard.position, evidence, first.born_s)
    if shard.position.sub is not None:
        yield from inside_aggregate(shard.id, shard.position)


def _layouts(shards: Sequence[Shard], all_evidence: Sequence[NumberEvidence | None]) -> Iterator[Problem]:
    each_told = zip(shards, all_evidence, strict=True)
    unresolved = [shard for shard, evidence in each_told if evidence is None and shard.position.sequence is not None]
    if unresolved:
        yield from sequence_layout(unresolved[0].id, unresolved[0].position, len(unresolved) - 1)


def _family(shards: Sequence[Shard], *, knows_children: bool) -> Iterator[Problem]:
    known = {shard.id: shard for shard in shards}
    children: dict[str, list[Shard]] = {}
    for listed_shard in shards:
        for parent in listed_shard.parents:
            children.setdefault(parent, []).append(listed_shard)
    for shard in shards:
        mine = children.get(shard.id, [])
        waiting = [child.id for child in mine if child.waits]
        if waiting:
            yield from children_wait(shard.id, shard.position, waiting)
        if shard.position == SHARD_END:
            missing = [name for name in shard.children if name not in known]
            if knows_children and (missing or not mine):
                yield from child_missing(shard.id, missing)
            continue
        for child in mine:
            if child.position.sequence is not None or child.position == SHARD_END:
                yield from child_ahead(child.id, shard.id, shard.position)


def _gaps(shards: Sequence[Shard]) -> Iterator[Problem]:
    """Report the first gap in the hash keys that are read on; none if a shard does not record its keys."""
    ranges = [(shard.low, shard.high) for shard in shards if shard.position != SHARD_END]
    known = sorted((low, high) for low, high in ranges if low is not None and high is not None)
    if not known or len(known) < len(ranges):
        return
    covered = -1
    for low, high in known:
        if low > covered + 1:
            break
        covered = max(covered, high)
    if covered < LAST_HASH_KEY:
        end = min((low for low, _ in known if low > covered), default=LAST_HASH_KEY + 1) - 1
        yield from hash_range_gap(covered + 1, end)


def hash_key(text: str) -> int | None:
    """Parse a hash key, a decimal of 128 bits; None for any other text."""
    return whole_number(text, LAST_HASH_KEY)
