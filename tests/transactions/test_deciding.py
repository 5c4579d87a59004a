"""Every row of the acceptance table that a look can tell: what is held, what the broker says, what is to become of it.

The ids of the cases are the numbers of those rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import NamingStrategy, Transaction
from offsetwise.position import TopicPartition
from offsetwise.transactions.deciding import decide
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.observed import (
    NO_TIMEOUT_MS,
    Answer,
    Described,
    HeldTransactions,
    ListedTransaction,
    Missing,
    OpenWrite,
    TransactionLook,
    to_describe,
)
from offsetwise.transactions.report import LookPair, report
from tests.transactions.recorded import held as recorded_transactions
from tests.transactions.recorded import recorded
from tests.with_cases import with_cases

NOW_MS = 1_000_000_000
N = 7
"""The checkpoint that is started from."""
ORDERS = TopicPartition("orders", 0)


def said(
    state: str, producer_id: int = 100, epoch: int = 4, *, start_ms: int = NOW_MS - 60_000, **more: int
) -> Described:
    return Described(
        producer_id=producer_id,
        epoch=epoch,
        state=state,
        timeout_ms=more.get("timeout_ms", 3_600_000),
        start_ms=start_ms,
        partitions=(ORDERS,) if state == "Ongoing" else (),
    )


def holding(
    *transactional_ids: str, strategy: NamingStrategy | None = NamingStrategy.INCREMENTING, state: str = "received"
) -> HeldTransactions:
    made = tuple(
        Transaction(
            operator="0" * 32,
            transactional_id=each,
            producer_id=100,
            epoch=4,
            checkpoint_id=N,
            state=state,
            schema="v1",
            strategy=strategy,
        )
        for each in transactional_ids
    )
    return HeldTransactions(checkpoint_id=N, written_ms=NOW_MS - 30_000, prefixes=("orders",), transactions=made)


def look(answers: Mapping[str, Answer], **listed_only: ListedTransaction) -> TransactionLook:
    known = {name: each for name, each in answers.items() if isinstance(each, Described)}
    listed = {name: ListedTransaction(producer_id=each.producer_id, state=each.state) for name, each in known.items()}
    return TransactionLook(taken_ms=NOW_MS, listed=listed | listed_only, answers=answers)


def decided(
    held: HeldTransactions, answers: Mapping[str, Answer], **more: ListedTransaction
) -> dict[tuple[str | None, bool], SinkTransaction]:
    seen = look(answers, **more)
    return {(row.transactional_id, row.held): row for row in decide(held, seen, seen)}


POOLED = NamingStrategy.POOLING
NAME = "orders-0-7"


@with_cases(
    ("strategy", "answer", "decision", "why"),
    [
        pytest.param(None, said("Ongoing"), "COMMIT", "same producer and epoch", id="1"),
        pytest.param(POOLED, said("Ongoing"), "COMMIT", "same producer and epoch", id="1 pooling"),
        pytest.param(None, said("Ongoing", start_ms=NOW_MS - 30_001), "COMMIT", "same producer", id="begun before it"),
        pytest.param(
            None, said("Ongoing", start_ms=NOW_MS - 29_999), "UNKNOWN", "a cluster with equal ids", id="begun after it"
        ),
        pytest.param(
            POOLED, said("Ongoing", start_ms=NOW_MS), "UNKNOWN", "a cluster with equal ids", id="pooled, begun after it"
        ),
        pytest.param(POOLED, said("Ongoing", epoch=6), "UNKNOWN", "after an abort", id="3"),
        pytest.param(None, said("CompleteCommit"), "SETTLED", "It is committed.", id="4 v4"),
        pytest.param(None, said("CompleteCommit", epoch=5), "SETTLED", "false alarm", id="4 v5"),
        pytest.param(None, said("CompleteAbort", epoch=5), "LOST", "earlier checkpoint", id="5"),
        pytest.param(None, said("CompleteAbort"), "LOST", "records are lost", id="5 v4"),
        pytest.param(None, said("Empty", epoch=5), "UNKNOWN", "control records", id="6 empty"),
        pytest.param(None, said("CompleteCommit", epoch=6), "UNKNOWN", "epoch 6", id="6 epoch"),
        pytest.param(None, said("Ongoing", epoch=6), "UNKNOWN", "gone on", id="6 open again"),
        pytest.param(None, Missing.ABSENT, "UNKNOWN", "has expired", id="7"),
        pytest.param(None, said("Ongoing", producer_id=101), "FOREIGN", "made anew", id="8"),
        pytest.param(None, said("Ongoing", epoch=3), "FOREIGN", "another cluster", id="8 lower epoch"),
        pytest.param(None, said("PrepareCommit", epoch=5), "WAIT", "PrepareCommit", id="9 commit"),
        pytest.param(None, said("PrepareAbort"), "WAIT", "Look again", id="9 abort"),
        pytest.param(None, said("PrepareEpochFence", epoch=9), "WAIT", "took its id", id="9 fenced"),
        pytest.param(None, said("Dead", epoch=5), "UNKNOWN", "Dead", id="6 dead"),
        pytest.param(None, said("Prepared"), "UNKNOWN", "Prepared", id="a state of a later broker"),
        pytest.param(None, Missing.DENIED, "DENIED", "does not mean that there are none", id="19"),
        pytest.param(None, Missing.UNAVAILABLE, "UNKNOWN", "Ask again", id="21"),
        pytest.param(None, Missing.UNSUPPORTED, "UNKNOWN", "older than Kafka 3.0", id="34"),
        pytest.param(None, Missing.NOT_ASKED, "UNKNOWN", "No transaction was ever made", id="35"),
    ],
)
def test_what_the_checkpoint_holds(strategy: NamingStrategy | None, answer: Answer, decision: str, why: str) -> None:
    row = decided(holding(NAME, strategy=strategy), {NAME: answer})[NAME, True]

    assert (row.decision.value, row.held_state, why in row.reason) == (decision, "received", True), row.reason
    assert row.broker_state == (answer.state if isinstance(answer, Described) else None)


@given(
    st.sampled_from([None, *NamingStrategy]),
    st.sampled_from(["received", "retried"]),
    st.integers(NOW_MS - 60_000, NOW_MS),
)
def test_nothing_that_began_after_the_checkpoint_was_written_is_committed(
    strategy: NamingStrategy | None, held_state: str, start_ms: int
) -> None:
    """A young cluster in the place of the sink's may count its producers and epochs to the same numbers."""
    held = holding(NAME, strategy=strategy, state=held_state)
    for state, producer_id, epoch in product(("Ongoing", "PrepareCommit", "Empty"), (99, 100), (3, 4, 6)):
        row = decided(held, {NAME: said(state, producer_id, epoch, start_ms=start_ms)})[NAME, True]

        assert held.written_ms is not None
        alike = (state, producer_id, epoch) == ("Ongoing", 100, 4)
        assert (row.decision is Decision.COMMIT) is (alike and start_ms <= held.written_ms)
        if alike and start_ms > held.written_ms:
            assert row.decision in (Decision.UNKNOWN, Decision.WRONG_CLUSTER)


