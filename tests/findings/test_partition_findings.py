from __future__ import annotations

from dataclasses import replace

from offsetwise.config import JobTraits
from offsetwise.findings import Case, judge
from offsetwise.model import (
    Ahead,
    BelongsTo,
    Cluster,
    Evidence,
    Exactness,
    GroupOffset,
    IsolationLevel,
    Link,
    LogRange,
    Neighbour,
    RawVerdict,
    RestartPoint,
    Severity,
    Side,
    TopicState,
)
from tests.findings.cases import (
    HOUR_MS,
    NOW_MS,
    ROW,
    case,
    pending,
    raw,
    row,
    syncs,
    topic,
)
from tests.with_cases import with_cases

TOLERANT = JobTraits(tolerates_replay=True)
UNEXAMINED = Ahead(examined=False)
UNREAD = LogRange(log_start=None, lso=None, hw=None)


def next_record(timestamp_ms: int, new_offset: int | None = 950) -> Evidence:
    record = Neighbour(
        old_offset=1050, new_offset=new_offset, timestamp_ms=timestamp_ms, identity="ab", side=Side.UNREAD
    )
    return Evidence(reason="Counted.", neighbours=(record,))


UNTIMED = replace(next_record(0).neighbours[0], timestamp_ms=None)


def commit(offset: int, *, epoch: int | None = None, metadata: str = "") -> GroupOffset:
    return GroupOffset(topic="orders", partition=0, offset=offset, leader_epoch=epoch, metadata=metadata)


