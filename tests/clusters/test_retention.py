"""When retention reaches a position: by record time, by rate, never, already, or unknown, always with its method."""

from __future__ import annotations

from offsetwise.clusters.retention import ReaderPosition, RetentionMethod, deadline
from offsetwise.lag.moments import Moment
from offsetwise.model import PartitionState, TopicPartition
from tests.clusters.values import log, topic
from tests.with_cases import with_cases

RECORD_MS = 1_700_000_000_000


def standing(offset: int = 1050, record_ms: int | None = RECORD_MS) -> ReaderPosition:
    return ReaderPosition(
        of="group orders-etl",
        partition=TopicPartition("orders", 0),
        offset=offset,
        record_ms=record_ms,
    )


def test_a_record_can_go_when_its_own_time_and_retention_have_passed() -> None:
    found = deadline(standing(), topic(), log(), ())
    assert (found.at_ms, found.method) == (RECORD_MS + 604_800_000, RetentionMethod.RECORD_TIME)
    assert "604,800,000" in found.why


def test_without_a_record_time_the_rate_of_two_readings_tells() -> None:
    starts = (Moment(at_ms=0, offset=100), Moment(at_ms=10_000, offset=150))
    found = deadline(standing(record_ms=None), topic(), log(start=150), starts)
    assert (found.at_ms, found.method) == (190_000, RetentionMethod.RATE)
    assert found.why == "The log start moved 50 offsets in 10 s."


def test_a_limit_by_size_is_judged_by_rate_even_where_the_record_time_is_known() -> None:
    starts = (Moment(at_ms=0, offset=100), Moment(at_ms=10_000, offset=150))
    assert deadline(standing(), topic(retention_bytes="1000"), log(), starts).method is RetentionMethod.RATE


@with_cases(
    ("config", "log_", "method", "why"),
    [
        ({"retention_ms": "-1"}, log(), RetentionMethod.NEVER, "set no limit"),
        ({"cleanup_policy": "compact"}, log(), RetentionMethod.NEVER, "age deletes nothing"),
        ({}, log(start=1100), RetentionMethod.REACHED, "begins 50 offsets behind it"),
        ({}, log(hw=1050), RetentionMethod.NONE, "No record is there yet"),
        ({"retention_bytes": "1000"}, log(), RetentionMethod.NONE, "was read once only"),
        ({}, None, RetentionMethod.NONE, "was not read"),
    ],
    ids=["no limit", "compacted", "gone", "at the end", "one reading", "not read"],
)
def test_where_no_time_can_be_given_the_reason_is(
    config: dict[str, str], log_: PartitionState | None, method: RetentionMethod, why: str
) -> None:
    starts = (Moment(at_ms=0, offset=100),)
    found = deadline(standing(), topic(**config), log_, starts)  # type: ignore[arg-type] # configurations by name
    assert (found.at_ms, found.method) == (None, method)
    assert why in found.why


def test_a_log_start_that_did_not_move_gives_no_rate() -> None:
    starts = (Moment(at_ms=0, offset=100), Moment(at_ms=10_000, offset=100))
    found = deadline(standing(record_ms=None), topic(), log(), starts)
    assert (found.at_ms, found.method) == (None, RetentionMethod.NONE)
    assert "did not move" in found.why