def test_one_id_that_is_held_with_two_producers_is_decided_by_each_and_at_the_last_epoch_too() -> None:
    (one,) = holding(NAME).transactions
    last = replace(one, producer_id=2**63 - 1, epoch=2**15 - 1)
    held = replace(holding(), transactions=(one, last))
    seen = look({NAME: said("Ongoing", 2**63 - 1, 2**15 - 1)})

    assert [(row.producer_id, row.epoch, row.decision) for row in decide(held, seen, seen)] == [
        (100, 4, Decision.FOREIGN),
        (2**63 - 1, 2**15 - 1, Decision.COMMIT),
    ]


def test_3_a_name_in_use_again_has_a_row_of_its_own_which_is_aborted() -> None:
    rows = decided(holding("orders-0-0", strategy=POOLED), {"orders-0-0": said("Ongoing", epoch=6)})

    assert [(row.epoch, row.decision) for row in rows.values()] == [(4, Decision.UNKNOWN), (6, Decision.ABORT)]


def test_8_a_foreign_producer_is_not_aborted_either() -> None:
    rows = decided(holding("orders-0-0", strategy=POOLED), {"orders-0-0": said("Ongoing", producer_id=9, epoch=6)})

    assert {row.decision for row in rows.values()} == {Decision.FOREIGN}
    assert len(rows) == 2


