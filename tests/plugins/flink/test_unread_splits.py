"""A partition that is assigned and that no reader keeps is read by nobody after a restore: said, and blocked."""

from __future__ import annotations

import json
import random
from pathlib import Path

from offsetwise.engines.checkpoint import read_checkpoint
from tests.commands import call
from tests.plugins.flink.files import (
    NO_STOP,
    Folder,
    Op,
    enumerator_v2,
    enumerator_v3,
    kafka_source,
    metadata,
    positions,
    reader_element,
    state,
    subtask,
)
from tests.plugins.flink.test_compared import SAMPLE
from tests.plugins.spark.folders import SAMPLES, write
from tests.with_cases import with_cases

CASE = Path(__file__).parents[2] / "data" / "cases" / "flink-40469-reader-lost-split" / "idle-reader-and-lost-split"
SEED = 40_469
ROUNDS = 300


def codes(read: object) -> list[str]:
    return [problem.code for problem in read.problems if problem.code == "NO_POSITION"]  # type: ignore[attr-defined]


def source(readers: list[list[int]], assigned: set[int], waiting: set[int] = frozenset(), *, version: int = 2) -> bytes:  # type: ignore[assignment]
    """Return a savepoint of a KafkaSource whose readers keep these partitions, at 100 each."""
    subtasks = [
        subtask(index, state("SourceReaderState", [reader_element("orders", number, 100) for number in kept]))
        for index, kept in enumerate(readers)
    ]
    listed = [(number, 0) for number in sorted(assigned)] + [(number, 1) for number in sorted(waiting)]
    if version == 2:
        coordinator = enumerator_v2([("orders", number, status) for number, status in listed])
    else:
        coordinator = enumerator_v3([("orders", number, 0, status) for number, status in listed])
    return metadata(Op(subtasks=subtasks, coordinator=coordinator, parallelism=len(readers)))


def test_the_reported_case_is_found_with_an_idle_reader_beside() -> None:
    read = read_checkpoint(str(CASE))

    assert codes(read) == ["NO_POSITION"]
    assert "fk-1" in next(problem.message for problem in read.problems if problem.code == "NO_POSITION")
    ran = call("inspect", CASE, "--json", "--detailed-exitcode")
    assert ran.code == 2
    assert {each["severity"] for each in json.loads(ran.out)["problems"] if each["code"] == "NO_POSITION"} == {"blocks"}


def test_a_partition_is_lost_exactly_where_it_is_assigned_and_no_reader_keeps_it() -> None:
    numbers = random.Random(SEED)
    lost = 0
    for _ in range(ROUNDS):
        assigned = {number for number in range(8) if numbers.random() < 0.7}
        dropped = {number for number in assigned if numbers.random() < 0.15}
        waiting = {number for number in range(8, 11) if numbers.random() < 0.3}
        readers: list[list[int]] = [[] for _ in range(numbers.randint(1, 12))]
        for number in sorted(assigned - dropped):
            numbers.choice(readers).append(number)
        data = source(readers, assigned, waiting, version=numbers.choice([2, 3]))

        read = Folder(data=data).read()

        told = [each for each in read.problems if "no reader keeps a position" in each.message]
        assert [each.code for each in told] == ["NO_POSITION"] * bool(dropped), (readers, assigned, dropped)
        unread = sorted(at.partition for each in read.sources for at in each.marked if at.starts_at == "none")
        assert unread == sorted(dropped)
        assert {number for _, number in positions(read)} - waiting == assigned - dropped
        lost += bool(dropped)
    assert ROUNDS // 4 < lost < ROUNDS


@with_cases("readers", [1, 2, 5])
def test_all_readers_empty_is_no_position_of_every_assigned_partition(readers: int) -> None:
    read = Folder(data=source([[] for _ in range(readers)], {0, 1})).read()

    assert codes(read) == ["NO_POSITION"]
    assert "orders-0" in read.restart
    assert "nobody would read them" in next(each.message for each in read.problems)


@with_cases("readers", [[[0, 1], []], [[], [0], [1], []], [[0, 1]]])
def test_an_idle_reader_and_no_lost_split_is_no_finding(readers: list[list[int]]) -> None:
    assert codes(Folder(data=source(readers, {0, 1})).read()) == []


def test_a_split_that_was_read_to_its_end_is_not_lost() -> None:
    kept = subtask(0, state("SourceReaderState", [reader_element("orders", 0, 100, NO_STOP)]))
    read = Folder(data=metadata(Op(subtasks=[kept], coordinator=enumerator_v2([("orders", 0, 0)])))).read()

    assert codes(read) == []


def legacy(subtasks: int, *, mode: int = 1) -> Op:
    """Return a legacy consumer whose subtasks keep an empty list each: mode 0 splits the list, 1 gives all to each."""
    empty = [subtask(index, state("topic-partition-offset-states", [], mode=mode)) for index in range(subtasks)]
    return Op(uid="legacy", subtasks=empty, parallelism=subtasks)


@with_cases("mode", [0, 1])
@with_cases("subtasks", [1, 2, 5])
@with_cases("beside", [(), (kafka_source({0: 100, 1: 20}),)], ids=["alone", "beside another source"])
def test_an_empty_state_of_the_legacy_consumer_begins_at_earliest_and_blocks(
    beside: tuple[Op, ...], subtasks: int, mode: int
) -> None:
    read = Folder(data=metadata(legacy(subtasks, mode=mode), *beside)).read()

    assert [each.code for each in read.problems] == ["NO_POSITION"]
    assert "begins every partition of its topics at earliest" in read.problems[0].message
    assert len(positions(read)) == 2 * len(beside)


@with_cases("target", ["flink-savepoint", "consumer-group:moved", "starting-offsets"])
@with_cases(
    ("data", "told"),
    [
        (source([[0], []], {0, 1}), "no reader keeps a position"),
        (source([[]], {0, 1}), "no reader keeps a position"),
        (metadata(legacy(2)), "begins every partition of its topics at earliest"),
    ],
    ids=["one lost", "all lost", "an empty state of the legacy consumer"],
)
def test_there_is_no_plan_for_a_savepoint_that_loses_a_partition(
    data: bytes, told: str, target: str, tmp_path: Path
) -> None:
    write({"savepoints/savepoint-1/_metadata": data}, tmp_path)
    text = (SAMPLE / "migration.yaml").read_text().replace("./checkpoints/orders", "./savepoints/savepoint-1")
    (tmp_path / "migration.yaml").write_text(text.replace("- ./checkpoints\n", "- ./savepoints\n- ./checkpoints\n"))

    given = ("--migration", tmp_path / "migration.yaml")
    snapshots = ("--snapshots", SAMPLE / "old.json", SAMPLE / "new.json")

    compared = call("compare", *given, "--checkpoint", "orders", *snapshots, "--no-content", "--json")
    (tmp_path / "comparison.json").write_text(compared.out)
    drafted = ("--target", target, "--author", "ada", "--out", tmp_path / "plan.json", "--json")
    ran = call("draft", *given, "--comparison", tmp_path / "comparison.json", *snapshots, *drafted)

    refused = ran if compared.code == 0 else compared
    assert told in refused.refused()["problem"], "the source's reason, not the sink's"
    assert not (tmp_path / "plan.json").exists()


@with_cases("name", ["flink-1.20-inline", "flink-1.20-snappy"])
def test_recorded_savepoints_lose_nothing(name: str) -> None:
    assert codes(read_checkpoint(str(SAMPLES / name))) == []
