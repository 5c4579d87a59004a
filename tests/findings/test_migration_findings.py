from __future__ import annotations

from offsetwise.config import JobTraits
from offsetwise.findings import MigrationCase, judge_migration
from offsetwise.model import (
    Application,
    ApplicationEvidence,
    Batch,
    BelongsTo,
    CheckpointSource,
    Cluster,
    GroupOffset,
    GroupState,
    Heartbeat,
    Link,
    LogRange,
    MirrorState,
    PartitionState,
    Problem,
    Severity,
    TopicState,
)
from tests.findings.cases import (
    DAY_MS,
    NOW_MS,
    checkpoint,
    migration,
    pair,
    pending,
    row,
    snapshot,
    topic,
)
from tests.with_cases import with_cases


def beating(timestamp_ms: int, *, source: str = "old") -> MirrorState:
    return MirrorState(heartbeats=(Heartbeat(source=source, target="new", timestamp_ms=timestamp_ms),))


def planned(timestamp_ms: int) -> tuple[Batch, ...]:
    return (Batch(id=6, committed=True, sources=(), timestamp_ms=timestamp_ms),)


RERUN = checkpoint(last_planned_batch=7, reruns_batch=7)
ETL = GroupState(name="orders-etl", state="Stable")
SHARED = GroupState(
    name="sg",
    type="Share",
    start_offsets=(
        GroupOffset(topic="orders", partition=0, offset=3),
        GroupOffset(topic="orders", partition=1, offset=0),
    ),
)


def log(name: str, start: int, end: int) -> TopicState:
    """Make a topic of one partition."""
    return TopicState(name=name, partitions=(PartitionState(partition=0, leader=1, log_start=start, hw=end, lso=end),))


def application(read: int) -> GroupState:
    """Make an application that has committed an offset of its own repartition topic."""
    return GroupState(
        name="app",
        offsets=(
            GroupOffset(topic="orders", partition=0, offset=30),
            GroupOffset(topic="app-by-key-repartition", partition=0, offset=read),
        ),
        application=Application(
            evidence=ApplicationEvidence.METADATA,
            changelogs=("app-counts-changelog",),
            repartitions=("app-by-key-repartition",),
        ),
    )


def of_application(*, new: tuple[TopicState, ...], read: int = 12) -> MigrationCase:
    """Make a migration of an application with state that has read so many of the 30 records of its own."""
    old = (log("orders", 0, 30), log("app-counts-changelog", 0, 12), log("app-by-key-repartition", 0, 30))
    clusters = {"old": snapshot(Cluster.OLD, topics=old), "new": snapshot(Cluster.NEW, topics=new)}
    return migration(checkpoint=None, old_group=application(read), **clusters)