@with_cases(
    ("name", "strategy", "answer", "decision"),
    [
        pytest.param("orders-1-8", NamingStrategy.INCREMENTING, said("Ongoing", 9), "ABORT", id="2"),
        pytest.param("orders-1-8", None, said("Ongoing", 9), "ABORT", id="2 by the number alone"),
        pytest.param("orders-1-0", POOLED, said("Ongoing", 9), "ABORT", id="2 pooling"),
        pytest.param("orders-1-7", None, said("Ongoing", 9), "UNEXPLAINED", id="12"),
        pytest.param("orders-eu-1-8", None, said("Ongoing", 9), "OTHER_JOB", id="13"),
        pytest.param("orders-eu", POOLED, said("Ongoing", 9), "OTHER_JOB", id="13 no name of a sink"),
        pytest.param("orders-1-8", None, said("CompleteCommit", 9), "SINK_WENT_ON", id="15"),
        pytest.param(
            "orders-1-0", POOLED, said("CompleteCommit", 9, start_ms=NOW_MS - 1), "SINK_WENT_ON", id="15 pooling"
        ),
        pytest.param("orders-1-0", POOLED, said("CompleteCommit", 9), "NOTHING", id="begun before"),
        pytest.param("orders-1-7", None, said("CompleteCommit", 9), "NOTHING", id="committed before"),
        pytest.param("orders-1-8", None, said("CompleteAbort", 9), "NOTHING", id="aborted"),
        pytest.param("orders-1-8", None, said("Empty", 9), "NOTHING", id="begun, never used"),
        pytest.param("orders-1-8", None, said("PrepareAbort", 9), "WAIT", id="9 not held"),
        pytest.param("orders-1-8", None, said("PrepareEpochFence", 9), "WAIT", id="9 being fenced"),
        pytest.param("orders-1-8", None, said("Dead", 9), "NOTHING", id="dead"),
        pytest.param("orders-1-8", None, said("Prepared", 9), "UNKNOWN", id="a state of a later broker"),
    ],
)
def test_what_is_not_held(name: str, strategy: NamingStrategy | None, answer: Described, decision: str) -> None:
    held = holding("orders-0-7", strategy=strategy)
    row = decided(held, {"orders-0-7": said("CompleteCommit"), name: answer})[name, False]

    assert (row.decision.value, row.held_state) == (decision, None)
    if name != "orders-eu":
        assert row.producer_id == 9


@with_cases("strategy", [None, POOLED])
def test_13_the_other_jobs_transactions_are_only_listed_and_pooling_is_warned_about(
    strategy: NamingStrategy | None,
) -> None:
    other = ListedTransaction(producer_id=9, state="Ongoing")
    rows = decided(
        holding(NAME, strategy=strategy), {NAME: said("Ongoing")}, **{"orders-eu-0-8": other, "x-0-8": other}
    )

    assert set(rows) == {(NAME, True), ("orders-eu-0-8", False)}
    assert ("aborts it when it starts" in rows["orders-eu-0-8", False].reason) is (strategy is POOLED)


