"""Build the comparison from the readings: positions, search targets, rows, findings, sums. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from offsetwise.comparison.partitions import PartitionIndex, Twins
from offsetwise.comparison.subjects import ReadSubject, read_before
from offsetwise.config import Migration
from offsetwise.findings import Case, MigrationCase, TopicCase, blocks_translated, judge, judge_migration
from offsetwise.model import (
    AnyPosition,
    BelongsTo,
    Candidate,
    Cluster,
    ClusterRef,
    Comparison,
    Exactness,
    Finding,
    GroupOffset,
    GroupState,
    IsolationLevel,
    LogRange,
    MarkedPosition,
    PartitionComparison,
    RawVerdict,
    Snapshot,
    SourcePosition,
    Summary,
    TopicPartition,
    TopicState,
    epoch_ms,
)
from offsetwise.ports.stream import Translate, spec_of
from offsetwise.position import offset_of, offset_or_none
from offsetwise.translation.mirror import Flow, SyncIndex, find_flow, mirror_candidates
from offsetwise.translation.old_log import only_place
from offsetwise.translation.query import Query, QuerySource
from offsetwise.translation.resolve import Match, resolve
from offsetwise.translation.search import SearchTarget, Span

WRONG = frozenset({RawVerdict.LOSS, RawVerdict.REPLAY, RawVerdict.CONFUSION, RawVerdict.OUT_OF_RANGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All readings of a job, indexed by topic and partition."""

    migration: Migration
    subject: ReadSubject
    old: Snapshot
    new: Snapshot
    live: bool
    """Whether the clusters were read just now, the old one first."""
    flow: Flow
    syncs: SyncIndex
    topics: Mapping[Cluster, Mapping[str, TopicState]]
    partitions: Mapping[Cluster, PartitionIndex]
    commits: Mapping[Cluster, Mapping[TopicPartition, GroupOffset]]
    """Of the compared group."""
    translate: Translate | None
    """The stream's own translation; None for Kafka."""
    oldest: AnyPosition | None
    """The position of a start at the oldest record of the new cluster; None if that is the start of the log."""
    queries: tuple[Query, ...] = ()
    """The job's positions to translate; empty until they are known."""
    belongs_to: BelongsTo = field(default=BelongsTo(cluster=None, reason="No position was compared with a log yet."))

    @classmethod
    def of(
        cls,
        migration: Migration,
        subject: ReadSubject,
        old: Snapshot,
        new: Snapshot,
        *,
        live: bool,
        sibling: Scene | None = None,
    ) -> Scene:
        """Return a scene; the mirror's flow is taken from `sibling`, another job's scene of the same reading."""
        flow = sibling.flow if sibling else _flow(migration, old, new)
        spec = spec_of(migration.source.stream)
        snapshots = {Cluster.OLD: old, Cluster.NEW: new}
        return cls(
            migration=migration,
            subject=subject,
            old=old,
            new=new,
            live=live,
            flow=flow,
            syncs=sibling.syncs if sibling else SyncIndex.of(flow.syncs),
            topics={side: {t.name: t for t in snapshot.topics} for side, snapshot in snapshots.items()},
            partitions={side: PartitionIndex(snapshot.topics) for side, snapshot in snapshots.items()},
            commits={side: _commits(snapshot.group(subject.group)) for side, snapshot in snapshots.items()},
            translate=spec.translate,
            oldest=spec_of(migration.target.stream).oldest,
        )

    @property
    def reads_at_positions(self) -> bool:
        """Whether the streams are read at the positions: live ones that match records in their own way."""
        return self.live and self.translate is not None

    def log(self, cluster: Cluster, topic: str, partition: int) -> LogRange | None:
        return self.partitions[cluster].log(topic, partition)

    def twins(self, topic: str) -> Twins:
        old, new = (self.partitions[side] for side in (Cluster.OLD, Cluster.NEW))
        return Twins(topic, self.migration.new_topic(topic), old, new)

    def group(self, cluster: Cluster) -> GroupState | None:
        return (self.old if cluster is Cluster.OLD else self.new).group(self.subject.group)


def _flow(migration: Migration, old: Snapshot, new: Snapshot) -> Flow:
    return find_flow(
        old.mirror,
        new.mirror,
        source_alias=migration.source.alias,
        target_alias=migration.target.alias,
        separator=migration.topics.separator,
    )


def positions_of(scene: Scene) -> tuple[Query, ...]:
    """Return every partition of the sources' topics, including those without a position, in the job's order."""
    by_topic: dict[tuple[str, str], list[Query]] = {}
    for position in _stated(scene):
        by_topic.setdefault((position.of.source, position.topic), []).append(position)
    marked: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for of_checkpoint in () if scene.subject.read is None else scene.subject.read.sources:
        for at in of_checkpoint.marked:
            marked[of_checkpoint.id, at.topic].add(at.partition)
    results: list[Query] = []
    for (source, topic), positions in by_topic.items():
        results += positions
        have = {position.partition for position in positions} | marked[source, topic]
        state, twins = scene.topics[Cluster.OLD].get(topic), scene.twins(topic)
        shards = () if state is None else state.shards
        missing = sorted(twins.partitions - have - read_before(shards, have))
        of = _source(scene, source)
        results += [_position(of, twins, TopicPartition(topic, partition)) for partition in missing]
    return tuple(results)


