from __future__ import annotations

from offsetwise.model import Cluster, IsolationLevel, LogRange
from offsetwise.translation.belongs import CLOCKS_APART_MS, RecordsBefore, belongs_to
from offsetwise.translation.query import Query, QuerySource

NAMES = {Cluster.OLD: "prod-a", Cluster.NEW: "prod-b"}
PLANNED_AT_MS = 1_767_225_600_000
TOO_YOUNG_MS = PLANNED_AT_MS + CLOCKS_APART_MS + 1
LOG = LogRange(log_start=0, lso=1200, hw=1200)


def log(start: int, end: int) -> LogRange:
    return LogRange(log_start=start, lso=end, hw=end)


def standing(
    offset: int,
    *,
    partition: int = 0,
    old: LogRange | None = LOG,
    new: LogRange | None = LOG,
    time_on_old: int | None = None,
    time_on_new: int | None = None,
    same: bool = False,
) -> tuple[Query, RecordsBefore]:
    position = Query(
        of=QuerySource(source="0", isolation=IsolationLevel.READ_UNCOMMITTED),
        topic="orders",
        partition=partition,
        new_topic="orders",
        offset=offset,
        old=old,
        new=new,
    )
    return position, RecordsBefore(time_on_old=time_on_old, time_on_new=time_on_new, same=same)


def told(
    *standings: tuple[Query, RecordsBefore], planned_at_ms: int | None = PLANNED_AT_MS
) -> tuple[Cluster | None, str]:
    records = {(position.topic_partition, position.offset): before for position, before in standings}
    positions = [position for position, _ in standings]
    made = belongs_to(positions, planned_at_ms=planned_at_ms, names=NAMES, records=records)
    return made.cluster, made.reason


def test_a_position_past_the_end_of_a_log_was_not_read_from_it() -> None:
    assert told(standing(1050, new=log(0, 1000))) == (
        Cluster.OLD,
        "The positions fit 'prod-a' and not 'prod-b': orders-0 is at 1,050, its log ends at 1,000.",
    )
    assert told(standing(1050, old=log(0, 1000)))[0] is Cluster.NEW


def test_a_position_at_the_end_of_a_log_may_have_been_read_from_it() -> None:
    assert told(standing(1200)) == (None, "Every position lies inside the logs of 'prod-a' and of 'prod-b'.")


def test_a_position_below_the_log_start_says_nothing_because_retention_moves_it() -> None:
    assert told(standing(5, new=log(100, 1200)))[0] is None


def test_a_partition_that_a_cluster_lacks_was_not_read_from_it() -> None:
    assert told(standing(1050, new=None)) == (
        Cluster.OLD,
        "The positions fit 'prod-a' and not 'prod-b': it has no orders-0.",
    )


def test_a_log_whose_end_is_unknown_speaks_against_nobody() -> None:
    unread = LogRange(log_start=None, lso=None, hw=None)

    assert told(standing(1050, new=unread))[0] is None


def test_the_range_of_one_partition_decides_for_all() -> None:
    assert told(standing(1050), standing(1030, partition=1, new=log(0, 1000)))[0] is Cluster.OLD


def test_a_record_younger_than_the_batch_was_not_in_it() -> None:
    cluster, reason = told(standing(1050, time_on_old=PLANNED_AT_MS - 1, time_on_new=TOO_YOUNG_MS))

    assert cluster is Cluster.OLD
    assert "the record before 1,050 of orders-0 is more than 5 minutes younger than the batch that read it" in reason


def test_clocks_a_few_minutes_apart_tell_nothing() -> None:
    assert told(standing(1050, time_on_new=TOO_YOUNG_MS - 1))[0] is None
    assert told(standing(1050, time_on_old=TOO_YOUNG_MS - 1))[0] is None


def test_one_record_of_another_time_does_not_speak_for_a_cluster_whose_other_records_do_not() -> None:
    assert told(standing(1050, time_on_new=TOO_YOUNG_MS), standing(1030, partition=1, time_on_new=0))[0] is None
    assert told(standing(1050, time_on_old=TOO_YOUNG_MS), standing(1030, partition=1, time_on_old=0))[0] is None


def test_partitions_whose_times_are_not_known_leave_it_to_the_others() -> None:
    assert told(standing(1050, time_on_new=TOO_YOUNG_MS), standing(1030, partition=1))[0] is Cluster.OLD


def test_where_every_number_is_the_same_place_on_both_it_makes_no_difference() -> None:
    assert told(standing(1050, same=True), standing(1030, partition=1, same=True)) == (
        Cluster.OLD,
        "The same records stand at these numbers in the logs of 'prod-a' and of 'prod-b': it makes no difference which "
        "of them they were read from.",
    )
    assert told(standing(1050, same=True), standing(1030, partition=1))[0] is None


def test_times_say_nothing_where_the_batchs_own_is_unknown() -> None:
    assert told(standing(1050, time_on_new=TOO_YOUNG_MS), planned_at_ms=None)[0] is None


def test_positions_that_fit_neither_cluster_belong_to_none_and_both_reasons_are_given() -> None:
    assert told(standing(1050, old=log(0, 7), new=log(0, 8))) == (
        None,
        "The positions fit neither 'prod-a' (orders-0 is at 1,050, its log ends at 7) nor 'prod-b' (orders-0 "
        "is at 1,050, its log ends at 8).",
    )


def test_many_reasons_are_counted_and_not_listed() -> None:
    _, reason = told(*(standing(1050, partition=n, new=log(0, 1000)) for n in range(50)))

    assert reason.count("its log ends at") == 3
    assert reason.endswith("; and 47 more.")


def test_without_a_position_nothing_can_be_told() -> None:
    assert told() == (None, "There is no position to tell it from.")
