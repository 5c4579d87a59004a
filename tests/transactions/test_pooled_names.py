"""A sink with the naming strategy POOLING: a number in a name is no checkpoint's, also where nothing is held."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

import offsetwise
from offsetwise import files
from offsetwise.config import ClusterConfig
from offsetwise.plugins.flink.engine.checkpoint import read_checkpoint
from offsetwise.plugins.kafka.stream import reader
from offsetwise.transactions.observed import Described, TransactionLook
from offsetwise.transactions.report import LookPair, SinkTransactions
from offsetwise.transactions.upgrade import MAX_TIMEOUT, Broker, TransactionFacts
from tests.commands import call
from tests.plugins.flink.files import Op, integer, kafka_source, metadata, state, subtask, utf, versioned
from tests.plugins.flink.targets.test_flink_marks import COMMITTER
from tests.transactions.test_command import entry, migration
from tests.transactions.test_deciding import NOW_MS, N, look, said
from tests.with_cases import with_cases

INCREMENTING, POOLING = 0, 1
WRITTEN_MS = NOW_MS - 30_000
NUMBERS = (0, 1, N - 1, N, N + 1, 1_000)


def writer(ownership: int, prefix: str = "orders") -> bytes:
    """Return a writer's state of connector 4.0 and later that names no transaction."""
    return versioned(utf(prefix) + integer(0) + integer(1) + integer(ownership) + integer(0), version=2)


def savepoint(folder: Path, *writers: bytes) -> Path:
    """Write a savepoint of a sink that holds no transaction, with these elements of its writer's state."""
    data = metadata(
        kafka_source({0: 1050}),
        Op(uid="sink: writer", subtasks=[subtask(0, state("writer_raw_states", list(writers)))]),
        Op(uid="sink: committer", subtasks=[subtask(0, state(COMMITTER, []))]),
        checkpoint_id=N,
    )
    folder.mkdir()
    (folder / "_metadata").write_bytes(data)
    os.utime(folder / "_metadata", (WRITTEN_MS / 1000, WRITTEN_MS / 1000))
    return folder


@pytest.fixture
def said_of(monkeypatch: pytest.MonkeyPatch) -> dict[str, Described]:
    """Answer about these transactional ids, in both looks."""
    answers: dict[str, Described] = {}

    def answer(config: ClusterConfig, *_: object, **__: object) -> LookPair:
        seen: TransactionLook = look(answers)
        return LookPair(cluster_id="c", brokers=frozenset({config.name}), first=seen, second=seen)

    monkeypatch.setattr(reader, "look_at_transactions", answer)
    monkeypatch.setattr(reader, "transaction_facts", lambda config, **_: TransactionFacts(name=config.name, brokers=()))
    return answers


def decided(folder: Path, writers: Sequence[bytes]) -> SinkTransactions:
    checkpoint = savepoint(folder / "savepoint", *writers)
    path = migration(folder, entry("orders", checkpoint, sink_cluster="old"))
    return offsetwise.Migration.load(path).transactions("orders")


@with_cases(
    ("writers", "started_ms", "state_now", "decision"),
    [
        pytest.param([POOLING], WRITTEN_MS + 1, "CompleteCommit", "SINK_WENT_ON", id="committed since"),
        pytest.param([POOLING], WRITTEN_MS - 1, "CompleteCommit", "NOTHING", id="committed before"),
        pytest.param([POOLING], WRITTEN_MS + 1, "Ongoing", "ABORT", id="open"),
        pytest.param([POOLING], WRITTEN_MS + 1, "CompleteAbort", "NOTHING", id="aborted"),
        pytest.param([POOLING] * 4, WRITTEN_MS + 1, "CompleteCommit", "SINK_WENT_ON", id="of four subtasks"),
        pytest.param([INCREMENTING, POOLING], WRITTEN_MS + 1, "CompleteCommit", "SINK_WENT_ON", id="not all agree"),
    ],
)
def test_a_savepoint_that_holds_nothing_tells_the_strategy_by_its_writers_so_that_no_number_counts(
    writers: list[int],
    started_ms: int,
    state_now: str,
    decision: str,
    said_of: dict[str, Described],
    tmp_path: Path,
) -> None:
    for subtask_, number in product(range(2), NUMBERS):
        said_of[f"orders-{subtask_}-{number}"] = said(state_now, 10 * number + subtask_, start_ms=started_ms)

    made = decided(tmp_path, [writer(each) for each in writers])

    assert {row.decision.value for row in made.transactions} == {decision}
    assert len(made.transactions) == 2 * len(NUMBERS)


@with_cases(
    ("state_now", "before", "after"),
    [("CompleteCommit", "NOTHING", "SINK_WENT_ON"), ("Ongoing", "UNEXPLAINED", "ABORT")],
)
def test_with_incrementing_numbers_are_still_those_of_checkpoints(
    state_now: str, before: str, after: str, said_of: dict[str, Described], tmp_path: Path
) -> None:
    for number in NUMBERS:
        said_of[f"orders-0-{number}"] = said(state_now, number + 1)

    made = decided(tmp_path, [writer(INCREMENTING)])

    assert {row.transactional_id: row.decision.value for row in made.transactions} == {
        f"orders-0-{number}": before if number <= N else after for number in NUMBERS
    }


def test_the_command_says_by_its_exit_code_that_the_sink_went_on(said_of: dict[str, Described], tmp_path: Path) -> None:
    said_of["orders-0-0"] = said("CompleteCommit", start_ms=WRITTEN_MS + 1)
    checkpoint = savepoint(tmp_path / "savepoint", writer(POOLING))
    path = migration(tmp_path, entry("orders", checkpoint, sink_cluster="old"))

    ran = call("transactions", "orders", "--migration", path, "--detailed-exitcode")

    assert ran.code == 2
    assert "SINK_WENT_ON" in ran.out


def test_the_time_out_of_open_transactions_is_held_against_what_the_cluster_allows(
    said_of: dict[str, Described], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said_of["orders-0-0"] = said("Ongoing", timeout_ms=1_200_000)
    broker = Broker(id=1, apis=frozenset(), init_producer_id=5, config={MAX_TIMEOUT: "900000"})
    monkeypatch.setattr(
        reader, "transaction_facts", lambda config, **_: TransactionFacts(name=config.name, brokers=(broker,))
    )

    (found,) = decided(tmp_path, [writer(POOLING)]).findings

    assert "is 20 min (as its transactions have it), and transaction.max.timeout.ms of cluster" in found.message


def test_a_file_of_the_checkpoint_keeps_which_prefixes_are_pooled_and_leaves_the_key_out_without_one(
    tmp_path: Path,
) -> None:
    pooled = read_checkpoint(str(savepoint(tmp_path / "pooled", writer(POOLING), writer(INCREMENTING, "other"))))
    numbered = read_checkpoint(str(savepoint(tmp_path / "numbered", writer(INCREMENTING))))

    assert pooled.details.pooled_prefixes == ("orders",)
    assert files.load(files.dump(pooled), "checkpoint", subject="it") == pooled
    assert "pooled_prefixes" not in files.dump(numbered)