FIRES: dict[str, tuple[MigrationCase, str, str]] = {
    "reader found damage": (
        migration(checkpoint=checkpoint(problems=(Problem(code="CHECKPOINT_DAMAGED", message="Batch 5 is missing."),))),
        "CHECKPOINT_DAMAGED",
        "Batch 5 is missing.",
    ),
    "pending batch goes backwards": (
        migration(checkpoint=RERUN, rows=(row(restart=pending(980, 880)),)),
        "CHECKPOINT_POLLUTED",
        "Batch 7 would end before it begins in 1 partition: orders-0 goes from 1,050 back to 980",
    ),
    "pending batch's ends fit only the new cluster": (
        migration(
            checkpoint=RERUN,
            rows=(row(restart=pending(1300, 1300), new=LogRange(log_start=0, lso=1400, hw=1400)),),
        ),
        "CHECKPOINT_POLLUTED",
        "orders-0 would end at 1,300, the old log at 1,200",
    ),
    "either cluster fits": (
        migration(belongs_to=BelongsTo(cluster=None, reason="every position fits both clusters' ranges")),
        "CLUSTER_UNCLEAR",
        "may come from either cluster: every position fits",
    ),
    "fewer partitions": (
        migration(topics=pair(topic(partitions=3), topic(partitions=2))),
        "PARTITIONS_FEWER",
        "orders has 3 partitions on the old cluster and 2 on the new one: 1 partition cannot continue",
    ),
    "more partitions": (
        migration(topics=pair(topic(partitions=2), topic(partitions=6))),
        "PARTITIONS_MORE",
        "2 partitions on the old cluster and 6 on the new one: 4 partitions need a start",
    ),
    "batch planned, not committed": (
        migration(checkpoint=RERUN),
        "PENDING_BATCH",
        "Batch 7 was planned and not committed, and will run again; batch 6 is the last committed one",
    ),
    "batch planned a moment ago": (
        migration(checkpoint=checkpoint(batches=planned(NOW_MS - 40_000))),
        "READER_SUSPECTED",
        "planned 40 s before",
    ),
    "group with members": (
        migration(checkpoint=None, old_group=ETL),
        "READER_SUSPECTED",
        "Group orders-etl is Stable on the old cluster",
    ),
    "heartbeat an hour old": (
        migration(new=snapshot(Cluster.NEW, mirror=beating(NOW_MS - 3_600_000))),
        "MIRROR_STALLED",
        "from 2025-12-31T23:00:00Z, 1 h before",
    ),
    "sink that remembers batch ids": (
        migration(job=JobTraits(sink="delta")),
        "SINK_BATCH_IDS",
        "The delta sink may have recorded batches up to 6",
    ),
    "group offsets": (migration(checkpoint=None, old_group=ETL), "GROUP_OFFSETS_EXPIRE", "orders-etl"),
    "timestamps of the new cluster": (
        migration(topics=pair(topic(), topic(message_timestamp_type="LogAppendTime"))),
        "TIMESTAMPS_UNUSABLE",
        "LogAppendTime on the new cluster",
    ),
    "compacted on both": (
        migration(topics=pair(topic(cleanup_policy="compact"), topic(cleanup_policy="compact,delete"))),
        "COMPACTED",
        "orders is compacted on the old cluster and the new cluster",
    ),
    "source of another kind": (
        migration(
            checkpoint=checkpoint(
                sources=(
                    CheckpointSource(index=0, id="a", kind="kafka"),
                    CheckpointSource(index=1, id="b", kind="other"),
                )
            )
        ),
        "SOURCE_NOT_COMPARED",
        "Source 1 is of kind other",
    ),
    "source of several clusters": (
        migration(checkpoint=checkpoint(sources=(CheckpointSource(index=0, id="a", kind="dynamic-kafka"),))),
        "SOURCE_NOT_COMPARED",
        "A savepoint with it is not edited as it is",
    ),
    "source of another stream": (
        migration(checkpoint=checkpoint(sources=(CheckpointSource(index=0, id="a", kind="kinesis"),))),
        "SOURCE_NOT_COMPARED",
        "Source 0 is of kind kinesis",
    ),
    "share group": (
        migration(checkpoint=None, old_group=SHARED, old=snapshot(Cluster.OLD, topics=(log("orders", 0, 20),))),
        "SHARE_GROUP_NOT_MOVED",
        "log end minus start offset, is at most 17 records; the ends of 1 more partition were not read.",
    ),
    "application of Kafka Streams": (
        of_application(new=()),
        "STREAMS_NOT_MOVED",
        "its commits carry the metadata of Kafka Streams. It reads 1 input topic (orders) and keeps 1 changelog topic",
    ),
    "changelog topic without a copy": (
        of_application(new=()),
        "STREAMS_STATE_NOT_MIRRORED",
        "1 changelog topic of 1 hold: app-counts-changelog (at most 12 records; it does not exist there). Its offsets",
    ),
    "changelog topic under another name": (
        of_application(new=(log("old.app-counts-changelog", 0, 12),)),
        "STREAMS_STATE_NOT_MIRRORED",
        "it is there as old.app-counts-changelog, where nothing looks for it",
    ),
    "repartition topic with unread records": (
        of_application(new=()),
        "STREAMS_REPARTITION_UNREAD",
        "app-by-key-repartition (at most 18 records; it does not exist there). The input",
    ),
    "checkpoint of last week": (
        migration(checkpoint=checkpoint(batches=planned(NOW_MS - 9 * DAY_MS))),
        "CHECKPOINT_OLD",
        "9 d before",
    ),
}

