"""The content match against real clusters, where the payloads tell the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from offsetwise.lab import Lab
from offsetwise.model import Exactness, IsolationLevel, TopicPartition
from offsetwise.pipeline.content import Found
from offsetwise.translation.windows import Reason
from tests.integration.topics import START_MS, TIMEOUT_S, Record, create
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


def check(found: dict[tuple[Both, int], Found]) -> Counter[Exactness]:
    """Hold every answer against the truth; count the classes."""
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
                assert cost.replay <= cut.replay, f"{where} understates its replay: {cost}"
        if cut.reason is Reason.NOT_YET_MIRRORED:
            assert both.waits_for_the_mirror(position), f"{where}, and the last record read is there"
        elif cut.reason is Reason.OLD_LOG_TRIMMED:
            # Whether the job has read what only the new log still holds, nobody can tell any more.
            assert position <= both.old.start, where
            assert cut.offset == both.new.start, where
        elif both.answerable(position):
            assert cut.exactness in PROVEN, f"{where}, and a right place exists"
    return tally


def tell(tally: Counter[Exactness]) -> str:
    """Say how many answers each class has."""
    return ", ".join(f"{count} {exactness}" for exactness, count in tally.most_common())


@pytest.fixture(scope="session")
def logs(lab: Lab, sample: Path) -> list[Both]:
    assert sample.is_file()
    return [
        read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition(topic=topic, partition=partition), new)
        for topic, partition, new in SAMPLE
    ]


@pytest.mark.parametrize("window", [64, 8], ids=["whole logs", "narrow windows"])
def test_every_position_of_the_sample_is_proven_or_honest(
    lab: Lab, logs: list[Both], window: int, figure: Callable[[str], None]
) -> None:
    wanted = {both: both.everywhere() for both in logs}
    found = find(lab.old_bootstrap, lab.new_bootstrap, wanted, window=window, natives_excluded=True)
    tally = check(found)
    figure(f"the sample, windows of {window}: {len(found)} positions: {tell(tally)}")
    assert tally[Exactness.EXACT] > len(found) // 2


def test_1050_is_950(lab: Lab, logs: list[Both]) -> None:
    found = find(lab.old_bootstrap, lab.new_bootstrap, {logs[0]: [1050]})
    cut = found[logs[0], 1050].answer.cut
    assert cut is not None
    assert (cut.offset, cut.exactness, cut.raw_skip, cut.raw_replay) == (950, Exactness.EXACT, 100, 0)


def test_aborted_records_that_the_mirror_made_visible_are_counted_for_a_job_that_reads_committed(
    lab: Lab, sample: Path
) -> None:
    assert sample.is_file()
    payments = TopicPartition(topic="payments", partition=0)
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
    both = read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition(topic="large", partition=0), "large")

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
