"""MirrorMaker 2's claims about a position: candidates, never answers.

A sync or a checkpoint is a claim that shows where to look; records decide. MirrorMaker's own answer is shown too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeVar

from offsetwise.model import Candidate, LogRange, Method, MirrorCheckpoint, MirrorState, MirrorTopic, OffsetSync
from offsetwise.position import offset_or_none
from offsetwise.translation.mirror_store import Mm2Store, NoAnswer
from offsetwise.translation.sync_index import SyncIndex
from offsetwise.wording import number

__all__ = [
    "Flow",
    "Mm2Store",
    "NoAnswer",
    "SyncIndex",
    "find_flow",
    "mirror_candidates",
    "mm2_answer",
]


Record = TypeVar("Record")
_NAMES: Final = {
    "offset-syncs": "mm2-offset-syncs{separator}{alias}{separator}internal",
    "checkpoints": "{alias}{separator}checkpoints{separator}internal",
}
"""The topic names of `DefaultReplicationPolicy`, and of its subclasses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    syncs: tuple[OffsetSync, ...]
    checkpoints: tuple[MirrorCheckpoint, ...]
    statements: tuple[str, ...]
    """Which topics were chosen, and why, in sentences."""


def find_flow(
    old: MirrorState, new: MirrorState, *, source_alias: str, target_alias: str, separator: str = "."
) -> Flow:
    """Choose the topics of the flow between two clusters by their aliases.

    MirrorMakers with different `replication.policy.separator` write about the same two clusters into separate topics:
    those with the flow's separator are taken, or else those with a dot, which
    `replication.policy.internal.topic.separator.enabled=false` uses instead of any separator.

    Offset syncs are on the source under the target's alias, or on the target under the source's
    (`offset-syncs.topic.location`); checkpoints are on the target under the source's. A topic under another alias is
    taken only if it is the only one of its kind, and a statement says so.

    By default the topic under the source's alias on the target has the syncs of the way back, with source and target
    exchanged. So the source comes first, and the target is left out if only the way back has a checkpoints topic.
    """
    sources = [("old", target_alias, old, dict(old.syncs)), ("new", source_alias, new, dict(new.syncs))]
    if _has_checkpoints(old, target_alias) and not _has_checkpoints(new, source_alias):
        sources.pop()
    syncs, said_syncs = _choose("offset-syncs", sources, separator)
    from_new = [("new", source_alias, new, dict(new.checkpoints))]
    checkpoints, said_checkpoints = _choose("checkpoints", from_new, separator)
    return Flow(syncs=syncs, checkpoints=checkpoints, statements=(said_syncs, said_checkpoints))


def mm2_answer(position: int, topic: str, partition: int, syncs: Sequence[OffsetSync] | SyncIndex) -> int | None:
    """Return the offset that MirrorMaker itself would commit; None if it has none.

    Args:
        position: The next record to read on the source.
        topic: The topic's name on the source.
        partition: The partition.
        syncs: Syncs of any partitions in log order, or their index.
    """
    if isinstance(syncs, SyncIndex):
        of_partition: Sequence[OffsetSync] = syncs.syncs(topic, partition)
    else:
        of_partition = [sync for sync in syncs if sync.topic == topic and sync.partition == partition]
    store = Mm2Store()
    store.load(of_partition)
    answer = store.translate(position)
    return None if isinstance(answer, NoAnswer) else answer


def mirror_candidates(  # noqa: PLR0917 - a position, its logs and the claims about it
    position: int,
    topic: str,
    partition: int,
    index: SyncIndex,
    checkpoints: Sequence[MirrorCheckpoint],
    new_topic: str,
    new_range: LogRange,
) -> tuple[Candidate, ...]:
    """Return where MirrorMaker's syncs and checkpoints place a position, the narrowest candidate first.

    Args:
        position: The next record to read on the source.
        topic: The topic's name on the source.
        partition: The partition, the same number on both.
        index: All retained syncs.
        checkpoints: MirrorMaker's checkpoints, of any group.
        new_topic: The topic's name on the target.
        new_range: The range of the new log, for the open ends of brackets.
    """
    survived, end = index.survived(topic, partition), offset_or_none(new_range.hw)
    candidates: list[Candidate] = []
    for age, (floor, ceiling) in enumerate(index.around(topic, partition, position)):
        # One whose record is not on the new log bounds nothing.
        usable = None if floor is not None and end is not None and floor.downstream >= end else floor
        if age == 0 or usable is not None:
            candidates.extend(_of_syncs(position, usable, ceiling, new_range, survived=survived, age=age))
    candidates.extend(_of_checkpoints(position, partition, checkpoints, new_topic, new_range))
    return tuple(sorted(candidates, key=_width))


