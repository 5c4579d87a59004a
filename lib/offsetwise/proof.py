"""What the records say about the positions of a scene: asked of Spark, told to the comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from offsetwise.client_properties import ClientProperties
from offsetwise.comparison import Learnt, Scene, candidates_of, mirror_maker_of, standings_of, target_of
from offsetwise.model import Candidate, Cluster, Link, Method, TopicPartition, Writers
from offsetwise.progress import Progress
from offsetwise.sources import kafka
from offsetwise.translation.belongs import Standing
from offsetwise.translation.resolve import Position, Told
from offsetwise.translation.search import Span, affordable

if TYPE_CHECKING:
    from offsetwise.pipeline.content import Ask, ContentMatch, Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What the records said, by partition and offset; empty where none were read."""

    found: Mapping[tuple[TopicPartition, int], Found] = field(default_factory=dict)
    pending_equal: Mapping[tuple[TopicPartition, int, int], bool] = field(default_factory=dict)
    """By partition, and the first and the last end of the pending batch: two sources may read one topic."""
    salt: str = ""


def prove(
    scene: Scene, positions: Sequence[Position], properties: Mapping[Cluster, ClientProperties], progress: Progress
) -> Proof:
    """Find every position, and every end of a pending batch, on the records of both clusters.

    Args:
        scene: What was read of the checkpoint and the clusters.
        positions: Those to prove.
        properties: The Java client's, with which Spark reads each cluster.
        progress: Told each step.

    Raises:
        ClusterError: A cluster cannot be read.
        SparkError: Spark cannot read the records.
    """
    from offsetwise.pipeline.content import ContentMatch  # noqa: PLC0415 - PySpark takes half a second to import
    from offsetwise.pipeline.start import start_spark  # noqa: PLC0415 - as above

    asks: dict[tuple[TopicPartition, int], Ask] = {}
    for position in positions:
        for offset in (position.offset, position.planned):
            ask = None if offset is None else _ask(scene, position, offset)
            if ask is not None:
                asks[ask.partition, ask.target.position] = ask
    if not asks:
        return Proof()
    migration = scene.migration
    session = start_spark(migration.spark, progress, records=True)
    match = ContentMatch(
        spark=session,
        properties=properties,
        isolation=migration.isolation_level,
        offsets_for_times=lambda times: kafka.offsets_for_times(migration.target, times),
        log_starts=lambda side, wanted: kafka.log_starts(migration.cluster(side), wanted),
        progress=progress,
    )
    found = match.find(list(asks.values()))
    by_place = {key: found[ask] for key, ask in asks.items()}
    return Proof(found=by_place, pending_equal=_pending(match, positions, asks, by_place), salt=match.salt.hex())


def _ask(scene: Scene, position: Position, offset: int) -> Ask | None:
    from offsetwise.pipeline.content import Ask  # noqa: PLC0415 - as above

    target = target_of(scene, position, offset, candidates_of(scene, position, offset))
    if target is None:
        return None
    return Ask(
        partition=TopicPartition(topic=position.topic, partition=position.partition),
        new_topic=position.new_topic,
        target=target,
        natives_excluded=scene.migration.writers is Writers.MIRROR_ONLY,
        preserving=scene.migration.link is Link.PRESERVING,
    )


def _pending(
    match: ContentMatch,
    positions: Iterable[Position],
    asks: Mapping[tuple[TopicPartition, int], Ask],
    found: Mapping[tuple[TopicPartition, int], Found],
) -> dict[tuple[TopicPartition, int, int], bool]:
    """Compare the records of the pending batch on both clusters, where both its ends are proven."""
    batches: dict[tuple[TopicPartition, int, int], Ask] = {}
    for position in positions:
        partition = TopicPartition(topic=position.topic, partition=position.partition)
        first, last = position.offset, position.planned
        if first is None or last is None or (partition, first) not in found or (partition, last) not in found:
            continue
        begin, end = (_place(found[partition, offset], offset) for offset in (first, last))
        if begin is not None and end is not None and begin <= end and first <= last:
            ask = asks[partition, first]
            target = replace(ask.target, old=Span(start=first, end=last), new=Span(start=begin, end=end))
            target = affordable(target, found[partition, first].answer.record_bytes)
            batches[partition, first, last] = replace(ask, target=target)
    equal = match.same_records(list(batches.values())) if batches else {}
    return {key: equal[ask] for key, ask in batches.items() if ask in equal}