def target_of(scene: Scene, position: Query, offset: int, candidates: Iterable[Candidate]) -> SearchTarget | None:
    """Return where to search for a position; None if a log is unknown or the position is past the old log."""
    old, new = (_span(log, position.of.isolation) for log in (position.old, position.new))
    if old is None or new is None or offset > old.end:
        return None
    brackets = tuple(
        Span(start=offset_of(candidate.lo), end=offset_of(candidate.hi))
        for candidate in candidates
        if candidate.lo is not None and candidate.hi is not None
    )
    content = scene.migration.content
    return SearchTarget(
        position=offset,
        old=old,
        new=new,
        brackets=brackets,
        window=content.window_records,
        budget=content.budget_records,
        budget_bytes=content.budget_bytes,
    )


def candidates_of(scene: Scene, position: Query, offset: int) -> tuple[Candidate, ...]:
    """Return where the mirror places an offset, the narrowest candidate first."""
    if position.new is None:
        return ()
    return mirror_candidates(
        offset,
        position.topic,
        position.partition,
        scene.syncs,
        scene.flow.checkpoints,
        position.new_topic,
        position.new,
    )


def under_own_names(scene: Scene, positions: Iterable[Query]) -> Iterator[Query]:
    """Yield positions beside what both clusters hold under the topics' own names: a job reads no renamed copy yet."""
    for position in positions:
        renamed = position.new_topic != position.topic
        log = scene.log(Cluster.NEW, position.topic, position.partition) if renamed else position.new
        yield replace(position, new=log) if renamed else position


def assemble(scene: Scene, matches: Sequence[Match], belongs_to: BelongsTo) -> Comparison:
    judged = [_judged(scene, match, belongs_to) for match in matches]
    rows = tuple(row for row, _ in judged)
    overall = judge_migration(_migration_case(scene, rows, belongs_to))
    findings = (*(finding for _, row_findings in judged for finding in row_findings), *overall)
    return Comparison(
        migration=scene.migration.name,
        checkpoint=scene.subject.read,
        group=scene.subject.group,
        taken_at=scene.new.taken_at,
        belongs_to=belongs_to,
        old=ClusterRef(name=scene.old.name, cluster_id=scene.old.cluster_id, taken_at=scene.old.taken_at),
        new=ClusterRef(name=scene.new.name, cluster_id=scene.new.cluster_id, taken_at=scene.new.taken_at),
        partitions=rows,
        findings=findings,
        summary=summarise(rows, findings),
    )


def summarise(rows: Sequence[PartitionComparison], findings: Iterable[Finding]) -> Summary:
    """Sum up rows. Unknown values count as 0, so the sums about unchanged offsets are lower bounds."""
    classes = Counter(row.exactness for row in rows)
    blocked = {finding.topic_partition for finding in findings if blocks_translated(finding.code)}
    return Summary(
        partitions=len(rows),
        exact=classes[Exactness.EXACT],
        position_exact=classes[Exactness.POSITION_EXACT],
        preserved=classes[Exactness.PRESERVED],
        bounded=classes[Exactness.BOUNDED],
        claimed=classes[Exactness.CLAIMED],
        unknown=classes[Exactness.UNKNOWN],
        blocked=sum(row.topic_partition in blocked for row in rows),
        raw_wrong=sum(row.raw.verdict in WRONG for row in rows),
        raw_out_of_range=sum(row.raw.verdict is RawVerdict.OUT_OF_RANGE for row in rows),
        raw_skip=sum(row.raw.skip or 0 for row in rows),
        raw_replay=sum(row.raw.replay or 0 for row in rows),
    )


def _stated(scene: Scene) -> Iterator[Query]:
    checkpoint, group = scene.subject.read, scene.group(Cluster.OLD)
    if checkpoint is not None:
        rewound_to = scene.subject.rewound_to
        details, progress = checkpoint.details, checkpoint.details.progress
        batch = progress.committed if rewound_to is None else rewound_to
        planned = details.planned_ms(batch)
        for source in checkpoint.sources:
            plain = _source(scene, source.id)
            of = replace(
                plain,
                batch=batch,
                planned_batch=progress.again,
                batch_ms=planned,
                planned_batch_ms=details.planned_ms(progress.again),
                saved_ms=planned or details.written_ms,
            )
            yield from _positions(scene, of, scene.subject.positions(source), details.processed)
            for marked in scene.subject.undecided(source):
                position = _position(plain, scene.twins(marked.topic), marked)
                yield replace(position, offset=only_place(position.old), starts_at=marked.starts_at)
    elif group is not None:
        # Internal topics of an application that the new cluster lacks are judged by findings: there is no target.
        absent = set(group.internal_topics) - scene.topics[Cluster.NEW].keys()
        present = [committed for committed in group.positions if committed.topic not in absent]
        yield from _positions(scene, _source(scene, group.name), present)