def _of_syncs(
    position: int, floor: OffsetSync | None, ceiling: OffsetSync | None, new: LogRange, *, survived: int, age: int
) -> list[Candidate]:
    run = "" if age == 0 else " of an earlier run, before MirrorMaker went back,"
    retained = f"{survived:,} syncs of the partition are kept"
    lo, hi = _bounds(position, floor, ceiling, new)
    if floor is not None and floor.upstream == position:
        said = f"MirrorMaker's sync{run} {_pair(floor)} stands at the position itself ({retained})."
        if lo != floor.downstream:
            said += f" That is below the new log start {number(lo)}."
        return [Candidate(method=Method.MIRROR_SYNC, lo=lo, hi=hi, said_by=said, guess=age > 0)]
    if floor is not None and ceiling is not None:
        said = f"MirrorMaker's syncs{run} {_pair(floor)} and {_pair(ceiling)} stand around {position:,} ({retained})."
    elif floor is not None:
        said = f"MirrorMaker's last sync{run} {_pair(floor)} stands before {position:,}, none after it ({retained})."
    elif ceiling is not None:
        said = f"MirrorMaker's first usable sync{run} {_pair(ceiling)} stands after {position:,} ({retained})."
    else:
        said = (
            f"No sync of MirrorMaker's bounds {position:,}: its record would lie beyond the new log end ({retained})."
        )
    # An earlier run may be about records of a topic that was recreated since: where to look, not even a claim.
    wide = Candidate(method=Method.MIRROR_SYNC, lo=lo, hi=hi, said_by=said, guess=age > 0)
    if floor is None or ceiling is None or lo == hi:
        return [wide]
    linear = floor.downstream + position - floor.upstream
    same_distance = ceiling.downstream - ceiling.upstream == floor.downstream - floor.upstream
    if not same_distance or (lo is not None and linear < lo) or (hi is not None and hi < linear):
        return [wide]
    counted = (
        f"Counting on from MirrorMaker's sync{run} {_pair(floor)}, whose distance the next sync confirms: "
        "where to look first."
    )
    return [Candidate(method=Method.MIRROR_SYNC, lo=linear, hi=linear, said_by=counted, guess=True), wide]


def _bounds(
    position: int, floor: OffsetSync | None, ceiling: OffsetSync | None, new: LogRange
) -> tuple[int | None, int | None]:
    """Return between which offsets of the new log a position lies, if its two syncs are right.

    None for an end that would be that of the new log, and is unknown.
    """
    start, end = offset_or_none(new.log_start), offset_or_none(new.hw)
    if floor is not None and floor.upstream == position:
        place = _at_least(floor.downstream, start)
        return place, place
    lo = start if floor is None else _at_least(floor.downstream + 1, start)
    ends = [at for at in (end, None if ceiling is None else ceiling.downstream) if at is not None]
    return lo, _at_least(min(ends), start) if ends else None


def _at_least(offset: int, bound: int | None) -> int:
    return offset if bound is None else max(offset, bound)


def _of_checkpoints(
    position: int, partition: int, checkpoints: Sequence[MirrorCheckpoint], new_topic: str, new_range: LogRange
) -> list[Candidate]:
    # A checkpoint is never above its own upstream position, so one at or before the job's position bounds it from
    # below. One after the job's position says nothing about it.
    usable = [
        checkpoint
        for checkpoint in checkpoints
        if checkpoint.topic == new_topic
        and checkpoint.partition == partition
        and checkpoint.upstream <= position
        and (new_range.hw is None or checkpoint.downstream <= new_range.hw)
    ]
    if not usable:
        return []
    best = max(usable, key=lambda checkpoint: (checkpoint.upstream, checkpoint.downstream))
    start = offset_or_none(new_range.log_start)
    lo = best.downstream if start is None else max(best.downstream, start)
    relation = (
        "the job's own position"
        if best.upstream == position
        else f"{position - best.upstream:,} offsets before the job"
    )
    said = (
        f"MirrorMaker's checkpoint of group {best.group!r} translates {best.upstream:,}, {relation}, "
        f"to {best.downstream:,}, which is never past it."
    )
    return [Candidate(method=Method.MIRROR_CHECKPOINT, lo=lo, hi=new_range.hw, said_by=said)]


def _width(candidate: Candidate) -> float:
    if candidate.lo is None or candidate.hi is None:
        return float("inf")
    return float("inf") if (width := candidate.hi - candidate.lo) is None else width


def _pair(sync: OffsetSync) -> str:
    return f"{sync.upstream:,} → {sync.downstream:,}"


def _has_checkpoints(state: MirrorState, alias: str) -> bool:
    return any(topic.kind == "checkpoints" and topic.alias == alias for topic in state.topics)


def _choose(
    kind: str, sources: Sequence[tuple[str, str, MirrorState, Mapping[str, tuple[Record, ...]]]], separator: str
) -> tuple[tuple[Record, ...], str]:
    results = [
        (cluster, topic, topic.alias == alias, records.get(topic.name, ()))
        for cluster, alias, state, records in sources
        for topic in _preferred(state.topics, kind, separator)
    ]
    # On each cluster the best topic, which is the first: what another flow wrote does not count.
    matching = [next(entries) for _, entries in groupby((entry for entry in results if entry[2]), key=itemgetter(0))]
    aliases = " or ".join(f"{alias!r} on the {cluster} cluster" for cluster, alias, _, _ in sources)
    if matching:
        cluster, topic, _, chosen = next((entry for entry in matching if entry[3]), matching[0])
        return (
            chosen,
            f"MirrorMaker's {kind} are read from {topic.name!r} on the {cluster} cluster, {len(chosen):,} records.",
        )
    if len(results) == 1:
        cluster, topic, _, chosen = results[0]
        return chosen, (
            f"MirrorMaker's {kind} are read from {topic.name!r} on the {cluster} cluster, the only such topic, "
            f"although its alias {topic.alias!r} is not the expected {aliases}."
        )
    names = ", ".join(repr(entry[1].name) for entry in results) or "none at all"
    return (), f"MirrorMaker's {kind} were not found: expected a topic under the alias {aliases}, found {names}."


def _preferred(topics: Iterable[MirrorTopic], kind: str, separator: str) -> list[MirrorTopic]:
    def otherwise_named(topic: MirrorTopic) -> list[bool]:
        return [
            topic.name != _NAMES[kind].format(alias=topic.alias, separator=delimiter) for delimiter in (separator, ".")
        ]

    return sorted((topic for topic in topics if topic.kind == kind), key=otherwise_named)