FIRES: dict[str, tuple[Case, str, str]] = {
    "old number past the new end": (
        case(row(old=LogRange(log_start=0, lso=1400, hw=1400), old_offset=1300, raw=raw(RawVerdict.OUT_OF_RANGE))),
        "LOSS_BEYOND_END",
        "1,300 lies 200 offsets past the end of orders-0 on the new cluster (1,100)",
    ),
    "pending batch's end past the new end": (
        case(row(restart=pending(1101, 1001))),
        "LOSS_BEYOND_END",
        "1,101 lies 1 offset past the end",
    ),
    "old number skips, though the place is exact": (
        case(row(raw=raw(RawVerdict.LOSS, skip=100, replay=0))),
        "LOSS_INSIDE_LOG",
        "would skip 100 records that the job has not read; the same position there is 950",
    ),
    "old number skips, place unknown": (
        case(row(raw=raw(RawVerdict.LOSS), new_offset=None, exactness=Exactness.UNKNOWN)),
        "LOSS_INSIDE_LOG",
        "would skip records that the job has not read.",
    ),
    "old number holds another record": (
        case(row(raw=raw(RawVerdict.CONFUSION), new_offset=None, exactness=Exactness.UNKNOWN)),
        "CONFUSION",
        "Offset 1,050 of orders-0 on the new cluster holds another record",
    ),
    "old position below the old log start": (
        case(row(old=LogRange(log_start=1060, lso=1200, hw=1200))),
        "BELOW_LOG_START",
        "1,050 lies below the old log's start (1,060): up to 10 records",
    ),
    "place below the new log start": (
        case(row(new=LogRange(log_start=951, lso=1100, hw=1100))),
        "BELOW_LOG_START",
        "The position, 950, lies below the new log's start (951): up to 1 record may be gone there",
    ),
    "only the old number below the new log start": (
        case(
            row(
                new_offset=5050,
                new=LogRange(log_start=4000, lso=6000, hw=6000),
                raw=raw(RawVerdict.OUT_OF_RANGE),
                restart=(RestartPoint(batch=6, old=1050, new=5050),),
            )
        ),
        "BELOW_LOG_START",
        "The number 1,050 as it is lies 2,950 offsets below the new log's start (4,000)",
    ),
    "no such topic on the new cluster": (
        case(row(new=UNREAD), new_topic=None),
        "TOPIC_MISSING",
        "The new cluster has no topic orders",
    ),
    "no such topic on the old cluster": (
        case(row(old=UNREAD), old_topic=None),
        "TOPIC_MISSING",
        "The old cluster has no topic orders, which the job reads",
    ),
    "partition number too high for the new topic": (
        case(row(partition=2, new=UNREAD), old_topic=topic(partitions=3)),
        "PARTITION_MISSING",
        "Topic orders on the new cluster has 2 partitions, none with number 2",
    ),
    "mirror wrote past the new log's end": (
        case(
            row(exactness=Exactness.CLAIMED, new_offset=4001, new=LogRange(log_start=0, lso=50, hw=50)),
            syncs=syncs((3900, 3900), (4000, 4000)),
            syncs_read_first=True,
        ),
        "TOPIC_RECREATED",
        "wrote old offset 4,000 to 4,000, but the new log ends at 50",
    ),
    "new log began again while the mirror went on": (
        case(row(exactness=Exactness.POSITION_EXACT), syncs=syncs((900, 800), (1000, 900), (1100, 0))),
        "TOPIC_RECREATED",
        "went on from old offset 1,000 (new 900) to 1,100 (new 0)",
    ),
    "partition at its latest offset": (
        case(row(old_offset=None), starts_at="latest"),
        "NO_POSITION",
        "no offset for orders-0 (latest): where it begins is chosen when the job starts",
    ),
    "records younger than the batch that read them": (
        case(replaced="The record before 1,050 is too young."),
        "LOG_REPLACED",
        "The record before 1,050 is too young.",
    ),
    "transaction open on the old cluster": (
        case(row(old=LogRange(log_start=100, lso=1190, hw=1200))),
        "OPEN_TRANSACTION",
        "the old log has its last stable offset at 1,190 and its end at 1,200",
    ),
    "transaction open on the new cluster": (
        case(row(new=LogRange(log_start=0, lso=1090, hw=1100))),
        "OPEN_TRANSACTION",
        "the new log has its last stable offset at 1,090 and its end at 1,100",
    ),
    "last record read has no copy": (
        case(row(new_offset=None, exactness=Exactness.UNKNOWN), reasons=frozenset({"NOT_YET_MIRRORED"})),
        "NOT_YET_MIRRORED",
        "The last record read before 1,050 has no copy on the new log, which ends at 1,100",
    ),
    "preserved place past the new end": (
        case(row(new_offset=1110, exactness=Exactness.PRESERVED)),
        "NOT_YET_MIRRORED",
        "1,110, 10 offsets past the end of the new log (1,100)",
    ),
    "pending batch's translated end past the new end": (
        case(row(restart=pending(1210, 1110))),
        "NOT_YET_MIRRORED",
        "1,110, 10 offsets past",
    ),
    "pending batch holds other records": (
        case(row(restart=pending(1100, 1000)), pending_equal=False),
        "PENDING_BATCH_DIFFERS",
        "1,050 to 1,100 on the old cluster, holds other records",
    ),
    "records of other writers below": (
        case(row(exactness=Exactness.BOUNDED, foreign_below=3, replay=3)),
        "NATIVE_BELOW",
        "3 records that no record of the old log explains lie among",
    ),
    "aborted records visible to a read_committed job": (
        case(isolation=IsolationLevel.READ_COMMITTED, aborted_visible=60),
        "ABORTED_VISIBLE",
        "60 records near the position were aborted",
    ),
    "replay for a job that is not said to tolerate it": (
        case(row(replay=12, exactness=Exactness.BOUNDED)),
        "REPLAY_NOT_TOLERATED",
        "Resuming at 950 would read up to 12 records twice",
    ),
    "unknown replay of a bounded place": (
        case(row(replay=None, exactness=Exactness.BOUNDED), job=JobTraits(stateful=True, tolerates_replay=False)),
        "REPLAY_NOT_TOLERATED",
        "how many is unknown, and the job is not stated to tolerate that and keeps state",
    ),
    "unknown place": (
        case(row(new_offset=None, exactness=Exactness.UNKNOWN, evidence=Evidence(reason="No record is on both"))),
        "UNTRANSLATED",
        "1,050 has no known position on the new cluster: No record is on both.",
    ),
    "claimed place": (
        case(row(exactness=Exactness.CLAIMED, evidence=Evidence(reason="A sync says so."))),
        "UNTRANSLATED",
        "1,050 is only claimed to be 950 on the new cluster: A sync says so.",
    ),
    "pending batch's end without a place": (
        case(row(restart=pending(1100, None))),
        "UNTRANSLATED",
        "1,100, an end of batch 7, has no known position",
    ),
    "replay for a job that tolerates it": (
        case(row(replay=12, exactness=Exactness.BOUNDED), job=TOLERANT),
        "REPLAY",
        "Resuming at 950 would read up to 12 records twice.",
    ),
    "old number repeats records": (
        case(row(raw=raw(RawVerdict.REPLAY, skip=0, replay=40))),
        "REPLAY",
        "Reusing 1,050 on the new cluster would read 40 records again",
    ),
    "partition the checkpoint lacks": (
        case(row(old_offset=None, new_offset=None, restart=(), exactness=Exactness.UNKNOWN)),
        "NEW_PARTITION",
        "The job has no position for orders-0; it would begin at its start, 0",
    ),
    "partition without a commit of the group": (
        case(row(old_offset=None, new_offset=None, restart=(), exactness=Exactness.UNKNOWN), of_group=True),
        "NO_COMMIT",
        "auto.offset.reset, which is not stated: earliest reads up to 1,100 records of the new log, latest none",
    ),
    "raw number copied into the new group": (
        case(new_commit=commit(1050)),
        "TARGET_AHEAD",
        "is 1,050, the old number as it is: 100 offsets past the position 950",
    ),
    "the mirror's syncs show records to come": (
        case(row(new=LogRange(log_start=0, lso=1070, hw=1070)), syncs=syncs((600, 500), (1100, 1000))),
        "MIRROR_BEHIND",
        "is of old offset 1,100 (new 1,000). Behind it the old log has 99 offsets and the new log 69: the mirror has "
        "30 to 99 records still to copy.",
    ),
    "a third party's copy looks like the end of a mirror that lags": (
        case(
            row(old_offset=1200, new=LogRange(log_start=0, lso=1051, hw=1051), new_offset=1051),
            syncs=syncs((1149, 1049)),
        ),
        "MIRROR_BEHIND",
        "has 49 to 50 records still to copy. The job has read 49 of them or more, and would read these again.",
    ),
    "unread records missing": (
        case(row(ahead=Ahead(examined=True, missing=7, duplicated=0, foreign=0), exactness=Exactness.POSITION_EXACT)),
        "MISSING_AHEAD",
        "7 records from 1,050 on have no copy",
    ),
    "foreign records ahead": (
        case(row(ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=1), exactness=Exactness.POSITION_EXACT)),
        "FOREIGN_AHEAD",
        "1 record ahead of the position on the new cluster comes from no record of the old log",
    ),
    "foreign records ahead of a job that reads committed ones": (
        case(
            row(ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=2), exactness=Exactness.POSITION_EXACT),
            isolation=IsolationLevel.READ_COMMITTED,
        ),
        "FOREIGN_AHEAD",
        "2 records ahead of the position on the new cluster come from no committed record of the old log",
    ),
    "second copies ahead": (
        case(row(ahead=Ahead(examined=True, missing=0, duplicated=5, foreign=0), exactness=Exactness.POSITION_EXACT)),
        "DUPLICATES_AHEAD",
        "5 records ahead of the position on the new cluster are second copies",
    ),
    "schema ids set aside": (
        case(row(evidence=Evidence(reason="Counted.", schema_ids=((7, 9), (8, 10))))),
        "SCHEMA_IDS_MASKED",
        "2 schema ids differ between the clusters (7 → 9, 8 → 10)",
    ),
    "commit with metadata": (case(old_commit=commit(1050, metadata="a|b")), "METADATA_NOT_CARRIED", "3 bytes"),
    "epoch the new cluster never had": (
        case(new_commit=commit(950, epoch=31), new_topic=topic(epoch=2)),
        "LEADER_EPOCH_CARRIED",
        "names leader epoch 31, but the partition there is at epoch 2",
    ),
    "next record expires within a day": (
        case(row(evidence=next_record(NOW_MS - 23 * HOUR_MS)), new_topic=topic(retention_ms="86400000")),
        "RETENTION_BEFORE_CUTOVER",
        "950 on the new cluster, keeps its old timestamp and may be deleted from 2026-01-01T01:00:00Z on",
    ),
    "next record of the first moment of all": (
        case(row(evidence=next_record(0)), new_topic=topic(retention_ms="86400000")),
        "RETENTION_BEFORE_CUTOVER",
        "may be deleted from 1970-01-02T00:00:00Z on",
    ),
    "read_committed job past the last stable offset": (
        case(row(old=LogRange(log_start=100, lso=1040, hw=1200)), isolation=IsolationLevel.READ_COMMITTED),
        "ISOLATION_DIFFERS",
        "is at 1,050, 10 offsets past the last stable offset of the old log (1,040)",
    ),
    "what lies ahead is too much to read, and no timestamp tells": (
        case(
            row(ahead=UNEXAMINED, exactness=Exactness.BOUNDED, lag_old=300_000), reasons=frozenset({"AHEAD_NOT_READ"})
        ),
        "EARLIER_COPIES_POSSIBLE",
        "300,000 offsets lie ahead on the old cluster, more than the budget, and were not read",
    ),
    "records left out between copied ones": (
        case(row(ahead=UNEXAMINED, exactness=Exactness.POSITION_EXACT), missing=4),
        "RECORDS_FILTERED",
        "4 records between copied ones",
    ),
}

