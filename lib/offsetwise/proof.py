from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from offsetwise.client_properties import ClientProperties
from offsetwise.comparison import Scene, candidates_of, target_of
from offsetwise.config import client_properties
from offsetwise.errors import ClusterError
from offsetwise.garbage import collected_seldom
from offsetwise.model import (
    AnyPosition,
    Candidate,
    Cluster,
    Exactness,
    Link,
    Method,
    TopicPartition,
    TopicState,
    Translation,
    Writers,
    epoch_ms,
)
from offsetwise.pipeline.start import start_spark
from offsetwise.ports.log_observations import SeenLog, seen_log
from offsetwise.position import offset_of, offset_or_none
from offsetwise.progress import Progress
from offsetwise.streams.reader import offsets_for_times, reader_of
from offsetwise.translation.belongs import Records, RecordsBefore
from offsetwise.translation.explain import ReadingWay
from offsetwise.translation.mirror import mm2_answer
from offsetwise.translation.old_log import in_empty_log, read_too_early
from offsetwise.translation.query import Query
from offsetwise.translation.resolve import Match
from offsetwise.translation.search import Span, affordable
from offsetwise.translation.worker import Answer
from offsetwise.wording import utc

if TYPE_CHECKING:
    from offsetwise.pipeline.content import ContentMatch, FoundPosition
    from offsetwise.pipeline.window_reader import Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The results from the records, by partition and offset; empty if none were read."""

    matches: Mapping[tuple[TopicPartition, int], FoundPosition] = field(default_factory=dict)
    pending_equal: Mapping[tuple[TopicPartition, int, int], bool] = field(default_factory=dict)
    """By partition, and the first and the last end of the pending batch: two sources may read one topic."""
    unread: Mapping[tuple[TopicPartition, int], ClusterError] = field(default_factory=dict)
    """Why the records at a position could not be read."""
    ways: Mapping[tuple[TopicPartition, int], frozenset[ReadingWay]] = field(default_factory=dict)
    """How the records at a position were read."""
    salt: str = ""

    def of(self, positions: Iterable[Query]) -> Proof:
        """Return the part about the positions of one job, equal to proving it alone.

        Raises:
            ClusterError: The records at one of them could not be read.
        """
        ends = [(position.topic_partition, *_offsets(position)) for position in positions]
        keys = {(partition, offset) for partition, *pair in ends for offset in pair if offset is not None}
        unread = next((self.unread[key] for key in sorted(keys) if key in self.unread), None)
        if unread is not None:
            raise unread
        results = {key: self.matches[key] for key in keys if key in self.matches}
        batches = [
            (partition, first, last) for partition, first, last in ends if first is not None and last is not None
        ]
        equal = {batch: self.pending_equal[batch] for batch in batches if batch in self.pending_equal}
        ways = {key: self.ways[key] for key in results if key in self.ways}
        return Proof(matches=results, pending_equal=equal, ways=ways, salt=self.salt if results else "")


@collected_seldom()
def prove(
    scenes: Sequence[Scene],
    properties: Mapping[Cluster, ClientProperties],
    progress: Progress,
) -> Proof:
    """Find every position, and every end of a pending batch, by the records of both clusters.

    Args:
        scenes: The scenes of the jobs, with their queries; of one migration, and one reading of its clusters. Jobs that
            read the same partition share its reads.
        properties: The Java client's properties, with which Spark reads each cluster.
        progress: Called with each step.

    Raises:
        ClusterError: A cluster does not answer.
        SparkError: Spark cannot read the records.
    """
    asks: dict[tuple[TopicPartition, int], Ask] = {}
    by_job: list[list[Ask]] = []
    for scene in scenes:
        of_job = [*_asks(scene, scene.queries)]
        by_job.append(of_job)
        asks |= {ask.old_position: ask for ask in of_job}
    if not asks:
        return Proof()
    match = _content_match(scenes, properties, progress)
    reader = match.reader
    answered = match.find(*by_job)
    results = {key: answered[ask] for key, ask in asks.items() if ask in answered}
    equal = _pending(match, [query for scene in scenes for query in scene.queries], asks, results)
    unread = {ask.old_position: error for ask, error in reader.unread.items()}
    return Proof(matches=results, pending_equal=equal, unread=unread, ways=reader.ways, salt=reader.salt.hex())


def _content_match(
    scenes: Sequence[Scene], properties: Mapping[Cluster, ClientProperties], progress: Progress
) -> ContentMatch:
    from offsetwise.pipeline.content import SALT_BYTES, ContentMatch  # noqa: PLC0415 - PySpark is slow to import
    from offsetwise.pipeline.shipping import have_client  # noqa: PLC0415 - as above
    from offsetwise.pipeline.window_reader import WindowReader  # noqa: PLC0415 - as above

    migration = scenes[0].migration
    session = start_spark(migration.spark, progress, records=True)
    clients = {side: client_properties(migration.cluster(side)) for side in Cluster}
    reader = WindowReader(
        spark=session,
        properties=properties,
        clients=clients if have_client(session) else None,
        isolation=migration.isolation_level,
        progress=progress,
        salt=os.urandom(SALT_BYTES),
    )
    return ContentMatch(
        reader=reader,
        offsets_for_times=lambda times: _as_offsets(offsets_for_times(migration.target, times)),
        batch_ends={
            (query.topic_partition, first): last
            for scene in scenes
            for query in scene.queries
            for first, last in (_offsets(query),)
            if first is not None and last is not None
        },
        clock_skew_ms=1_000 * migration.content.clock_skew_s,
        log_ranges=lambda side, partitions: reader_of(migration.cluster(side)).log_ranges(
            migration.cluster(side), partitions
        ),
    )


def _as_offsets(positions: Mapping[TopicPartition, AnyPosition | None]) -> dict[TopicPartition, int | None]:
    return {at: offset_or_none(position) for at, position in positions.items()}


def _offsets(position: Query) -> tuple[int | None, int | None]:
    return offset_or_none(position.offset), offset_or_none(position.planned)


def _asks(scene: Scene, positions: Iterable[Query]) -> Iterator[Ask]:
    for position in positions:
        for offset in _offsets(position):
            ask = None if offset is None else _ask(scene, position, offset)
            if ask is not None:
                yield ask


def _ask(scene: Scene, position: Query, offset: int) -> Ask | None:
    from offsetwise.pipeline.window_reader import Ask  # noqa: PLC0415 - as above

    target = target_of(scene, position, offset, candidates_of(scene, position, offset))
    if target is None:
        return None
    return Ask(
        partition=position.topic_partition,
        new_topic=position.new_topic,
        target=target,
        natives_excluded=scene.migration.writers is Writers.MIRROR_ONLY,
        preserving=scene.migration.link is Link.PRESERVING,
        logs=(
            _log_of(scene, Cluster.OLD, position.topic_partition),
            _log_of(scene, Cluster.NEW, position.new_topic_partition),
        ),
    )


def _log_of(scene: Scene, side: Cluster, at: TopicPartition) -> SeenLog:
    snapshot = scene.old if side is Cluster.OLD else scene.new
    return seen_log(snapshot, scene.topics[side].get(at.topic), scene.partitions[side].get(at))


def _pending(
    match: ContentMatch,
    positions: Iterable[Query],
    asks: Mapping[tuple[TopicPartition, int], Ask],
    located_all: Mapping[tuple[TopicPartition, int], FoundPosition],
) -> dict[tuple[TopicPartition, int, int], bool]:
    """Compare the records of the pending batch on both clusters, if both its ends are proven."""
    batches: dict[tuple[TopicPartition, int, int], Ask] = {}
    equal: dict[tuple[TopicPartition, int, int], bool] = {}
    for position in positions:
        partition = position.topic_partition
        first, last = _offsets(position)
        if (
            first is None
            or last is None
            or (partition, first) not in located_all
            or (partition, last) not in located_all
        ):
            continue
        begin, end = (_proven_offset(located_all[partition, offset], offset) for offset in (first, last))
        known = located_all[partition, first].answer.batch if match.batch_ends.get((partition, first)) == last else None
        if known is not None and (known.start, known.end) == (begin, end):
            equal[partition, first, last] = known.same
        elif begin is not None and end is not None and begin <= end and first <= last:
            ask = asks[partition, first]
            target = replace(ask.target, old=Span(start=first, end=last), new=Span(start=begin, end=end))
            target = affordable(target, located_all[partition, first].answer.record_bytes)
            batches[partition, first, last] = replace(ask, target=target)
    answers = match.same_records(list(batches.values())) if batches else {}
    return equal | {key: answers[ask] for key, ask in batches.items() if ask in answers}


def _proven_offset(located: FoundPosition, offset: int) -> int | None:
    if located.preserved:
        return offset
    return None if located.answer.cut is None else located.answer.cut.proven_offset


def records_before(positions: Iterable[Query], read: Proof) -> Records:
    """Return what the records say about the cluster that positions were read from, where they were read."""
    results: dict[tuple[TopicPartition, AnyPosition | None], RecordsBefore] = {}
    for position in positions:
        offset = offset_or_none(position.offset)
        located = None if offset is None else read.matches.get((position.topic_partition, offset))
        if offset is None or located is None:
            continue
        before = RecordsBefore(same=_stands_alike(position, read))
        if located.answer.cut is not None and located.answer.timed:
            at_raw = located.answer.cut.at_raw
            times = [neighbour.timestamp_ms for neighbour in at_raw if (neighbour.new_offset or 0) < offset]
            before = before._replace(time_on_old=located.answer.time_before, time_on_new=times[-1] if times else None)
        results[position.topic_partition, offset] = before
    return results


def _stands_alike(position: Query, read: Proof) -> bool:
    partition = position.topic_partition
    return position.new_topic == position.topic and all(
        (located := read.matches.get((partition, number))) is not None and _proven_offset(located, number) == number
        for number in _offsets(position)
        if number is not None
    )


def match_of(scene: Scene, query: Query, read: Proof) -> Match:
    partition, (first, last) = query.topic_partition, _offsets(query)
    if query.offset is None:
        return Match(query=query)
    match = _matched(scene, query, query.exact or query.offset, read)
    uncertain = query.processed is not None and query.exact is None
    if uncertain and match.stream is not None and match.stream.place is not None:
        match = replace(match, stream=_unread(scene, query, match.stream))
    if query.planned is None:
        return match
    planned = _matched(scene, query, query.planned, read)
    equal = None if first is None or last is None else read.pending_equal.get((partition, first, last))
    if first is not None and first == last:
        equal = True  # the batch has no record of this partition
    if all(at.stream is not None and at.stream.exactness is Exactness.PRESERVED for at in (match, planned)):
        equal = True  # the same records, between the same offsets
    planned = replace(planned, query=replace(query, offset=query.planned, planned=None))
    return replace(match, planned=planned, pending_equal=equal)


def _unread(scene: Scene, position: Query, translation: Translation) -> Translation:
    """Lower the exactness of a position whose record was not read, if the engine writes one position for several."""
    topic = scene.topics[Cluster.OLD].get(position.topic)
    was_read = scene.live and topic is not None and topic.id is not None
    return replace(
        translation,
        exactness=Exactness.CLAIMED if was_read and translation.exactness.proven else translation.exactness,
        replay=None,
        skip=None,
        reason=f"{translation.reason} The record before the position was not read: {position.processed} is certain, "
        "and more of an aggregate may be unread.",
    )


def _one_id(old: TopicState | None, new: TopicState | None, partition: int) -> str:
    """Return a sentence that a topic has one id on both clusters, with the leader epochs of the partition; else "".

    A mirror that copies topic ids copies leader epochs too (KIP-1279): the copy's is never the lower one.
    """
    if old is None or new is None or old.id is None or old.id != new.id:
        return ""
    epochs = [
        next((state.leader_epoch for state in topic.partitions if state.partition == partition), None)
        for topic in (old, new)
    ]
    same = "The topic has the same id on both clusters, as one that was copied with its log has"
    if epochs[0] is None or epochs[1] is None:
        return f"{same}."
    if epochs[0] == epochs[1]:
        return f"{same}; both leaders are at epoch {epochs[0]:,}."
    carried = "" if epochs[1] > epochs[0] else ", so the copy does not carry the epochs of the old log"
    return f"{same}; the old leader is at epoch {epochs[0]:,}, the new one at {epochs[1]:,}{carried}."


def _matched(scene: Scene, query: Query, at: AnyPosition, read: Proof) -> Match:
    partition = query.topic_partition
    if scene.translate is not None:
        there = query.new_topic_partition
        return Match(query=query, stream=scene.translate(at, partition, there, old=scene.old, new=scene.new))
    offset = offset_of(at)
    position = read.matches.get((partition, offset))
    candidates = candidates_of(scene, query, offset)
    mirror_maker = mm2_answer(offset, query.topic, query.partition, scene.syncs)
    old, new = scene.topics[Cluster.OLD].get(query.topic), scene.topics[Cluster.NEW].get(query.new_topic)
    match = Match(
        query=query,
        candidates=candidates,
        mirror_maker=mirror_maker,
        one_id=_one_id(old, new, query.partition),
        salt=read.salt,
    )
    if position is None:
        return replace(match, preserved=scene.migration.link is Link.PRESERVING and query.new is not None)
    return replace(
        match,
        answer=_in_empty_log(scene, query, offset, position.answer),
        replaced=_replaced(scene, query, offset, position.answer),
        preserved=position.preserved,
        probed=_probed(position),
        ways=read.ways.get((partition, offset), frozenset()),
        candidates=(*candidates, *_guesses(position, offset)),
        old_read=position.old_offsets_read,
        new_read=position.new_offsets_read,
    )


def _in_empty_log(scene: Scene, position: Query, offset: int, answer: Answer) -> Answer:
    if position.old is None or position.new is None:
        return answer
    return in_empty_log(
        offset,
        answer,
        old=position.old,
        new=position.new,
        isolation=position.of.isolation,
        batch_ms=position.of.batch_ms if offset == position.offset else position.of.planned_batch_ms,
        clock_skew_ms=scene.migration.content.clock_skew_s * 1000,
    )


def _replaced(scene: Scene, position: Query, offset: int, answer: Answer) -> str:
    """Return why the old log is not the one that the job read up to an offset; empty if no time shows that."""
    of_start = offset == position.offset
    saved_ms, skew_s = (
        position.of.saved_ms if of_start else position.of.planned_batch_ms,
        scene.migration.content.clock_skew_s,
    )
    time = read_too_early(
        answer.times, saved_ms=saved_ms, clock_skew_ms=skew_s * 1000, now_ms=epoch_ms(scene.old.taken_at)
    )
    if time is None or saved_ms is None:
        return ""
    batch = position.of.batch if of_start else position.of.planned_batch
    said = f"batch {batch}, planned" if batch is not None else "the checkpoint, written"
    return (
        f"The record before {offset:,} of {position.topic_partition} on the old cluster is of {utc(time)}, and {said} "
        f"{utc(saved_ms)}, says that the job had read it: this log is not the one that the job read, as where the "
        "topic was deleted and created again. Where the job goes on in it, no record tells."
    )


def _probed(located: FoundPosition) -> str:
    probes = located.probes
    if probes is None:
        return ""
    if located.preserved:
        agree = f"{probes.agree:,} unique records have the same offset on both, none differs."
        return f"Probed at several positions: {agree}"
    return (
        f"The link is stated to keep offsets, but of the records probed {probes.differ:,} differ at the same offset "
        f"and {probes.agree:,} agree."
    )


def _guesses(located: FoundPosition, offset: int) -> Iterator[Candidate]:
    if located.at_time is not None:
        said = f"The new log reaches the time of the record before the position at {located.at_time}."
        yield Candidate(method=Method.TIMESTAMP, lo=located.at_time, hi=located.at_time, said_by=said, guess=True)
    if located.answer.origin_shift is not None:
        shifted_offset = offset + located.answer.origin_shift
        said = f"The nearest provenance header puts the position at {shifted_offset}."
        yield Candidate(method=Method.HEADER, lo=shifted_offset, hi=shifted_offset, said_by=said, guess=True)
