"""What a job leaves beside its state: the offsets it commits, and its sink's transactions."""

from __future__ import annotations

from datetime import UTC, datetime

from offsetwise.config import JobTraits
from offsetwise.findings import judge_migration
from offsetwise.model import Checkpoint, Finding, GroupOffset, GroupState, Transaction, time_of
from offsetwise.plugins.flink.engine.details import FlinkDetails, Saved
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.report import SinkAnswer
from tests.findings.cases import HOUR_MS, NOW_MS, checkpoint, migration, row
from tests.with_cases import with_cases

WRITTEN_MS = NOW_MS - HOUR_MS // 2


def savepoint(*schemas: str | None, state: str = "received", written_ms: int | None = WRITTEN_MS) -> Checkpoint:
    """Make a savepoint whose sink holds a transaction of each schema open."""
    saved = Saved(
        kind="savepoint",
        id=4,
        format_version=6,
        format="canonical",
        written_ms=written_ms,
        aligned=True,
        compressed=False,
    )
    held = tuple(
        Transaction(
            operator="sink",
            transactional_id=f"tx {number}",
            producer_id=7,
            epoch=1,
            checkpoint_id=4,
            state=state,
            schema=schema,
        )
        for number, schema in enumerate(schemas)
    )
    return checkpoint(engine="flink", details=FlinkDetails(saved=saved, transactions=held))


def found(
    code: str,
    read: Checkpoint,
    *,
    job: JobTraits | None = None,
    group: GroupState | None = None,
    sink: SinkAnswer | None = None,
) -> list[Finding]:
    rows = (row(), row(partition=1))
    made = judge_migration(migration(checkpoint=read, rows=rows, job=job or JobTraits(), committed=group, sink=sink))
    return [each for each in made if each.code == code]


def committed(*offsets: int) -> GroupState:
    return GroupState(
        name="etl",
        state="Empty",
        offsets=tuple(
            GroupOffset(topic="orders", partition=number, offset=offset) for number, offset in enumerate(offsets)
        ),
    )


def test_a_group_past_the_savepoint_is_a_warning_with_the_furthest_partition() -> None:
    (finding,) = found("GROUP_AHEAD", savepoint(), group=committed(1051, 1090))

    assert "Group etl has committed past the savepoint in 2 partitions, furthest orders-1: 1,090" in finding.message
    assert "40 offsets apart" in finding.message
    assert found("GROUP_BEHIND", savepoint(), group=committed(1051, 1090)) == []


def test_a_group_behind_the_savepoint_is_told_of_its_own() -> None:
    (finding,) = found("GROUP_BEHIND", savepoint(), group=committed(1010, 1050))

    assert "less than the savepoint holds in 1 partition, furthest orders-0: 1,010 committed, 40" in finding.message
    assert found("GROUP_AHEAD", savepoint(), group=committed(1010, 1050)) == []


@with_cases("group", [None, committed(), committed(1050, 1050)])
def test_a_group_that_is_unknown_or_stands_where_the_state_does_is_no_finding(group: GroupState | None) -> None:
    for code in ("GROUP_AHEAD", "GROUP_BEHIND"):
        assert found(code, savepoint(), group=group) == []


def test_transactions_older_than_their_time_out_are_named_with_the_command_that_asks() -> None:
    job = JobTraits(transaction_timeout_ms=600_000, sink_servers="sink:9092")

    (finding,) = found("TRANSACTION_EXPIRED", savepoint("v1", "v1"), job=job)

    assert "tx 0 and 1 more transaction of the sink on sink:9092 ran out by" in finding.message
    assert "20 min before the clusters were read (transaction.timeout.ms is stated as 10 min)" in finding.message
    assert finding.remedy.startswith(
        "Ask whether they were committed: kafka-transactions.sh --bootstrap-server sink:9092 describe "
        "--transactional-id 'tx 0'. The records of those that were not are lost: start from an earlier checkpoint"
    )


def test_without_a_stated_time_out_the_sinks_default_counts() -> None:
    assert found("TRANSACTION_EXPIRED", savepoint("v1")) == []
    (finding,) = found("TRANSACTION_EXPIRED", savepoint("v1", written_ms=NOW_MS - HOUR_MS))
    assert "KafkaSink's default is 1 h" in finding.message
    assert "HOST:PORT" in finding.remedy


def answer(decision: Decision, *, left_ms: int | None = None, timeout_ms: int | None = 60_000) -> SinkAnswer:
    """Return what the cluster of the sink says of the transaction that `savepoint("v1")` holds."""
    seen = SinkTransaction(
        transactional_id="tx 0",
        producer_id=7,
        epoch=1,
        held=True,
        held_state="received",
        broker_state=None,
        left_ms=left_ms,
        deadline=None if left_ms is None else time_of(datetime.fromtimestamp((NOW_MS + left_ms) / 1000, UTC)),
        decision=decision,
        reason="",
    )
    return SinkAnswer(transactions=(seen,), timeout_ms=timeout_ms)


@with_cases(
    ("sink", "expected"),
    [
        (answer(Decision.SETTLED), None),
        (answer(Decision.COMMIT, left_ms=60_000), None),
        (answer(Decision.COMMIT, left_ms=None), None),
        (answer(Decision.COMMIT, left_ms=-120_000), "2 min before the clusters were read"),
        (answer(Decision.UNKNOWN), "29 min before the clusters were read"),
        (answer(Decision.UNKNOWN, timeout_ms=None), None),
        (answer(Decision.LOST, timeout_ms=7_200_000), "0 s before the clusters were read"),
    ],
)
def test_the_time_out_is_that_of_the_transaction_where_the_sinks_cluster_was_asked(
    sink: SinkAnswer, expected: str | None
) -> None:
    told = found("TRANSACTION_EXPIRED", savepoint("v1"), job=JobTraits(transaction_timeout_ms=None), sink=sink)

    assert [expected in each.message for each in told if expected] == [True] * bool(expected), told
    assert all("transaction.timeout.ms of the job's transactions is" in each.message for each in told)
    assert len(told) == (expected is not None)


@with_cases(
    "read",
    [
        savepoint("FLIP-319", written_ms=0),
        savepoint("v1", state="committed", written_ms=0),
        savepoint("v1", written_ms=None),
        savepoint(written_ms=0),
    ],
)
def test_prepared_settled_and_undated_transactions_are_not_said_to_have_run_out(read: Checkpoint) -> None:
    assert found("TRANSACTION_EXPIRED", read) == []


@with_cases(
    ("job", "read", "count"),
    [
        (JobTraits(sink_cluster="old", new_sink_cluster="new"), savepoint("v1", "v1"), 2),
        (JobTraits(new_sink_cluster="new"), savepoint("v1"), 1),
        (JobTraits(sink_cluster="old", new_sink_cluster="old"), savepoint("v1"), 0),
        (JobTraits(sink_cluster="old"), savepoint("v1"), 0),
        (JobTraits(sink_cluster="old", new_sink_cluster="new"), savepoint("v1", state="committed"), 0),
        (JobTraits(sink_cluster="old", new_sink_cluster="new"), savepoint(), 0),
    ],
)
def test_28_a_sink_that_moves_with_what_the_savepoint_holds_is_said_when_it_is_compared(
    job: JobTraits, read: Checkpoint, count: int
) -> None:
    made = found("SINK_MOVES_WITH_PENDING", read, job=job)

    assert len(made) == bool(count)
    for finding in made:
        assert f"holds {count} transaction" in finding.message
        assert "'new' knows no such transaction and answers InvalidPidMapping" in finding.message
        assert "--set mark_settled=true" in finding.remedy