@with_cases(
    ("begun_ms", "timeout_ms", "left_ms", "told"),
    [
        pytest.param(NOW_MS - 60_000, 3_600_000, 3_540_000, "", id="1 an hour"),
        pytest.param(NOW_MS - 60_000, 120_000, 60_000, "aborts it in 1 min, up to 10 s later", id="10"),
        pytest.param(
            NOW_MS - 60_000, 60_000, 0, "Its time-out has passed: the broker aborts it, up to 10 s later", id="10 due"
        ),
        pytest.param(NOW_MS - 60_000, NO_TIMEOUT_MS, None, "only a person or the job ends it", id="11"),
    ],
)
def test_the_time_that_is_left_is_said(begun_ms: int, timeout_ms: int, left_ms: int | None, told: str) -> None:
    row = decided(holding(NAME), {NAME: said("Ongoing", start_ms=begun_ms, timeout_ms=timeout_ms)})[NAME, True]

    assert (row.decision, row.left_ms) == (Decision.COMMIT, left_ms)
    assert row.reason.endswith(f"{told}." if told else "same producer and epoch.")


def moved(first: TransactionLook, second: TransactionLook, held: HeldTransactions | None = None) -> set[Decision]:
    return {row.decision for row in decide(held or holding(NAME), first, second)}


WRITE = OpenWrite(
    partition=ORDERS, producer_id=100, epoch=4, start_offset=5, last_sequence=2, last_timestamp_ms=NOW_MS - 50_000
)


@with_cases(
    ("before", "after", "live"),
    [
        pytest.param(look({NAME: said("Ongoing")}), look({NAME: said("Ongoing")}), False, id="still"),
        pytest.param(
            look({NAME: said("Ongoing")}),
            look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9)}),
            True,
            id="new id",
        ),
        pytest.param(
            look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9)}),
            look({NAME: said("Ongoing"), "orders-0-8": said("CompleteCommit", 9)}),
            True,
            id="committed meanwhile",
        ),
        pytest.param(
            look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9)}),
            look({NAME: said("Ongoing"), "orders-0-8": said("CompleteAbort", 9, 5)}),
            False,
            id="timed out meanwhile",
        ),
        pytest.param(
            look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9)}),
            look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9, 6)}),
            True,
            id="begun again",
        ),
        pytest.param(
            replace(look({NAME: said("Ongoing")}), writes=(WRITE,)),
            replace(look({NAME: said("Ongoing")}), writes=(replace(WRITE, last_sequence=3),)),
            True,
            id="wrote",
        ),
        pytest.param(
            replace(look({NAME: said("Ongoing")}), taken_ms=NOW_MS - 2_000, writes=(WRITE,)),
            replace(look({NAME: said("Ongoing")}), writes=(replace(WRITE, last_timestamp_ms=NOW_MS - 1),)),
            True,
            id="young record",
        ),
        pytest.param(
            replace(look({NAME: said("Ongoing")}), writes=(WRITE,)),
            replace(look({NAME: said("Ongoing")}), writes=(replace(WRITE, producer_id=8), WRITE)),
            False,
            id="another job wrote",
        ),
    ],
)
def test_14_a_job_that_moves_between_two_looks_is_live_and_nothing_is_offered(
    before: TransactionLook, after: TransactionLook, live: bool
) -> None:
    found = moved(before, after)

    assert (Decision.LIVE in found) is live
    assert not live or found.isdisjoint({Decision.COMMIT, Decision.ABORT, Decision.WAIT, Decision.UNEXPLAINED})


def gone(look_: TransactionLook, *names: str, **more: object) -> TransactionLook:
    """Make the look that leaves out what a broker that died coordinates and leads."""
    listed = {name: each for name, each in look_.listed.items() if name not in names}
    answers = {name: Missing.UNAVAILABLE if name in names else each for name, each in look_.answers.items()}
    return replace(look_, listed=listed, answers=answers, unlisted=True, **more)  # type: ignore[arg-type]