SILENT: dict[str, tuple[Case, str]] = {
    "the mirror's syncs are at the end": (case(syncs=syncs((600, 500), (1199, 1099))), "MIRROR_BEHIND"),
    "the mirror has copied all that lies behind its newest sync": (case(syncs=syncs((1100, 1000))), "MIRROR_BEHIND"),
    "a log with markers of transactions": (
        case(row(new=LogRange(log_start=0, lso=1070, hw=1070)), syncs=syncs((600, 500), (1100, 990))),
        "MIRROR_BEHIND",
    ),
    "a mirror behind, of a compacted topic": (
        case(
            row(new=LogRange(log_start=0, lso=1070, hw=1070)),
            syncs=syncs((1100, 1000)),
            old_topic=topic(cleanup_policy="compact"),
        ),
        "MIRROR_BEHIND",
    ),
    "a mirror behind, of a bounded position": (
        case(row(new=LogRange(log_start=0, lso=1070, hw=1070), exactness=Exactness.BOUNDED), syncs=syncs((1100, 1000))),
        "MIRROR_BEHIND",
    ),
    "syncs past the end of the new log": (
        case(row(new=LogRange(log_start=0, lso=900, hw=900)), syncs=syncs((1100, 1000))),
        "MIRROR_BEHIND",
    ),
    "same number on both": (case(row(old_offset=950)), "LOSS_INSIDE_LOG"),
    "checkpoint already belongs to the new cluster": (
        case(
            row(raw=raw(RawVerdict.LOSS, skip=100)),
            belongs_to=BelongsTo(cluster=Cluster.NEW, reason="stated"),
        ),
        "LOSS_INSIDE_LOG",
    ),
    "old number at the new end exactly": (case(row(old_offset=1100)), "LOSS_BEYOND_END"),
    "new end not read": (case(row(new=UNREAD)), "LOSS_BEYOND_END"),
    "old number above the new start": (case(), "BELOW_LOG_START"),
    "position on the old log start": (
        case(row(old=LogRange(log_start=1050, lso=1200, hw=1200))),
        "BELOW_LOG_START",
    ),
    "old topic gone after the switch": (
        case(old_topic=None, belongs_to=BelongsTo(cluster=Cluster.NEW, reason="stated")),
        "TOPIC_MISSING",
    ),
    "topic that could not be read": (
        case(new_topic=TopicState(name="orders", error="not authorised")),
        "TOPIC_MISSING",
    ),
    "partitions that could not be read": (
        case(new_topic=TopicState(name="orders", error="not authorised")),
        "PARTITION_MISSING",
    ),
    "partition at its latest offset": (case(row(old_offset=None), starts_at="latest"), "NEW_PARTITION"),
    "start in a log without records": (case(starts_at="latest"), "NO_POSITION"),
    "partition that the checkpoint does not name": (case(row(old_offset=None)), "NO_POSITION"),
    "log that may be the one that was read": (case(), "LOG_REPLACED"),
    "partition that failed to answer": (
        case(row(new=UNREAD), new_topic=topic()),
        "PARTITION_MISSING",
    ),
    "new partition absent on the old cluster": (
        case(row(partition=2, old_offset=None, old=UNREAD, restart=()), new_topic=topic(partitions=3)),
        "PARTITION_MISSING",
    ),
    "sync read after the log end was": (
        case(row(exactness=Exactness.CLAIMED), syncs=syncs((1300, 1200))),
        "TOPIC_RECREATED",
    ),
    "mirror began again from the start": (
        case(row(exactness=Exactness.POSITION_EXACT), syncs=syncs((1000, 900), (100, 0), (1000, 900))),
        "TOPIC_RECREATED",
    ),
    "sync written twice": (
        case(row(exactness=Exactness.POSITION_EXACT), syncs=syncs((1060, 960), (1060, 960))),
        "TOPIC_RECREATED",
    ),
    "new log began again long before the position": (
        case(row(exactness=Exactness.POSITION_EXACT), syncs=syncs((400, 300), (500, 0), (900, 400))),
        "TOPIC_RECREATED",
    ),
    "new log began again, everything reconciled": (
        case(syncs=syncs((1000, 900), (1100, 0))),
        "TOPIC_RECREATED",
    ),
    "other kind of link": (
        case(
            row(exactness=Exactness.CLAIMED),
            syncs=syncs((4000, 4000)),
            syncs_read_first=True,
            link=Link.OTHER,
        ),
        "TOPIC_RECREATED",
    ),
    "last stable offset not read": (
        case(row(old=LogRange(log_start=100, lso=None, hw=1200))),
        "OPEN_TRANSACTION",
    ),
    "pending batch not compared": (case(row(restart=pending(1100, 1000))), "PENDING_BATCH_DIFFERS"),
    "pending batch equal": (
        case(row(restart=pending(1100, 1000)), pending_equal=True),
        "PENDING_BATCH_DIFFERS",
    ),
    "foreign records not counted": (case(row(foreign_below=None)), "NATIVE_BELOW"),
    "aborted records for a read_uncommitted job": (case(aborted_visible=60), "ABORTED_VISIBLE"),
    "aborted records not counted": (case(isolation=IsolationLevel.READ_COMMITTED), "ABORTED_VISIBLE"),
    "replay not counted on a proven place": (case(row(replay=None)), "REPLAY_NOT_TOLERATED"),
    "claimed place blocks by itself": (
        case(row(exactness=Exactness.CLAIMED, replay=None)),
        "REPLAY_NOT_TOLERATED",
    ),
    "replay of a job that tolerates it": (
        case(row(replay=12, exactness=Exactness.BOUNDED), job=TOLERANT),
        "REPLAY_NOT_TOLERATED",
    ),
    "replay blocks, so it does not warn too": (case(row(replay=12, exactness=Exactness.BOUNDED)), "REPLAY"),
    "new partition has nothing to translate": (
        case(row(old_offset=None, new_offset=None, restart=(), exactness=Exactness.UNKNOWN)),
        "UNTRANSLATED",
    ),
    "group's new offset behind the place": (case(new_commit=commit(910)), "TARGET_AHEAD"),
    "group's new offset against a mere claim": (
        case(row(exactness=Exactness.CLAIMED), new_commit=commit(1050)),
        "TARGET_AHEAD",
    ),
    "what lies ahead was not examined": (
        case(row(ahead=UNEXAMINED, exactness=Exactness.POSITION_EXACT)),
        "MISSING_AHEAD",
    ),
    "epoch the new cluster has": (
        case(new_commit=commit(950, epoch=2), new_topic=topic(epoch=2)),
        "LEADER_EPOCH_CARRIED",
    ),
    "next record expires in two days": (
        case(row(evidence=next_record(NOW_MS)), new_topic=topic(retention_ms="172800000")),
        "RETENTION_BEFORE_CUTOVER",
    ),
    "next record without a timestamp, before one that has expired": (
        case(
            row(evidence=Evidence(reason="Counted.", neighbours=(UNTIMED, *next_record(1, 951).neighbours))),
            new_topic=topic(retention_ms="86400000"),
        ),
        "RETENTION_BEFORE_CUTOVER",
    ),
    "retention unlimited": (
        case(row(evidence=next_record(0)), new_topic=topic(retention_ms="-1")),
        "RETENTION_BEFORE_CUTOVER",
    ),
    "compacted without deletion": (
        case(row(evidence=next_record(1)), new_topic=topic(retention_ms="1", cleanup_policy="compact")),
        "RETENTION_BEFORE_CUTOVER",
    ),
    "stamped on arrival": (
        case(
            row(evidence=next_record(1)),
            new_topic=topic(retention_ms="1", message_timestamp_type="LogAppendTime"),
        ),
        "RETENTION_BEFORE_CUTOVER",
    ),
    "read_uncommitted job past the last stable offset": (
        case(row(old=LogRange(log_start=100, lso=1040, hw=1200))),
        "ISOLATION_DIFFERS",
    ),
    "position past the old end": (
        case(row(old=LogRange(log_start=100, lso=1000, hw=1000)), isolation=IsolationLevel.READ_COMMITTED),
        "ISOLATION_DIFFERS",
    ),
    "compaction explains what is missing": (
        case(
            row(ahead=UNEXAMINED, exactness=Exactness.POSITION_EXACT),
            missing=4,
            new_topic=topic(cleanup_policy="compact,delete"),
        ),
        "RECORDS_FILTERED",
    ),
    "timestamps tell what lies below": (
        case(row(ahead=UNEXAMINED, exactness=Exactness.POSITION_EXACT)),
        "EARLIER_COPIES_POSSIBLE",
    ),
    "all that lies ahead was read": (
        case(row(exactness=Exactness.BOUNDED), reasons=frozenset({"COPIES_BELOW"})),
        "EARLIER_COPIES_POSSIBLE",
    ),
    "missing records are counted to the end": (case(missing=4), "RECORDS_FILTERED"),
}


