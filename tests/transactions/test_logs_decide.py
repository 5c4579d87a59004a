"""Where the coordinator no longer describes what a checkpoint holds, the control records in the sink's logs decide."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from offsetwise import files
from offsetwise.model import NamingStrategy
from offsetwise.plugins.kafka.stream import transaction_ends
from offsetwise.plugins.kafka.stream.batches import Fetched, headers
from offsetwise.plugins.kafka.stream.client import Client, Deadline
from offsetwise.plugins.kafka.stream.logs import EARLIEST, LATEST, LogAnswer
from offsetwise.plugins.kafka.stream.transaction_ends import search_logs
from offsetwise.plugins.kafka.stream.wire import Wire
from offsetwise.position import TopicPartition
from offsetwise.transactions.deciding import decide
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.observed import (
    Described,
    HeldTransactions,
    LoggedTransaction,
    LogSearch,
    OpenWrite,
    TransactionLook,
    to_search,
)
from offsetwise.transactions.report import LookPair
from offsetwise.transactions.snapshot import SinkSnapshot
from tests.gates import PART
from tests.transactions.test_deciding import NAME, NOW_MS, ORDERS, holding, look, said
from tests.with_cases import with_cases

POOLED = NamingStrategy.POOLING
WRITTEN_MS = NOW_MS - 30_000
SEED = 20261125
LOGS = 2_000


# --------------------------------------------------------------------------- logs as brokers keep them


def records(
    base: int, producer: tuple[int, int], count: int, *, at_ms: int, sequence: int, transactional: bool
) -> bytes:
    """Encode a batch as the client does."""
    builder = DefaultRecordBatchBuilder(2, 0, transactional, *producer, sequence, 1 << 20)
    for number in range(count):
        builder.append(number, at_ms, None, b"x" * 20, [])
    made = bytearray(builder.build())
    struct.pack_into(">q", made, 0, base)
    return bytes(made)


def marker(base: int, producer: tuple[int, int], *, commits: bool, at_ms: int = NOW_MS) -> bytes:
    """Encode a control batch as a broker does: one record, whose key is its version and its type."""
    key, value = struct.pack(">hh", 0, int(commits)), struct.pack(">hi", 0, 7)
    body = b"\0\0\0" + bytes([len(key) << 1]) + key + bytes([len(value) << 1]) + value + b"\0"
    record = bytes([len(body) << 1]) + body
    header = struct.pack(">iibIhiqqqhii", 49 + len(record), 0, 2, 0, 0x30, 0, at_ms, at_ms, *producer, -1, 1)
    return struct.pack(">q", base) + header + record


@dataclass
class Log:
    """One partition, with what is true of it."""

    start: int = 0
    batches: list[tuple[int, int, bytes]] = field(default_factory=list)
    """(first offset, last offset, bytes)."""
    ended: list[tuple[tuple[int, int], int, int, bool | None]] = field(default_factory=list)
    """(producer, first offset, records, committed)."""

    @property
    def end(self) -> int:
        return self.batches[-1][1] + 1 if self.batches else self.start

    def write(
        self,
        producer: tuple[int, int],
        count: int,
        *,
        at_ms: int = WRITTEN_MS - 1,
        open_: bool = True,
        sequence: int = 0,
    ) -> int:
        base = self.end
        batch = records(base, producer, count, at_ms=at_ms, sequence=sequence, transactional=open_)
        self.batches.append((base, base + count - 1, batch))
        return base

    def finish(self, producer: tuple[int, int], *, commits: bool) -> None:
        base = self.end
        self.batches.append((base, base, marker(base, producer, commits=commits)))

    def fetch(self, offset: int, most_bytes: int) -> bytes:
        data = b""
        for _, last, one in self.batches:
            if last >= offset:
                data += one if not data else one[: max(0, most_bytes - len(data))]
        return data


class Brokers:
    """A wire and a client over logs."""

    def __init__(self, logs: Mapping[TopicPartition, Log], *, most_bytes: int = 1 << 20) -> None:
        self.logs, self.most_bytes, self.fetched = logs, most_bytes, 0
        self.deadline = Deadline(60)
        self.refuse: dict[TopicPartition, int] = {}
        self.dated: dict[TopicPartition, int | None] = {}
        """Where the first record at or after a time is; the start where nothing is set."""

    def fetch(self, leader: int, at: TopicPartition, offset: int, *, committed: bool, most_bytes: int) -> Fetched:
        assert (leader, committed) == (1, False)
        log = self.logs[at]
        self.fetched += 1
        return Fetched(
            error_code=self.refuse.get(at, 0),
            log_start=log.start,
            last_stable_offset=log.end,
            high_watermark=log.end,
            aborted=frozenset(),
            batches=() if at in self.refuse else tuple(headers(log.fetch(offset, min(most_bytes, self.most_bytes)))),
        )

    def search(
        self, producers: Set[tuple[int, int]], patch: pytest.MonkeyPatch, *, since_ms: int | None = None
    ) -> LogSearch:
        def list_offsets(_: object, wanted: Mapping[tuple[str, int], int]) -> Mapping[tuple[str, int], int]:
            return wanted

        def offset(at: TopicPartition, time: int) -> int | None:
            log = self.logs[at]
            return log.start if time == EARLIEST else log.end if time == LATEST else self.dated.get(at, log.start)

        def take_logs(_: object, asked: Mapping[str, Any]) -> dict[str, dict[TopicPartition, LogAnswer]]:
            return {
                kind: {at: LogAnswer(offset(at, time)) for at, time in wanted.items()} for kind, wanted in asked.items()
            }

        patch.setattr(transaction_ends, "list_offsets", list_offsets)
        patch.setattr(transaction_ends, "take_logs", take_logs)
        topics = {
            name: SimpleNamespace(
                partitions={at.partition: SimpleNamespace(leader=1) for at in self.logs if at.topic == name}
            )
            for name in {at.topic for at in self.logs}
        }
        return search_logs(
            cast(Client, None),
            cast(Wire, self),
            SimpleNamespace(topics=topics),
            producers=producers,
            topics=topics.keys(),
            since_ms=since_ms,
        )


def shown(search: LogSearch) -> set[tuple[TopicPartition, tuple[int, int], int, int, bool | None]]:
    return {
        (at.topic_partition, (at.producer_id, at.epoch), at.start_offset, at.records, at.committed)
        for at in search.transactions
    }


def generated(seed: int) -> tuple[dict[TopicPartition, Log], dict[tuple[int, int], bool | None]]:
    """Make logs of a sink with pooled names: each producer's transactions one after another, ended as anybody may."""
    by = random.Random(seed)
    logs = {TopicPartition(by.choice(("orders", "other")), number): Log(by.choice((0, 500))) for number in range(3)}
    ends: dict[tuple[int, int], bool | None] = {}
    open_: dict[int, dict[TopicPartition, tuple[int, int]]] = {}
    epochs = {producer: by.randrange(0, 9) for producer in (9, 10, 11)}
    # Since transaction.version 2 a marker has the next epoch, as after a time-out or where a producer was fenced.
    raised = by.random() < 0.7
    for _ in range(by.randrange(4, 40)):
        producer, at = by.choice(list(epochs)), by.choice(list(logs))
        if by.random() < 0.6:
            count = by.randrange(1, 5)
            base = logs[at].write((producer, epochs[producer]), count)
            first, so_far = open_.setdefault(producer, {}).get(at, (base, 0))
            open_[producer][at] = first, so_far + count
        elif by.random() < 0.2:
            logs[at].write((producer + 100, 0), 2, open_=by.random() < 0.5)
        elif producer in open_:
            commits, key = by.random() < 0.5, (producer, epochs[producer])
            for partition, (first, count) in open_.pop(producer).items():
                logs[partition].finish((producer, key[1] + raised), commits=commits)
                logs[partition].ended.append((key, first, count, commits))
            ends[key] = commits
            epochs[producer] += by.choice((1, 2)) + raised
    for producer, partitions in open_.items():
        ends[producer, epochs[producer]] = None
        for partition, (first, count) in partitions.items():
            logs[partition].ended.append(((producer, epochs[producer]), first, count, None))
    return logs, ends


