from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings.case import MigrationCase, TopicCase
from offsetwise.findings.register import Fact, Said, Stage, finding
from offsetwise.model import Details, Severity, TopicState
from offsetwise.model.clusters import has_members
from offsetwise.ports.stream import is_of_several_clusters, spec_of
from offsetwise.wording import duration, many, utc

HEARTBEAT_AGE_MS = 60_000
"""MirrorMaker writes a heartbeat every second; a minute without one is no jitter."""

RUNNING_AGE_MS = 120_000
"""A checkpoint with a younger last batch may belong to a running job."""

OLD_AGE_MS = 24 * 3_600_000

MOVE_THE_OTHERS = (
    "State `dynamic_cluster` and `dynamic_servers` of the job where one of the source's clusters is the old one. "
    "Otherwise write the positions of the other sources elsewhere: --target consumer-group:GROUP. The source of "
    "several clusters then begins as its own initializer says."
)
"""The remedy if a savepoint is not edited because a source reads several clusters and none is stated."""


@finding(
    code="CLUSTER_UNCLEAR",
    severity=Severity.BLOCKS,
    title="It is unclear which cluster the checkpoint belongs to",
    remedy="Say `belongs_to: old` or `belongs_to: new` for the checkpoint in the migration file, and compare again.",
    rank=120,
    stage=Stage.MIGRATION,
)
def cluster_unclear(case: MigrationCase) -> Iterator[str]:
    """The cluster that the positions were read from is unknown."""
    if case.belongs_to.cluster is None:
        yield (f"The positions may come from either cluster: {case.belongs_to.reason.rstrip('.')}.")


@finding(
    code="CHECKPOINT_OLD",
    severity=Severity.INFORMS,
    title="The checkpoint is old",
    remedy="Check that this is the checkpoint the job really uses.",
    rank=60,
    stage=Stage.MIGRATION,
)
def checkpoint_old(case: MigrationCase) -> Iterator[str]:
    """The last batch was planned, or the savepoint written, more than a day before the clusters were read."""
    details = Details() if case.checkpoint is None else case.checkpoint.details
    written = details.written_ms
    if written is not None and case.now_ms - written > OLD_AGE_MS:
        yield (
            f"{details.last_written} at {utc(written)}, {duration(case.now_ms - written)} before the clusters were "
            "read."
        )


@finding(
    code="SOURCE_NOT_COMPARED",
    severity=Severity.WARNS,
    title="A source of another kind is not compared",
    remedy="Find out where that source restarts. Edit a copy of the checkpoint, which leaves its position as it is.",
    rank=290,
    stage=Stage.MIGRATION,
)
def source_not_compared(case: MigrationCase) -> Iterator[Said]:
    """The job also reads a source whose positions are not those of a cluster of the migration."""
    sources = () if case.checkpoint is None else case.checkpoint.sources
    for source in sources:
        if source.kind not in spec_of(case.stream).compared:
            message = f"Source {source.index} is of kind {source.kind}: its position is neither compared nor moved."
            if is_of_several_clusters(source.kind):
                yield f"{message} A savepoint with it is not edited as it is.", MOVE_THE_OTHERS
            else:
                yield f"{message} A copy keeps it as it is, and a fresh checkpoint loses it."


@finding(
    code="READER_SUSPECTED",
    severity=Severity.WARNS,
    title="The job may still be running",
    remedy="Stop the job, then compare again: a running one moves its positions.",
    rank=140,
    stage=Stage.MIGRATION,
    heading="Running: a query seems to write to it",
)
def reader_suspected(case: MigrationCase) -> Iterator[str]:
    """A batch was planned or a checkpoint taken a moment ago, or a group has members. A savepoint may end a job."""
    details = Details() if case.checkpoint is None else case.checkpoint.details
    written, ended = details.written_ms, details.kind == "savepoint"
    if written is not None and not ended and 0 <= case.now_ms - written < RUNNING_AGE_MS:
        yield (
            f"{details.last_written} {duration(case.now_ms - written)} before the clusters were read: the job may "
            "still be running."
        )
    for name, group in (("old", case.old_group), ("new", case.new_group)):
        if group is not None and has_members(group.state):
            yield (f"Group {group.name} is {group.state} on the {name} cluster: it has members.")


