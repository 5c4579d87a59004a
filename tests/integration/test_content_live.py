"""The content match against real clusters, where the payloads tell the truth."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from offsetwise.lab import Lab
from offsetwise.model import Exactness, IsolationLevel, TopicPartition
from offsetwise.pipeline.content import FoundPosition
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.translation.search import Span
from offsetwise.translation.windows import Reason
from tests.integration.topics import START_MS, TIMEOUT_S, Record, copies, create, produce
from tests.integration.truth import Both, find, read_both

SAMPLE = (
    ("orders", 0, "orders"),
    ("orders", 1, "orders"),
    ("payments", 0, "payments"),
    ("payments", 1, "payments"),
    ("profiles", 0, "profiles"),
    ("clicks", 0, "old.clicks"),
    ("audit", 0, "audit"),
    ("beats", 0, "beats"),
)
PROVEN = (Exactness.EXACT, Exactness.POSITION_EXACT)


def check(found: dict[tuple[Both, int], FoundPosition], *, excused: Collection[Reason] = ()) -> Counter[Exactness]:
    """Hold every answer against the truth; count the classes.

    Args:
        found: The answers.
        excused: Reasons for which an answer need not be proven although a right place exists.
    """
    tally: Counter[Exactness] = Counter()
    for (both, position), each in found.items():
        cut = each.answer.cut
        assert cut is not None
        assert cut.exactness is not None
        tally[cut.exactness] += 1
        where = f"{both.partition} at {position}: {cut.exactness} {cut.reason} {cut.offset}"
        if cut.offset is not None:
            cost = both.cost(position, cut.offset)
            assert cost.skip == 0, f"{where} skips {cost.skip}"
            if cut.exactness in PROVEN:
                assert cost.right, f"{where} {cost}"
            elif cut.replay is not None:
                again = max(cost.replay, both.caught_up().cost(position, cut.offset).replay)
                assert again <= cut.replay, f"{where} understates its replay: {again}"
        if cut.reason is Reason.NOT_YET_MIRRORED and cut.offset is None:
            assert both.waits_for_the_mirror(position), f"{where}, and the last record read is there"
        elif cut.reason is Reason.OLD_LOG_TRIMMED:
            # Whether the job has read what only the new log still holds, nobody can tell any more.
            assert position <= both.old.start, where
            assert cut.offset == both.new.start, where
        elif cut.reason not in excused and both.answerable(position):
            assert cut.exactness in PROVEN, f"{where}, and a right place exists"
    return tally


def tell(tally: Counter[Exactness]) -> str:
    """Describe how many answers each class has."""
    return ", ".join(f"{count} {exactness}" for exactness, count in tally.most_common())


@pytest.fixture(scope="session")
def logs(lab: Lab, sample: Path) -> list[Both]:
    assert sample.is_file()
    return [
        read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition(topic, partition), new)
        for topic, partition, new in SAMPLE
    ]


@pytest.fixture(scope="session")
def committed(lab: Lab, logs: list[Both]) -> dict[Both, Both]:
    """What a job that reads committed records sees of `payments`; copies of aborted records are none of its records."""
    made = {}
    for both in logs:
        if both.partition.topic == "payments":
            bootstraps = lab.old_bootstrap, lab.new_bootstrap
            seen = read_both(*bootstraps, both.partition, both.new_topic, isolation="read_committed")
            aborted = {r.serial for r in both.old.records} - {r.serial for r in seen.old.records}
            kept = tuple(record for record in seen.new.records if record.serial not in aborted)
            made[both] = replace(seen, new=replace(seen.new, records=kept))
    return made


def inside_aborted(both: Both, committed: Both) -> list[int]:
    """Return the first and a middle offset of an aborted transaction mid-log, and that of its marker."""
    kept = {record.offset for record in committed.old.records}
    aborted = [record.offset for record in both.old.records if record.offset not in kept]
    assert aborted
    runs = [[offset for _, offset in run] for _, run in groupby(enumerate(aborted), lambda each: each[1] - each[0])]
    one = runs[len(runs) // 2]
    assert one[-1] + 1 not in {record.offset for record in both.old.records}
    return [one[0], one[len(one) // 2], one[-1] + 1]


@pytest.mark.parametrize("window", [64, 8], ids=["whole logs", "narrow windows"])
def test_every_position_of_the_sample_is_proven_or_honest(
    lab: Lab, logs: list[Both], committed: dict[Both, Both], window: int, figure: Callable[[str], None]
) -> None:
    wanted = {both: {*both.everywhere()} for both in logs}
    for both, seen in committed.items():
        wanted[both].update(inside_aborted(both, seen))
    found = find(lab.old_bootstrap, lab.new_bootstrap, wanted, window=window, natives_excluded=True)
    tally = check(found)
    figure(f"the sample, windows of {window}: {len(found)} positions: {tell(tally)}")
    assert tally[Exactness.EXACT] > len(found) // 2


def test_no_answer_claims_more_than_was_read_where_the_budget_leaves_what_lies_ahead_unread(
    lab: Lab, logs: list[Both]
) -> None:
    wanted = {both: both.everywhere() for both in logs}
    found = find(lab.old_bootstrap, lab.new_bootstrap, wanted, window=8, budget=100, natives_excluded=True)
    tally = check(found, excused=(Reason.COPIES_BELOW, Reason.AHEAD_NOT_READ, Reason.FEW_ANCHORS))
    assert tally[Exactness.POSITION_EXACT] > len(found) // 3
    for each in found.values():
        cut = each.answer.cut
        assert cut is not None
        assert cut.ahead.examined is (cut.exactness is Exactness.EXACT)


def test_every_position_of_a_job_that_reads_committed_is_proven_inside_an_aborted_transaction_too(
    lab: Lab, committed: dict[Both, Both]
) -> None:
    bootstraps = lab.old_bootstrap, lab.new_bootstrap
    wanted = {seen: {*seen.everywhere(), *inside_aborted(both, seen)} for both, seen in committed.items()}
    found = find(*bootstraps, wanted, isolation=IsolationLevel.READ_COMMITTED, window=8, natives_excluded=True)
    tally = check(found)
    assert sum(tally[exactness] for exactness in PROVEN) == len(found)


def test_1050_is_950(lab: Lab, logs: list[Both]) -> None:
    found = find(lab.old_bootstrap, lab.new_bootstrap, {logs[0]: [1050]})
    cut = found[logs[0], 1050].answer.cut
    assert cut is not None
    assert (cut.offset, cut.exactness, cut.raw_skip, cut.raw_replay) == (950, Exactness.EXACT, 100, 0)


def test_aborted_records_that_the_mirror_made_visible_are_counted_for_a_job_that_reads_committed(
    lab: Lab, sample: Path
) -> None:
    assert sample.is_file()
    payments = TopicPartition("payments", 0)
    both = read_both(lab.old_bootstrap, lab.new_bootstrap, payments, "payments", isolation="read_committed")
    found = find(lab.old_bootstrap, lab.new_bootstrap, {both: [400]}, isolation=IsolationLevel.READ_COMMITTED)
    cut = found[both, 400].answer.cut
    assert cut is not None
    everything = read_both(lab.old_bootstrap, lab.new_bootstrap, payments, "payments")
    aborted = len(everything.old.records) - len(both.old.records)
    assert cut.aborted_visible == aborted > 0
    assert cut.exactness is Exactness.BOUNDED
    assert both.cost(400, cut.offset or 0).skip == 0


def test_what_lies_ahead_stays_unread_where_large_records_would_cost_more_than_the_budget_of_bytes(lab: Lab) -> None:
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, 20)):
        create(bootstrap, "large")
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 2})
        for number in range(first, 420):
            value = Record(f"r{number}", prefix=b" " * 10_000).value
            producer.produce("large", value=value, partition=0, timestamp=START_MS + number)
        assert producer.flush(TIMEOUT_S) == 0
    both = read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition("large", 0), "large")

    little, enough = (
        find(lab.old_bootstrap, lab.new_bootstrap, {both: [220]}, window=8, budget_bytes=budget)[both, 220]
        for budget in (1_000_000, 10_000_000)
    )

    assert little.answer.record_bytes in range(10_000, 10_100)
    assert little.answer.cut is not None
    assert (little.answer.cut.offset, little.answer.cut.exactness) == (200, Exactness.POSITION_EXACT)
    assert not little.answer.cut.ahead.examined
    assert max(little.old_offsets_read, little.new_offsets_read) < 100
    assert enough.answer.cut is not None
    assert (enough.answer.cut.offset, enough.answer.cut.ahead.examined) == (200, True)
    assert min(enough.old_offsets_read, enough.new_offsets_read) > 200


@pytest.mark.gates
def test_sixteen_positions_cost_as_many_reads_as_one_and_each_its_windows_only(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All copies were appended later than all records, so that times say nothing of copies further down.
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, 100)):
        create(bootstrap, "long", **{"message.timestamp.type": "LogAppendTime"})
        produce(bootstrap, {"long": copies(first, 3_000)})
    both = read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition("long", 0), "long")
    reads: list[Sequence[OffsetRange]] = []

    def counted(
        spark: SparkSession, properties: Mapping[str, str], ranges: Sequence[OffsetRange], **how: Any
    ) -> DataFrame:
        reads.append(ranges)
        return read_records(spark, properties, ranges, **how)

    monkeypatch.setattr("offsetwise.pipeline.window_reader.read_records", counted)
    for positions in ([1_500], range(700, 2_300, 100)):
        reads.clear()
        found = find(lab.old_bootstrap, lab.new_bootstrap, {both: positions}, window=8, budget=100, by_clients=False)

        assert check(found, excused=[Reason.COPIES_BELOW]) == {Exactness.BOUNDED: len(positions)}
        # Windows around the place on both logs, and then the stretch of 100 between the place and the old number.
        assert {each.rounds for each in found.values()} == {2}
        assert len(reads) == 2 * 2
        assert sum(each.end - each.start for ranges in reads for each in ranges) <= 300 * len(positions)


def appended(lab: Lab, topic: str, parts: Sequence[tuple[str, Sequence[int]]]) -> Both:
    """Write parts of logs whose brokers set the times, one after the other, and read both."""
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, topic, **{"message.timestamp.type": "LogAppendTime"})
    for bootstrap, numbers in parts:
        time.sleep(0.005)  # so that no two parts have a time in common
        produce(bootstrap, {topic: [Record(f"r{number}") for number in numbers]})
    return read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition(topic, 0), topic)


def test_what_brokers_appended_in_step_is_proven_though_what_lies_ahead_is_more_than_the_budget(lab: Lab) -> None:
    sides = lab.old_bootstrap, lab.new_bootstrap
    parts = [(side, range(first, first + 100)) for first in range(0, 2_000, 100) for side in sides]
    both = appended(lab, "in-step", parts)

    found = find(*sides, {both: range(150, 1_500, 130)}, window=8, budget=400)

    assert set(check(found)) == {Exactness.POSITION_EXACT}


@pytest.mark.parametrize("at", [200, 1_000, 1_800], ids=["below", "near", "above"])
def test_a_block_of_copies_at_the_place_that_others_claim_proves_nothing_where_no_time_tells(lab: Lab, at: int) -> None:
    sides = lab.old_bootstrap, lab.new_bootstrap
    copied = [*range(at), *range(1_136, 1_264), *range(at, 2_000)]
    both = appended(lab, f"block-{at}", [(sides[0], range(2_000)), (sides[1], copied)])

    for position in (1_150, 1_200, 1_250):
        claimed = at + position - 1_136
        asked = {both: [position]}
        found = find(*sides, asked, window=16, budget=300, brackets=(Span(start=claimed, end=claimed),))

        tally = check(found, excused=[Reason.AHEAD_NOT_READ, Reason.COPIES_BELOW])
        assert set(tally).isdisjoint(PROVEN)