def _positions(
    scene: Scene,
    of: QuerySource,
    positions: Iterable[SourcePosition | GroupOffset],
    processed: Callable[[AnyPosition], AnyPosition | None] | None = None,
) -> Iterator[Query]:
    topic, twins = None, None
    for at in positions:
        if twins is None or at.topic != topic:
            topic, twins = at.topic, scene.twins(at.topic)
        certain = at.offset if processed is None else processed(at.offset)
        old, new = twins.logs(at.partition)
        yield Query(
            of=of,
            topic=topic,
            partition=at.partition,
            new_topic=twins.new_topic,
            offset=at.offset,
            old=old,
            new=new,
            planned=at.planned_offset if isinstance(at, SourcePosition) else None,
            processed=None if certain == at.offset else certain,
        )


def _source(scene: Scene, source: str) -> QuerySource:
    return QuerySource(
        source=source,
        isolation=scene.migration.isolation_level,
        oldest=scene.oldest,
        of_group=scene.subject.group is not None,
        of_file=scene.subject.of_file,
        auto_offset_reset=scene.subject.traits.auto_offset_reset,
    )


def _position(of: QuerySource, twins: Twins, at: TopicPartition | MarkedPosition) -> Query:
    old, new = twins.logs(at.partition)
    return Query(
        of=of, topic=at.topic, partition=at.partition, new_topic=twins.new_topic, offset=None, old=old, new=new
    )


def _span(log: LogRange | None, isolation: IsolationLevel) -> Span | None:
    if log is None or log.log_start is None:
        return None
    end = log.end(isolation)
    if end is None:
        return None
    start, highest = offset_of(log.log_start), offset_or_none(log.hw)
    if highest is not None and highest < start:
        return None  # no log ends before it begins
    return Span(start=start, end=max(offset_of(end), start))


def _judged(scene: Scene, match: Match, belongs_to: BelongsTo) -> tuple[PartitionComparison, tuple[Finding, ...]]:
    position, row, answer = match.query, resolve(match), match.answer
    cut = None if answer is None else answer.cut
    findings = judge(
        Case(
            row=row,
            stream=scene.migration.source.stream,
            old_topic=scene.topics[Cluster.OLD].get(position.topic),
            new_topic=scene.topics[Cluster.NEW].get(position.new_topic),
            of_group=position.of.of_group,
            of_file=position.of.of_file,
            job=scene.subject.traits,
            isolation=position.of.isolation,
            link=scene.migration.link,
            writers=scene.migration.writers,
            belongs_to=belongs_to,
            now_ms=epoch_ms(scene.new.taken_at),
            reasons=frozenset({cut.reason.value}) if cut is not None else frozenset(),
            missing=cut.missing if cut is not None and row.counted else None,
            aborted_visible=cut.aborted_visible if cut is not None and row.counted else None,
            pending_equal=match.pending_equal,
            starts_at=position.starts_at,
            replaced=match.replaced or (match.planned.replaced if match.planned is not None else ""),
            syncs=tuple(scene.syncs.syncs(position.topic, position.partition)),
            syncs_read_first=scene.live and bool(scene.old.mirror.syncs),
            old_commit=scene.commits[Cluster.OLD].get(position.topic_partition),
            new_commit=scene.commits[Cluster.NEW].get(position.new_topic_partition),
            terms=scene.migration.terms,
        )
    )
    return replace(row, findings=tuple(finding.code for finding in findings)), findings


def _migration_case(scene: Scene, rows: tuple[PartitionComparison, ...], belongs_to: BelongsTo) -> MigrationCase:
    names = sorted({(row.topic, row.new_topic) for row in rows})
    return MigrationCase(
        stream=scene.migration.source.stream,
        old=scene.old,
        new=scene.new,
        checkpoint=scene.subject.read,
        belongs_to=belongs_to,
        job=scene.subject.traits,
        link=scene.migration.link,
        topics=tuple(
            TopicCase(old_name=old, old=scene.topics[Cluster.OLD].get(old), new=scene.topics[Cluster.NEW].get(new))
            for old, new in names
        ),
        rows=rows,
        now_ms=epoch_ms(scene.new.taken_at),
        application=scene.subject.traits.other_reader,
        other_positions=scene.subject.other_positions,
        sink=scene.subject.sink,
        old_group=scene.group(Cluster.OLD),
        new_group=scene.group(Cluster.NEW),
        terms=scene.migration.terms,
        committed=scene.old.group(scene.subject.traits.commits_to),
    )


def _commits(group: GroupState | None) -> dict[TopicPartition, GroupOffset]:
    offsets = group.positions if group is not None else ()
    return {offset.topic_partition: offset for offset in offsets}