SILENT: dict[str, tuple[MigrationCase, str]] = {
    "consumer group": (migration(checkpoint=None, old_group=ETL), "SHARE_GROUP_NOT_MOVED"),
    "consumer group of no application": (migration(checkpoint=None, old_group=ETL), "STREAMS_NOT_MOVED"),
    "changelog topic with a copy": (
        of_application(new=(log("app-counts-changelog", 0, 10),)),
        "STREAMS_STATE_NOT_MIRRORED",
    ),
    "changelog topic that was not read": (
        of_application(new=(TopicState(name="app-counts-changelog", error="not authorised"),)),
        "STREAMS_STATE_NOT_MIRRORED",
    ),
    "repartition topic with a copy": (
        of_application(new=(log("app-by-key-repartition", 0, 30),)),
        "STREAMS_REPARTITION_UNREAD",
    ),
    "repartition topic that was not read": (
        of_application(new=(TopicState(name="app-by-key-repartition", error="not authorised"),)),
        "STREAMS_REPARTITION_UNREAD",
    ),
    "offsets of a share group": (migration(checkpoint=None, old_group=SHARED), "GROUP_OFFSETS_EXPIRE"),
    "pending batch fits both clusters": (
        migration(checkpoint=RERUN, rows=(row(restart=pending(1090, 990)),)),
        "CHECKPOINT_POLLUTED",
    ),
    "pending batch past both logs": (
        migration(checkpoint=RERUN, rows=(row(restart=pending(1300, None)),)),
        "CHECKPOINT_POLLUTED",
    ),
    "ranges not read": (
        migration(
            checkpoint=RERUN,
            rows=(row(restart=pending(1300, None), old=LogRange(log_start=None, lso=None, hw=None)),),
        ),
        "CHECKPOINT_POLLUTED",
    ),
    "topic that could not be read": (
        migration(topics=pair(topic(partitions=3), TopicState(name="orders", error="not authorised"))),
        "PARTITIONS_FEWER",
    ),
    "topic missing": (migration(topics=pair(topic(partitions=3), None)), "PARTITIONS_FEWER"),
    "everything committed": (migration(), "PENDING_BATCH"),
    "no heartbeat at all": (migration(), "MIRROR_STALLED"),
    "heartbeat of a moment ago": (
        migration(new=snapshot(Cluster.NEW, mirror=beating(NOW_MS - 2_000))),
        "MIRROR_STALLED",
    ),
    "heartbeat of another flow": (
        migration(new=snapshot(Cluster.NEW, mirror=beating(0, source="backup"))),
        "MIRROR_STALLED",
    ),
    "newest heartbeat counts": (
        migration(
            old=snapshot(Cluster.OLD, mirror=beating(NOW_MS - 1_000)), new=snapshot(Cluster.NEW, mirror=beating(0))
        ),
        "MIRROR_STALLED",
    ),
    "other kind of link": (
        migration(link=Link.OTHER, new=snapshot(Cluster.NEW, mirror=beating(0))),
        "MIRROR_STALLED",
    ),
    "batch without a time": (
        migration(checkpoint=checkpoint(batches=(Batch(id=6, committed=True, sources=()),))),
        "CHECKPOINT_OLD",
    ),
    "clock of the driver ahead": (
        migration(checkpoint=checkpoint(batches=planned(NOW_MS + 5_000))),
        "READER_SUSPECTED",
    ),
    "empty group": (
        migration(checkpoint=None, old_group=GroupState(name="etl", state="EMPTY")),
        "READER_SUSPECTED",
    ),
    "group state not read": (migration(checkpoint=None, old_group=GroupState(name="etl")), "READER_SUSPECTED"),
    "sink not stated": (migration(), "SINK_BATCH_IDS"),
    "sink without batch ids": (migration(job=JobTraits(sink="kafka")), "SINK_BATCH_IDS"),
}


@with_cases(("given", "code", "text"), FIRES.values(), ids=FIRES.keys())
def test_a_finding_about_the_migration_says_its_numbers(given: MigrationCase, code: str, text: str) -> None:
    found = {finding.code: finding for finding in judge_migration(given)}

    assert text in found[code].message
    assert found[code].message.endswith(".")
    assert found[code].remedy
    assert found[code].partition is None


@with_cases(("given", "code"), SILENT.values(), ids=SILENT.keys())
def test_a_finding_about_the_migration_stays_silent_when_it_is_not_proven(given: MigrationCase, code: str) -> None:
    assert code not in {finding.code for finding in judge_migration(given)}


def test_a_migration_in_order_has_no_finding() -> None:
    assert judge_migration(migration()) == ()


def test_a_readers_own_fix_wins_over_the_general_remedy() -> None:
    problem = Problem(code="CHECKPOINT_DAMAGED", message="offsets/5 is empty.", fix="Restore offsets/5.")

    (found,) = judge_migration(migration(checkpoint=checkpoint(problems=(problem,))))

    assert found.remedy == "Restore offsets/5."


def test_a_problem_of_a_later_release_is_kept_and_blocks() -> None:
    problem = Problem(code="FROM_THE_FUTURE", message="Something new.")

    (found,) = judge_migration(migration(new=snapshot(Cluster.NEW, problems=(problem,))))

    assert (found.code, found.severity) == ("FROM_THE_FUTURE", Severity.BLOCKS)


def test_a_pending_batch_is_told_once_when_the_reader_saw_it_too() -> None:
    seen = Problem(code="PENDING_BATCH", message="Batch 7 is planned and not committed.")

    found = judge_migration(migration(checkpoint=checkpoint(reruns_batch=7, problems=(seen,))))

    assert [finding.message for finding in found] == [seen.message]


def test_a_running_query_is_told_once_when_the_reader_saw_it_too() -> None:
    seen = Problem(code="READER_SUSPECTED", message="A query seems to be running on this checkpoint.")
    given = migration(checkpoint=checkpoint(problems=(seen,), batches=planned(NOW_MS - 40_000)))

    assert [finding.message for finding in judge_migration(given)] == [seen.message]


def test_a_missing_topic_is_told_by_the_rows_that_need_it() -> None:
    seen = Problem(code="TOPIC_MISSING", message="Topic 'orders' does not exist on cluster 'new'.")
    new = snapshot(Cluster.NEW, problems=(seen,))

    assert judge_migration(migration(new=new, topics=pair(topic(), None))) == ()
    assert [finding.code for finding in judge_migration(migration(new=new))] == ["TOPIC_MISSING"]


def test_pollution_is_told_once_when_the_reader_saw_it_too() -> None:
    seen = Problem(code="CHECKPOINT_POLLUTED", message="Batch 7 goes backwards in orders-0.")
    given = migration(checkpoint=checkpoint(reruns_batch=7, problems=(seen,)), rows=(row(restart=pending(980, 880)),))

    found = [finding for finding in judge_migration(given) if finding.code == "CHECKPOINT_POLLUTED"]

    assert [finding.message for finding in found] == [seen.message]
