"""What retained batches say together: nothing is invented where history is purged, and sums are exact."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsetwise.batches import BatchMoment, History, Phase, facts, history_of, moments, state_at, total
from offsetwise.model import Batch, BatchSource, TopicOffsets
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.position import offset_of
from tests.counted import calls

SAMPLE = Path(__file__).parents[1] / "lib" / "offsetwise" / "sample" / "checkpoints" / "orders"
RECORDED = Path(__file__).parent / "data" / "checkpoints"


def source(offsets: dict[str, dict[int, int]], name: str = "0") -> BatchSource:
    return BatchSource(
        id=name,
        offsets=tuple(
            TopicOffsets(topic=topic, partitions=tuple(of), offsets=tuple(of.values())) for topic, of in offsets.items()
        ),
    )


def batch(number: int, *sources: BatchSource, committed: bool = True, at: int | None = None) -> Batch:
    return Batch(id=number, committed=committed, sources=sources, timestamp_ms=at)


def two_partitions() -> History:
    """The field's example: two partitions, a few records at a time; batch 2 is planned."""
    return history_of(
        (
            batch(0, source({"orders": {0: 3, 1: 2}}), at=1_000),
            batch(1, source({"orders": {0: 5, 1: 4}}), at=2_500),
            batch(2, source({"orders": {0: 8, 1: 4}}), committed=False, at=2_400),
        ),
        (source({"orders": {0: 0, 1: 0}}),),
    )


def test_records_of_a_batch_are_the_difference_to_the_batch_before() -> None:
    assert [fact.read.records for fact in facts(two_partitions())] == [5, 4, 3]
    assert [fact.end for fact in facts(two_partitions())] == [5, 9, 12]


def test_an_interval_keeps_its_sign_when_the_drivers_clock_was_set_back() -> None:
    assert [fact.interval_ms for fact in facts(two_partitions())] == [None, 1_500, -100]


def test_stepping_shows_what_a_failure_would_read_again() -> None:
    history = two_partitions()
    steps = [(step.name(history), state_at(history, step)) for step in moments(history)]
    assert [(name, at.again.records) for name, at in steps] == [
        ("before the first batch", 0),
        ("batch 0 planned", 5),
        ("batch 0 committed", 0),
        ("batch 1 planned", 4),
        ("batch 1 committed", 0),
        ("batch 2 planned", 3),
    ]
    last = steps[-1][1]
    assert (last.start.tolist(), last.end.tolist()) == ([5, 4], [8, 4])


def test_a_failure_at_the_last_step_reads_what_the_reader_says_the_restart_reads() -> None:
    read = read_checkpoint(str(SAMPLE))
    history = history_of(read.details.batches)
    at = state_at(history, moments(history)[-1])
    of = {
        (lane.source, lane.topic, lane.partition): (start, end)
        for lane, start, end in zip(history.lanes, at.start.tolist(), at.end.tolist(), strict=True)
    }
    assert of == {
        (one.id, position.topic, position.partition): (position.offset, position.planned_offset)
        for one in read.sources
        for position in one.positions
    }
    ends = [(offset_of(p.offset), offset_of(p.planned_offset or 0)) for one in read.sources for p in one.positions]
    assert at.again.records == sum(end - start for start, end in ends)


def test_below_purged_history_nothing_is_counted_and_nothing_is_zero() -> None:
    history = history_of(
        (batch(41, source({"orders": {0: 100}})), batch(42, source({"orders": {0: 110}}))),
        (source({"orders": {0: 0}}),),
    )
    first, second = facts(history)
    assert (first.read.at_all, first.read.without_start, first.end) == (False, 1, 100)
    assert (second.read.at_all, second.read.records) == (True, 10)
    assert moments(history)[0] == BatchMoment(row=0, phase=Phase.PLANNED)
    assert not state_at(history, moments(history)[0]).start_known.any()