def test_generated_logs_give_every_end_with_its_records_however_a_fetch_is_cut(
    monkeypatch: pytest.MonkeyPatch, figure: Any
) -> None:
    tried = 0
    for seed in range(SEED, SEED + LOGS // (1 if PART == 1 else 4)):
        logs, ends = generated(seed)
        producers = frozenset(ends) | {(9, 77), (77, 0)}
        most_bytes = random.Random(seed).choice((1, 100, 300, 1 << 20))
        found = Brokers(logs, most_bytes=most_bytes).search(producers, monkeypatch)

        assert shown(found) == {
            (at, key, first, count, committed) for at, log in logs.items() for key, first, count, committed in log.ended
        }, seed
        assert found.unread == ()
        for key, committed in ends.items():
            row = decided(key, found)
            expected = {True: "SETTLED", False: "LOST", None: "UNKNOWN"}[committed]
            assert row.decision.value == expected, (seed, key, row.reason)
            held = sum(count for log in logs.values() for of, _, count, _ in log.ended if of == key)
            assert committed is None or sum(at.records or 0 for at in row.partitions) == held
            tried += 1
    figure(f"ends of {tried:,} transactions in generated logs of a sink (seed {SEED}), 0 told otherwise")


def decided(
    key: tuple[int, int], search: LogSearch | None, answer: Described | None = None, **more: Any
) -> SinkTransaction:
    """Decide about a pooled name that is in use again."""
    (one,) = holding(NAME, strategy=POOLED).transactions
    held = HeldTransactions(
        checkpoint_id=7,
        written_ms=WRITTEN_MS,
        prefixes=("orders",),
        transactions=(replace(one, producer_id=key[0], epoch=key[1]),),
    )
    answers = {NAME: answer or said("Ongoing", key[0], key[1] + 2, start_ms=NOW_MS)}
    assert to_search(held, answers) == {key}
    seen = replace(look(answers), **more)
    return next(row for row in decide(held, seen, seen, search=search) if row.held)


# --------------------------------------------------------------------------- what the logs do not tell


def test_where_records_are_dated_otherwise_the_logs_are_read_from_their_start(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    log.write((9, 2), 3, at_ms=5)
    log.finish((9, 3), commits=False)
    middle = log.end
    log.write((50, 0), 4, open_=False)
    brokers = Brokers({ORDERS: log})
    for dated in (middle, None):
        brokers.dated = {ORDERS: dated}

        assert shown(brokers.search({(9, 2)}, monkeypatch, since_ms=WRITTEN_MS)) == {(ORDERS, (9, 2), 0, 3, False)}


def test_what_a_bound_or_a_right_leaves_unread_is_said_and_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    log, other = Log(), TopicPartition("orders", 1)
    for _ in range(4):
        log.write((50, 0), 3, open_=False)
    log.write((9, 2), 3)
    log.finish((9, 3), commits=True)
    monkeypatch.setattr(transaction_ends, "COUNTED_BYTES", 2 << 20)
    brokers = Brokers({ORDERS: log, other: log}, most_bytes=1)
    brokers.refuse = {other: 29}

    found = brokers.search({(9, 2)}, monkeypatch)

    assert found.transactions == ()
    assert found.unread == (
        "orders-0: not read from offset 6 on, 2 MB of a partition are read",
        "orders-1: not read from offset 0 on, READ on it is needed",
    )
    row = decided((9, 2), found)
    assert row.decision is Decision.UNKNOWN
    assert "orders were searched and not read whole (orders-0: not read from offset 6 on" in row.reason
    assert "and 1 more" in row.reason


def test_no_more_is_read_once_each_producer_has_gone_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    log.write((9, 2), 3)
    log.finish((9, 3), commits=True)
    log.write((9, 4), 3)
    for _ in range(50):
        log.write((50, 0), 3, open_=False)
    brokers = Brokers({ORDERS: log}, most_bytes=1)

    assert len(brokers.search({(9, 2)}, monkeypatch).transactions) == 1
    assert brokers.fetched == 3


def one(committed: bool | None, partition: int = 0, **more: Any) -> LoggedTransaction:
    made = LoggedTransaction(
        topic="orders",
        partition=partition,
        producer_id=100,
        epoch=4,
        start_offset=10,
        records=447,
        last_timestamp_ms=WRITTEN_MS - 5,
        committed=committed,
    )
    return replace(made, **more)


def searched(*transactions: LoggedTransaction) -> LogSearch:
    return LogSearch(topics=("orders",), transactions=transactions)


GONE_ON = ("Ongoing", 6), ("Empty", 6), ("CompleteCommit", 6), ("CompleteAbort", 7), ("Dead", 6)
OPEN = OpenWrite(
    partition=ORDERS, producer_id=100, epoch=4, start_offset=10, last_sequence=2, last_timestamp_ms=WRITTEN_MS
)


@with_cases(("state", "epoch"), GONE_ON)
@with_cases(
    ("transactions", "decision", "told"),
    [
        ((one(True),), "SETTLED", "as the log says. 447 records of it are in orders-0."),
        ((one(False), one(False, 3, records=1)), "LOST", "448 records of it are in orders-0, orders-3."),
        ((one(True), one(None, 1)), "UNKNOWN", "the log of orders-1 has it open from offset 10"),
        ((one(False), one(None, 1)), "LOST", "write them again"),
        ((one(None),), "UNKNOWN", "have no end of it any more"),
        ((one(True), one(False, 1)), "UNKNOWN", "some are committed and others aborted"),
        ((one(True, last_timestamp_ms=WRITTEN_MS + 1),), "UNKNOWN", "after the checkpoint was written"),
        ((one(True, epoch=6), one(True, producer_id=7)), "UNKNOWN", "name them with --topic"),
        ((), "UNKNOWN", "start from a newer checkpoint"),
    ],
)
def test_whatever_the_coordinator_says_of_a_later_epoch_the_control_records_of_this_one_decide(
    state: str, epoch: int, transactions: Sequence[LoggedTransaction], decision: str, told: str
) -> None:
    answer = said(state, 100, epoch, start_ms=NOW_MS)
    row = decided((100, 4), searched(*transactions), answer)

    assert (row.decision.value, told in row.reason) == (decision, True), row.reason
    unsearched = decided((100, 4), None, answer)
    assert unsearched.decision is Decision.UNKNOWN
    assert "Name the topics of the sink with --topic" in unsearched.reason


@with_cases("epoch", [4, 5])
@with_cases(
    ("state", "search", "decision", "told"),
    [
        ("CompleteCommit", None, "SETTLED", "It is committed."),
        ("CompleteCommit", searched(), "SETTLED", "It is committed."),
        ("CompleteCommit", searched(one(True)), "SETTLED", "It is committed."),
        ("CompleteCommit", searched(one(False)), "LOST", "as the log says"),
        ("CompleteAbort", searched(one(False)), "LOST", "447 records of it are in orders-0"),
        ("CompleteAbort", None, "LOST", "How many records it held is not known: name the topics of the sink"),
        ("CompleteAbort", searched(), "LOST", "How many records it held is not known: the logs of orders have no end"),
        ("CompleteAbort", searched(one(True)), "SETTLED", "as the log says"),
    ],
)
def test_the_log_decides_where_it_says_otherwise_than_the_coordinator(
    epoch: int, state: str, search: LogSearch | None, decision: str, told: str
) -> None:
    row = decided((100, 4), search, said(state, 100, epoch))

    assert (row.decision.value, told in row.reason) == (decision, True), row.reason


@with_cases(("state", "epoch"), [("CompleteCommit", 4), ("CompleteCommit", 5), *GONE_ON])
def test_what_a_leader_has_open_is_not_settled(state: str, epoch: int) -> None:
    search = None if epoch < 6 else searched(one(True, 1))
    row = decided((100, 4), search, said(state, 100, epoch), writes=(OPEN,))
    other = decided((100, 4), search, said(state, 100, epoch), writes=(replace(OPEN, epoch=6),))

    assert row.decision is Decision.UNKNOWN
    assert "the log of orders-0 has it open from offset 10: read_committed readers do not get" in row.reason
    assert other.decision is Decision.SETTLED


def test_a_transaction_that_hangs_and_is_held_is_never_aborted() -> None:
    held = holding(NAME, strategy=POOLED)
    seen = TransactionLook(taken_ms=NOW_MS, writes=(OPEN, replace(OPEN, producer_id=8)), sees_all=True)

    rows = {row.producer_id: row for row in decide(held, seen, seen) if row.transactional_id is None}

    assert {producer: row.decision.value for producer, row in rows.items()} == {100: "UNKNOWN", 8: "HANGING"}
    assert "an abort would lose records that the checkpoint counts as written" in rows[100].reason


def test_a_snapshot_keeps_what_the_logs_showed_and_leaves_it_out_where_nobody_searched() -> None:
    seen = replace(look({NAME: said("Ongoing", epoch=6)}), unlisted=True, silent=(ORDERS,))
    looks = LookPair(cluster_id="c", brokers=frozenset(), first=seen, second=seen, search=searched(one(False)))
    kept = SinkSnapshot(name="old", looks=looks, topics=("orders",))
    plain = replace(seen, unlisted=None, silent=())
    without = replace(kept, looks=replace(looks, first=plain, second=plain, search=None))

    for snapshot in (kept, without):
        assert files.load(files.dump(snapshot), "sink-snapshot", subject="it") == snapshot
    written = json.loads(files.dump(without))["looks"]
    assert {"search", "silent", "unlisted"}.isdisjoint({*written, *written["first"], *written["second"]})


def test_records_before_the_time_that_was_searched_from_are_counted_and_what_is_gone_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log()
    first = log.write((9, 2), 3)
    second = log.write((9, 2), 4, sequence=3)
    log.finish((9, 3), commits=False)
    brokers = Brokers({ORDERS: log})
    brokers.dated = {ORDERS: second}

    assert shown(brokers.search({(9, 2)}, monkeypatch, since_ms=5)) == {(ORDERS, (9, 2), first, 7, False)}

    log.start, log.batches = second, log.batches[1:]
    found = brokers.search({(9, 2)}, monkeypatch, since_ms=5)
    assert found.unread == ("orders-0: the first records of producer 9 with epoch 2 are gone",)
    assert "At least 4 records of it are in orders-0" in decided((9, 2), found).reason