def _place(found: Found, offset: int) -> int | None:
    if found.preserved:
        return offset
    cut = found.answer.cut
    return cut.offset if cut is not None and cut.exactness is not None and cut.exactness.proven else None


def standings_read(scene: Scene, positions: Iterable[Position], read: Proof) -> Iterator[Standing]:
    """Hold every position against both clusters, with what the records told of it."""
    held = [position for position in positions if position.offset is not None]
    for position, standing in zip(held, standings_of(scene, held), strict=True):
        told = replace(standing, same=_stands_alike(position, standing.partition, read))
        found = read.found.get((standing.partition, standing.offset))
        if found is not None and found.answer.cut is not None and found.answer.timed:
            at_raw = found.answer.cut.at_raw
            before = [each.timestamp_ms for each in at_raw if (each.new_offset or 0) < standing.offset]
            told = replace(told, time_on_old=found.answer.time_before, time_on_new=before[-1] if before else None)
        yield told


def _stands_alike(position: Position, partition: TopicPartition, read: Proof) -> bool:
    """Say whether the numbers of a position, and its topic's name, mean the same place on both clusters."""
    return position.new_topic == position.topic and all(
        (found := read.found.get((partition, number))) is not None and _place(found, number) == number
        for number in (position.offset, position.planned)
        if number is not None
    )


def learnt_of(scene: Scene, position: Position, read: Proof) -> Learnt:
    """Put together what the records and the mirror say about one position."""
    partition = TopicPartition(topic=position.topic, partition=position.partition)
    if position.offset is None:
        return Learnt(position=position, told=Told())
    return Learnt(
        position=position,
        told=_told(scene, position, position.offset, read),
        planned=None if position.planned is None else _told(scene, position, position.planned, read),
        pending_equal=(
            None if position.planned is None else read.pending_equal.get((partition, position.offset, position.planned))
        ),
    )


def _told(scene: Scene, position: Position, offset: int, read: Proof) -> Told:
    partition = TopicPartition(topic=position.topic, partition=position.partition)
    found = read.found.get((partition, offset))
    candidates = candidates_of(scene, position, offset)
    told = Told(candidates=candidates, mirror_maker=mirror_maker_of(scene, position, offset), salt=read.salt)
    if found is None:
        return replace(told, preserved=scene.migration.link is Link.PRESERVING and position.new is not None)
    return replace(
        told,
        answer=found.answer,
        preserved=found.preserved,
        probed=_probed(found),
        candidates=(*candidates, *_guesses(found, offset)),
        old_read=found.old_offsets_read,
        new_read=found.new_offsets_read,
    )


def _probed(found: Found) -> str:
    probes = found.probes
    if probes is None:
        return ""
    if found.preserved:
        return f"Probed at several places: {probes.agree:,} unique records have the same offset on both, none differs."
    return (
        f"The link is stated to keep offsets, but of the records probed {probes.differ:,} differ at the same offset "
        f"and {probes.agree:,} agree."
    )


def _guesses(found: Found, offset: int) -> Iterator[Candidate]:
    if found.at_time is not None:
        said = f"The new log reaches the time of the record before the position at {found.at_time}."
        yield Candidate(method=Method.TIMESTAMP, lo=found.at_time, hi=found.at_time, said_by=said, guess=True)
    if found.answer.origin_shift is not None:
        place = offset + found.answer.origin_shift
        said = f"The nearest provenance header places the position at {place}."
        yield Candidate(method=Method.HEADER, lo=place, hi=place, said_by=said, guess=True)