@with_cases("names", [(NAME,), ("orders-0-8",), ("orders-1-8",), (NAME, "orders-0-8", "orders-1-8")])
@with_cases("dies", ["in the first look", "between both", "in both"])
def test_14_a_broker_that_dies_moves_nothing(dies: str, names: tuple[str, ...]) -> None:
    both = look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 8), "orders-1-8": said("CompleteCommit", 9)})
    whole = replace(both, writes=(WRITE,))
    without = gone(both, *names, silent=(ORDERS,))
    first, second = {
        "in the first look": (without, whole),
        "between both": (whole, without),
        "in both": (without, without),
    }[dies]

    found = moved(first, second)

    assert Decision.LIVE not in found
    assert Decision.LIVE in moved(replace(both, listed={}, answers={}), whole), "with all brokers it would be"


def test_14_what_a_leader_shows_first_in_the_second_look_is_new_where_it_answered_in_the_first() -> None:
    both = look({NAME: said("Ongoing")})
    other = TopicPartition("orders", 1)

    for silent, live in (((), True), ((ORDERS,), False), ((other,), True)):
        assert (Decision.LIVE in moved(replace(both, silent=silent), replace(both, writes=(WRITE,)))) is live


def test_14_an_id_that_expires_between_two_looks_shows_no_job() -> None:
    first = look({NAME: said("Ongoing"), "orders-0-3": said("CompleteCommit", 9)})
    second = look({NAME: said("Ongoing"), "orders-0-3": said("Dead", 9)})

    assert Decision.LIVE not in moved(first, second)


def test_16_what_a_newer_checkpoint_may_hold_is_not_aborted() -> None:
    held = replace(holding(NAME), newer=9)
    rows = decided(
        held, {NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9), "orders-1-8": said("CompleteCommit", 8)}
    )

    assert [row.decision.value for row in rows.values()] == ["COMMIT", "NOT_NEWEST", "SINK_WENT_ON"]
    assert "checkpoint 9" in rows["orders-0-8", False].reason
    assert "newest retained checkpoint is 9" in rows["orders-1-8", False].reason


@with_cases(
    ("strategy", "later", "unsure"),
    [
        pytest.param(NamingStrategy.INCREMENTING, {}, set(), id="none later"),
        pytest.param(None, {"orders-0-9": "Empty"}, {"orders-0-8"}, id="later number"),
        pytest.param(None, {"orders-0-9": "Ongoing"}, {"orders-0-8"}, id="later number open"),
        pytest.param(None, {"orders-1-9": "Empty"}, set(), id="of another subtask"),
        pytest.param(None, {"orders-eu-0-9": "Empty"}, set(), id="of another job"),
        pytest.param(POOLED, {}, set(), id="pooling"),
        pytest.param(POOLED, {"orders-0-2": "Empty"}, {"orders-0-8"}, id="pooling, another name begun"),
        pytest.param(POOLED, {"orders-0-2": "CompleteCommit"}, set(), id="pooling, a name given back"),
    ],
)
def test_16_an_abort_says_where_a_newer_checkpoint_may_hold_it_and_none_could_be_looked_for(
    strategy: NamingStrategy | None, later: Mapping[str, str], unsure: set[str]
) -> None:
    held = holding(NAME, strategy=strategy)
    answers: dict[str, Answer] = {NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9)}
    answers |= {name: said(state, 10 + n) for n, (name, state) in enumerate(later.items())}

    for searched in (False, True):
        rows = decided(replace(held, searched=searched), answers)
        assert rows["orders-0-8", False].decision is Decision.ABORT
        found = {name for (name, _), row in rows.items() if row.newer_may_hold}
        assert found == (set() if searched else unsure)
        assert all("checkpoint_roots" in rows[str(name), False].reason for name in found)


def test_17_another_cluster_than_the_stated_one_refuses_everything_of_the_job() -> None:
    seen = look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9), "orders-eu-0-8": said("Ongoing", 8)})
    rows = decide(holding(NAME), seen, seen, elsewhere="Not this one.")

    assert [row.decision.value for row in rows] == ["WRONG_CLUSTER", "WRONG_CLUSTER", "OTHER_JOB"]
    assert rows[0].reason == "Not this one."


