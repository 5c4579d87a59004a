from __future__ import annotations

from offsetwise.config import JobTraits
from offsetwise.findings import MigrationCase, judge_migration
from offsetwise.model import (
    Batch,
    BelongsTo,
    CheckpointSource,
    Cluster,
    GroupState,
    Heartbeat,
    Link,
    LogRange,
    MirrorState,
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
        "A savepoint with it is not edited",
    ),
    "source of another stream": (
        migration(checkpoint=checkpoint(sources=(CheckpointSource(index=0, id="a", kind="kinesis"),))),
        "SOURCE_NOT_COMPARED",
        "Source 0 is of kind kinesis",
    ),
    "checkpoint of last week": (
        migration(checkpoint=checkpoint(batches=planned(NOW_MS - 9 * DAY_MS))),
        "CHECKPOINT_OLD",
        "9 d before",
    ),
}

SILENT: dict[str, tuple[MigrationCase, str]] = {
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