@finding(
    code="MIRROR_STALLED",
    severity=Severity.WARNS,
    title="The mirror's heartbeat is old",
    remedy="Look at the mirror's connectors; compare again when it runs.",
    rank=40,
    stage=Stage.MIGRATION,
    needs={Fact.MIRROR},
)
def mirror_stalled(case: MigrationCase) -> Iterator[str]:
    """The newest heartbeat of this flow is older than a minute. The absence of heartbeats proves nothing."""
    beats = [
        beat.timestamp_ms
        for snapshot in (case.old, case.new)
        for beat in snapshot.mirror.heartbeats
        if (beat.source, beat.target) == (case.old.alias, case.new.alias)
    ]
    if beats and case.now_ms - max(beats) > HEARTBEAT_AGE_MS:
        yield (
            f"The last heartbeat from {case.old.alias} to {case.new.alias} is from {utc(max(beats))}, "
            f"{duration(case.now_ms - max(beats))} before the clusters were read."
        )


@finding(
    code="GROUP_OFFSETS_EXPIRE",
    severity=Severity.WARNS,
    title="Offsets written for an empty group expire",
    remedy="Start the consumers soon after writing, or raise `offsets.retention.minutes` on the new cluster.",
    rank=80,
    stage=Stage.MIGRATION,
    needs={Fact.GROUP},
)
def group_offsets_expire(case: MigrationCase) -> Iterator[str]:
    """A group's offsets on the new cluster expire while it has no members."""
    if case.old_group is not None and not case.old_group.start_offsets:
        yield (
            f"Offsets written for {case.old_group.name} on the new cluster expire after its "
            "offsets.retention.minutes (10,080 by default; not read here) unless a member joins."
        )


@finding(
    code="PARTITIONS_FEWER",
    severity=Severity.BLOCKS,
    title="The new topic has fewer partitions",
    remedy="Give the new topic the same number of partitions as the old one and mirror it again.",
    rank=130,
    stage=Stage.TOPIC,
)
def partitions_fewer(pair: TopicCase) -> Iterator[str]:
    if (more := _more(pair)) < 0:
        yield f"{_counted(pair)}: {many(-more, 'partition')} cannot continue."


@finding(
    code="PARTITIONS_MORE",
    severity=Severity.INFORMS,
    title="The new topic has more partitions",
    remedy="Confirm where the job starts in the extra partitions, and that the order per key is kept.",
    rank=50,
    stage=Stage.TOPIC,
)
def partitions_more(pair: TopicCase) -> Iterator[str]:
    if (more := _more(pair)) > 0:
        yield f"{_counted(pair)}: {many(more, 'partition')} need a start of their own."


@finding(
    code="TIMESTAMPS_UNUSABLE",
    severity=Severity.INFORMS,
    title="Timestamps are set when records are appended",
    remedy="Expect other event times on the new cluster if the job uses the record timestamp.",
    rank=10,
    stage=Stage.TOPIC,
)
def timestamps_unusable(pair: TopicCase) -> Iterator[str]:
    """A cluster replaces the record's timestamp by the time of appending."""
    if where := _where(pair, "message.timestamp.type", "LogAppendTime"):
        yield (
            f"{pair.old_name} has message.timestamp.type LogAppendTime on {where}: its timestamps do not "
            "identify records, and event times differ between the clusters."
        )


@finding(
    code="COMPACTED",
    severity=Severity.INFORMS,
    title="The topic is compacted",
    remedy="Nothing, as long as the job may see a key's later value without the earlier ones.",
    rank=20,
    stage=Stage.TOPIC,
)
def compacted(pair: TopicCase) -> Iterator[str]:
    if where := _where(pair, "cleanup.policy", "compact"):
        yield (
            f"{pair.old_name} is compacted on {where}: earlier values of a key may be missing there, and offsets "
            "are not consecutive."
        )


def _more(pair: TopicCase) -> int:
    if not (_read(pair.old) and _read(pair.new)) or (pair.new is not None and pair.new.shards):
        return 0
    return _count(pair.new) - _count(pair.old)


def _counted(pair: TopicCase) -> str:
    old, new = many(_count(pair.old), "partition"), _count(pair.new)
    return f"{pair.old_name} has {old} on the old cluster and {new:,} on the new one"


def _read(topic: TopicState | None) -> bool:
    return topic is not None and topic.error is None and bool(topic.partitions)


def _count(topic: TopicState | None) -> int:
    return 0 if topic is None else len(topic.partitions)


def _where(pair: TopicCase, key: str, value: str) -> str:
    names = [
        f"the {name} cluster"
        for name, topic in (("old", pair.old), ("new", pair.new))
        if topic is not None and value in dict(topic.config).get(key, "").split(",")
    ]
    return " and ".join(names)