@with_cases(
    ("listed", "answers", "hangs"),
    [
        pytest.param({}, {}, True, id="26 unknown producer"),
        pytest.param({"x-0-1": ListedTransaction(producer_id=100, state="Empty")}, {}, True, id="26 known and over"),
        pytest.param(
            {"x-0-1": ListedTransaction(producer_id=100, state="Ongoing")}, {}, False, id="another job's, open"
        ),
        pytest.param(
            {NAME: ListedTransaction(producer_id=100, state="Ongoing")},
            {NAME: said("Ongoing")},
            False,
            id="named by its coordinator",
        ),
        pytest.param(
            {NAME: ListedTransaction(producer_id=100, state="Ongoing")},
            {NAME: replace(said("Ongoing"), partitions=(TopicPartition("orders", 1),))},
            True,
            id="26 open on other partitions only",
        ),
        pytest.param(
            {NAME: ListedTransaction(producer_id=100, state="Ongoing")},
            {NAME: replace(said("Ongoing"), partitions=())},
            False,
            id="partitions may not be seen",
        ),
    ],
)
def test_26_a_transaction_that_only_a_partition_knows_hangs(
    listed: dict[str, ListedTransaction], answers: dict[str, Answer], hangs: bool
) -> None:
    first = TransactionLook(taken_ms=NOW_MS - 2_000, listed=listed, answers=answers, writes=(WRITE,))
    for sees_all, decision, told in (
        (True, Decision.HANGING, "nothing ends it"),
        (False, Decision.DENIED, "grant DESCRIBE on TransactionalId '*'"),
        (None, Decision.UNKNOWN, "Ask again"),
    ):
        second = replace(first, taken_ms=NOW_MS, sees_all=sees_all)
        rows = [row for row in decide(holding(), first, second) if row.transactional_id is None]
        assert [(row.producer_id, row.epoch, row.decision) for row in rows] == [(100, 4, decision)] * hangs
        assert all(told in row.reason for row in rows)
    assert not decide(holding(), replace(first, writes=()), TransactionLook(taken_ms=NOW_MS, writes=(WRITE,))), (
        "begun meanwhile"
    )


def test_33_a_committable_of_flip_319_is_decided_by_the_same_two_numbers() -> None:
    (one,) = holding(NAME).transactions
    held = replace(holding(), transactions=(replace(one, schema="FLIP-319"),))

    assert decided(held, {NAME: said("Ongoing", timeout_ms=NO_TIMEOUT_MS)})[NAME, True].decision is Decision.COMMIT


def test_36_two_sinks_are_decided_by_the_strategy_of_their_own_prefix() -> None:
    pooled = holding("pool-0-0", strategy=POOLED).transactions
    held = replace(holding(NAME), prefixes=("orders", "pool"), transactions=(*holding(NAME).transactions, *pooled))
    open_ = said("Ongoing", 9)
    rows = decided(
        held,
        {NAME: said("Ongoing"), "pool-0-0": said("Ongoing"), "orders-5-1": open_, "pool-5-1": replace(open_, epoch=5)},
    )

    assert {name: row.decision.value for (name, _), row in rows.items()} == {
        NAME: "COMMIT",
        "pool-0-0": "COMMIT",
        "orders-5-1": "UNEXPLAINED",
        "pool-5-1": "ABORT",
    }


@with_cases("prefix", ["<b>\x1b[2J", "p" * 245, "a\u202eb", "-", "orders-0"])
def test_38_odd_and_long_names_are_decided_as_others(prefix: str) -> None:
    name = f"{prefix}-0-7"
    held = replace(holding(name), prefixes=(prefix,))

    assert decided(held, {name: said("Ongoing")})[name, True].decision is Decision.COMMIT


@with_cases("state", ["committed", "failed"])
def test_what_no_restore_commits_any_more_is_asked_about_while_it_is_open(state: str) -> None:
    held = holding(NAME, state=state)

    assert decided(held, {NAME: said("Ongoing")})[NAME, True].decision is Decision.UNEXPLAINED
    assert decided(held, {NAME: said("CompleteCommit")})[NAME, True].decision is Decision.SETTLED


