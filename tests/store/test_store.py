"""What the store promises, on both databases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from offsetwise.lag.amounts import totals
from offsetwise.lag.subject import LagSubject
from offsetwise.model import Exactness, GroupPosition, LagPart, LagPartition, LogRange, Method, Problem, SubjectKind
from offsetwise.store import codec
from offsetwise.store.store import Store
from tests.lag_samples import BEGIN_MS, growing, row, sample

ORDERS = LagSubject(migration="orders-to-new", kind=SubjectKind.CHECKPOINT, name="orders")
HOUR_MS = 3_600_000

offsets = st.none() | st.integers(-(2**63), 2**63 - 1)
ranges = st.builds(LogRange, log_start=offsets, lso=offsets, hw=offsets)
partitions = st.builds(
    LagPartition,
    source=st.just("0"),
    topic=st.sampled_from(["orders", "<img src=x onerror=alert(1)>", "or\u202eders", "=cmd()"]),
    partition=st.integers(0, 2**31 - 1),
    new_topic=st.just("new"),
    position=offsets,
    new_position=offsets,
    method=st.sampled_from(Method),
    exactness=st.sampled_from(Exactness),
    old=ranges,
    new=ranges,
    groups=st.just((GroupPosition(old=None, new=7), GroupPosition(old=2**53 + 1, new=None))),
)


def test_a_sample_comes_back_as_it_was_written(store: Store) -> None:
    written = replace(
        sample(row(), row(partition=1, position=None, new_position=None, old=(None, None)), missing=(LagPart.NEW,)),
        problems=(Problem(code="GROUP_UNREADABLE", message="half a pair: \udc80, a zero: \x00", fix="none"),),
    )
    given_id = store.add(written)
    read = store.newest(ORDERS)

    assert read is not None
    assert read.id == given_id
    assert store.newest_ms(ORDERS) == written.taken_at_ms
    assert read.sample == written


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(partitions, max_size=5), before=st.lists(partitions, max_size=5))
def test_any_numbers_survive_as_differences_from_any_others(
    rows: list[LagPartition], before: list[LagPartition]
) -> None:
    count = min(len(rows), len(before))
    base = codec.columns(before[:count], 2)
    layout = codec.Layout.of(("a", "b"), rows[:count])

    payload = codec.encode(codec.columns(rows[:count], 2), base)

    assert codec.partitions(layout.rows, codec.decode(payload, layout.columns, count, base)) == tuple(rows[:count])
    assert codec.Layout.load(layout.dump()) == layout


def test_every_method_and_class_has_a_number_in_payloads() -> None:
    assert set(codec.METHODS) == set(Method)
    assert set(codec.EXACTNESS) == set(Exactness)


def test_samples_of_many_partitions_come_back_whole(store: Store) -> None:
    many = growing(3, partitions=600)
    for each in many:
        store.add(each)

    found = store.newest(ORDERS)

    assert found is not None
    assert found.sample == many[-1]


def test_a_sample_of_no_partition_is_kept(store: Store) -> None:
    nothing = replace(sample(missing=(LagPart.OLD,)), partitions=())
    store.add(nothing)

    read = store.newest(ORDERS)

    assert read is not None
    assert read.sample == nothing


def test_the_same_moment_twice_is_one_sample(store: Store) -> None:
    first = store.add(sample())
    again = store.add(sample(row(position=7)))

    assert first == again
    assert len(store.window(ORDERS, 0, most=10)) == 1


def test_subjects_are_kept_apart(store: Store) -> None:
    store.add(sample())
    store.add(sample(checkpoint=None, group="orders"))
    store.add(sample(migration="other"))

    assert store.subjects() == (
        ORDERS,
        LagSubject(migration="orders-to-new", kind=SubjectKind.GROUP, name="orders"),
        LagSubject(migration="other", kind=SubjectKind.CHECKPOINT, name="orders"),
    )
    assert len(store.window(ORDERS, 0, most=10)) == 1
    assert store.newest(LagSubject(migration="orders-to-new", kind=SubjectKind.GROUP, name="payments")) is None
    assert store.window(LagSubject(migration="nobody", kind=SubjectKind.GROUP, name="payments"), 0, most=10) == ()


def test_totals_are_those_of_the_sample_and_a_gap_stays_a_gap(store: Store) -> None:
    taken = [each for index, each in enumerate(growing(20)) if index not in (7, 8, 9)]
    for each in taken:
        store.add(each)

    found = store.window(ORDERS, 0, most=100)

    assert [each.totals for each in found] == [totals(each) for each in taken]
    assert [index for index, each in enumerate(found) if each.after_gap] == [7]
    assert [each.head.taken_at_ms for each in found] == [each.taken_at_ms for each in taken]


def test_a_window_holds_no_more_than_asked_for_and_both_its_ends(store: Store) -> None:
    taken = growing(100)
    for each in taken:
        store.add(each)

    found = store.window(ORDERS, BEGIN_MS + 60_000, most=20)

    assert len(found) <= 20
    assert found[0].head.taken_at_ms == BEGIN_MS + 60_000
    assert found[-1].head.taken_at_ms == taken[-1].taken_at_ms


def test_a_history_holds_only_the_partitions_named(store: Store) -> None:
    taken = growing(70, partitions=300)
    for each in taken:
        store.add(each)

    found = store.history(ORDERS, [("0", "orders", 299), ("0", "orders", 3)], 0, most=1_000)

    assert len(found) == 70
    for read, written in zip(found, taken, strict=True):
        assert read.sample == replace(written, partitions=(written.partitions[3], written.partitions[299]))


def test_a_history_of_a_partition_that_came_later_begins_with_samples_that_lack_it(store: Store) -> None:
    store.add(sample(row(), seconds=0))
    store.add(sample(row(), row(partition=1), seconds=30))

    found = store.history(ORDERS, [("0", "orders", 1)], 0, most=10)

    assert [len(each.sample.partitions) for each in found] == [0, 1]


def test_pruning_keeps_one_sample_of_each_half_hour_and_then_none(store: Store) -> None:
    for each in growing(240, every_s=30):  # two hours
        store.add(each)
    end = BEGIN_MS + 2 * HOUR_MS

    removed = store.prune(end, fine_ms=HOUR_MS, kept_ms=24 * HOUR_MS)
    left = [each.head.taken_at_ms for each in store.window(ORDERS, 0, most=1_000)]

    assert removed == 118
    assert left[:2] == [BEGIN_MS, BEGIN_MS + HOUR_MS // 2]
    assert len(left) == 122
    assert [each.sample for each in store.history(ORDERS, [("0", "orders", 0)], 0, most=1_000)] == [
        each for each in growing(240, every_s=30) if each.taken_at_ms in left
    ]
    assert store.prune(end + 48 * HOUR_MS, kept_ms=24 * HOUR_MS) == 122
    assert store.newest(ORDERS) is None


def test_a_day_of_two_partitions_is_read_in_few_statements(store: Store) -> None:
    for each in growing(288, every_s=300, partitions=2):
        store.add(each)

    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        found = store.window(ORDERS, 0, most=100)
    finally:
        event.remove(Engine, "before_cursor_execute", note)

    assert len(found) <= 100
    assert 0 < len(statements) < 10, statements


@pytest.mark.parametrize("index", [0, 1])
def test_a_group_without_a_commit_stays_unknown(store: Store, index: int) -> None:
    group = (GroupPosition(old=None, new=0), GroupPosition(old=0, new=None))[index]
    store.add(sample(row(groups=(group,))))

    read = store.newest(ORDERS)

    assert read is not None
    assert read.sample.partitions[0].groups == (group,)