@with_cases(("given", "code", "text"), FIRES.values(), ids=FIRES.keys())
def test_a_finding_says_its_numbers(given: Case, code: str, text: str) -> None:
    found = {finding.code: finding for finding in judge(given)}

    assert text in found[code].message
    assert found[code].message[0] == found[code].message[0].upper()
    assert found[code].message.endswith(".")
    assert found[code].remedy
    assert found[code].topic_partition == given.row.topic_partition


@with_cases(("given", "code"), SILENT.values(), ids=SILENT.keys())
def test_a_finding_stays_silent_when_it_is_not_proven(given: Case, code: str) -> None:
    assert code not in {finding.code for finding in judge(given)}


def test_a_row_in_order_has_no_finding() -> None:
    assert judge(case()) == ()


def test_an_exact_row_is_flagged_for_its_old_number_alone() -> None:
    found = judge(case(row(raw=raw(RawVerdict.LOSS, skip=100, replay=0))))

    assert [finding.code for finding in found] == ["LOSS_INSIDE_LOG"]


def test_nothing_read_gives_no_finding_but_untranslated() -> None:
    blind = replace(
        ROW,
        new_offset=None,
        exactness=Exactness.UNKNOWN,
        restart=(RestartPoint(batch=6, old=1050, new=None),),
        bounds=(None, None),
        replay=None,
        skip=None,
        foreign_below=None,
        counted=False,
        ahead=UNEXAMINED,
        old=UNREAD,
        new=UNREAD,
        raw=raw(RawVerdict.UNKNOWN),
    )
    unread = TopicState(name="orders", error="the broker did not answer")

    found = judge(case(blind, old_topic=unread, new_topic=unread))

    assert [finding.code for finding in found] == ["UNTRANSLATED"]


def test_the_most_serious_finding_comes_first_and_no_code_twice() -> None:
    found = judge(
        case(
            row(
                raw=raw(RawVerdict.LOSS, skip=100),
                exactness=Exactness.BOUNDED,
                replay=12,
                foreign_below=2,
                restart=pending(1300, None),
                ahead=Ahead(examined=True, missing=1, duplicated=1, foreign=1),
                old=LogRange(log_start=1060, lso=1190, hw=1200),
            ),
            pending_equal=False,
        )
    )

    severities = [finding.severity for finding in found]
    assert severities == sorted(severities, key=list(Severity).index)
    assert len({finding.code for finding in found}) == len(found) >= 10