@with_cases(("state", "decision"), [("Ongoing", "UNEXPLAINED"), ("PrepareAbort", "WAIT"), ("Empty", "NOTHING")])
def test_what_is_held_by_name_alone_is_never_committed(state: str, decision: str) -> None:
    (one,) = holding(NAME, strategy=POOLED).transactions
    held = replace(holding(), transactions=(replace(one, producer_id=None, epoch=None, state="precommitted"),))
    rows = decided(held, {NAME: said(state)})

    assert {key: row.decision.value for key, row in rows.items()} == {(NAME, True): decision}


CASES = [
    ("c50-incrementing", "savepoint-3-pending", 3),
    ("c50-pooling", "savepoint-3-pending", 3),
    ("c50-incrementing after a clean stop", "stop-with-savepoint-2", 2),
]


@with_cases(("case", "savepoint", "number"), CASES)
def test_recorded_jobs_are_decided_as_their_runs_proved_right(case: str, savepoint: str, number: int) -> None:
    of = recorded("broker_states")[case]
    answers = {
        each["id"]: Described(
            producer_id=each["producer_id"],
            epoch=each["epoch"],
            state=each["state"],
            timeout_ms=each.get("timeout_ms", 600_000),
            start_ms=NOW_MS,
        )
        for each in of["transactions"]
    }
    held = HeldTransactions(
        checkpoint_id=number,
        written_ms=None,
        prefixes=(of["prefix"],),
        transactions=recorded_transactions(f"{case.partition(' ')[0]}/{savepoint}"),
    )
    seen = look(answers)
    words = {"COMMIT": "commit", "ABORT": "abort", "NOTHING": "nothing", "SETTLED": "nothing"}
    found = {row.transactional_id: words[row.decision] for row in decide(held, seen, seen)}

    assert found == {each["id"]: each["decide"].partition(" ")[0] for each in of["transactions"]}


def test_restoring_an_earlier_checkpoint_aborts_what_only_has_the_name_of_what_it_holds() -> None:
    of = recorded("broker_states")["c50-pooling"]
    answers = {
        each["id"]: said("Ongoing", each["producer_id"], each["epoch"], timeout_ms=each["timeout_ms"])
        for each in of["transactions"]
    }
    held = HeldTransactions(
        checkpoint_id=1,
        written_ms=None,
        prefixes=(of["prefix"],),
        transactions=recorded_transactions("c50-pooling/chk-1"),
    )
    seen = look(answers)
    rows = decide(held, seen, seen)

    assert {row.decision for row in rows if not row.held} == {Decision.ABORT}
    assert {row.decision for row in rows if row.held} == {Decision.UNKNOWN}
    assert len(rows) == 6


def test_only_what_may_decide_is_asked_about() -> None:
    listed = {
        f"orders-{n}-{c}": ListedTransaction(producer_id=n, state="CompleteCommit") for n in range(50) for c in range(8)
    }
    listed |= {
        "orders-0-8": ListedTransaction(producer_id=1, state="Ongoing"),
        "x-0-8": ListedTransaction(producer_id=2, state="Ongoing"),
    }

    assert to_describe(holding(NAME), listed) == {NAME, "orders-0-8"}
    assert len(to_describe(holding(NAME, strategy=POOLED), listed)) == 401


def test_an_answer_is_complete_only_where_nothing_was_refused() -> None:
    def made(answer: Answer, *problems: str) -> tuple[bool, int]:
        seen = look({NAME: answer})
        told = report(
            holding(NAME), LookPair(cluster_id="c", brokers=frozenset(), first=seen, second=seen, problems=problems)
        )
        return told.complete, len(told.open)

    assert made(said("CompleteCommit")) == (True, 0)
    assert made(said("Ongoing")) == (True, 1)
    assert made(said("CompleteCommit"), "A broker did not answer.") == (False, 0)
    assert made(Missing.DENIED) == (False, 1)