def test_a_batch_whose_file_is_damaged_leaves_its_neighbours_unknown() -> None:
    history = history_of(
        (batch(0, source({"orders": {0: 5}})), batch(1), batch(2, source({"orders": {0: 9}}))),
    )
    assert [fact.read.at_all for fact in facts(history)] == [False, False, False]
    assert [fact.end for fact in facts(history)] == [5, None, 9]


def test_missing_ids_say_how_many_batches_the_records_belong_to() -> None:
    read = read_checkpoint(str(RECORDED / "spark-4.2.0-async"))
    last = facts(history_of(read.details.batches))[-1]
    assert (last.batch.id, last.since, last.together) == (8, 1, 7)
    assert last.read.records == (533 - 196) + (508 - 152)


def test_a_partition_that_goes_back_is_counted_apart() -> None:
    read = read_checkpoint(str(RECORDED / "spark-4.2.0-polluted-after-failed-start"))
    last = facts(history_of(read.details.batches))[-1]
    assert (last.read.regressions, last.read.records) == (1, 0)


def test_a_new_partition_has_no_beginning() -> None:
    history = history_of((batch(0, source({"orders": {0: 5}})), batch(1, source({"orders": {0: 7, 1: 3}}))))
    read = facts(history)[1].read
    assert (read.records, read.partitions, read.without_start) == (2, 1, 1)


def test_two_sources_with_one_topic_stay_apart() -> None:
    history = history_of((batch(0, source({"orders": {0: 5}}, "0"), source({"orders": {0: 900}}, "10")),))
    assert [(log.source, log.topic, log.first, log.count) for log in history.logs] == [
        ("0", "orders", 0, 1),
        ("10", "orders", 1, 1),
    ]
    assert facts(history, history.logs[1].lanes)[0].end == 900


def test_no_batch_is_no_step_and_no_fact() -> None:
    empty = history_of(())
    assert (facts(empty), moments(empty), empty.lanes) == ((), (), ())
    only_initial = history_of((), (source({"orders": {0: 7}}),))
    assert [moment.row for moment in moments(only_initial)] == [None]
    assert state_at(only_initial, moments(only_initial)[0]).start.tolist() == [7]


def test_an_unknown_batch_is_refused() -> None:
    with pytest.raises(KeyError):
        two_partitions().row(7)


@given(st.lists(st.integers(min_value=-(2**63), max_value=2**63 - 1), max_size=50))
def test_sums_are_exact(numbers: list[int]) -> None:
    assert total(np.array(numbers, dtype=np.int64)) == sum(numbers)


@settings(max_examples=50)
@given(
    st.lists(
        st.dictionaries(st.integers(0, 6), st.integers(0, 2**63 - 1), max_size=5),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_counted_is_what_plain_arithmetic_counts(ends: list[dict[int, int]]) -> None:
    history = history_of([batch(number, source({"t": of} if of else {})) for number, of in enumerate(ends)])
    for fact, (before, after) in zip(facts(history)[1:], pairwise(ends), strict=True):
        steps = [after[number] - before[number] for number in after if number in before]
        assert fact.read.records == sum(step for step in steps if step > 0)
        assert fact.read.regressions == sum(step < 0 for step in steps)
        assert fact.read.without_start == len(after) - len(steps)


def test_a_hundred_batches_of_ten_thousand_partitions_are_summed_by_column() -> None:
    partitions = tuple(range(10_000))
    batches = [
        Batch(
            id=number,
            committed=True,
            sources=(
                BatchSource(
                    id="0",
                    offsets=(
                        TopicOffsets(
                            topic="orders", partitions=partitions, offsets=tuple(number * 7 + p for p in partitions)
                        ),
                    ),
                ),
            ),
        )
        for number in range(100)
    ]
    assert facts(history_of(batches))[-1].read.records == 70_000
    count = calls(lambda: facts(history_of(batches)))
    assert count < 500_000, "work is done by column, not by each of 1,000,000 positions"
