"""What is read, how often, and what is kept."""

from __future__ import annotations

import threading

import pytest

from offsetwise.console import desk as desks
from offsetwise.console.desk import ComparisonOf, Desk
from offsetwise.errors import ClusterUnreachableError
from tests.console import builders
from tests.console.readers import ORDERS, ValueReader

SAMPLE = ComparisonOf(migration="sample", subject=ORDERS)
LIVE = ComparisonOf(migration="orders-to-new", subject=ORDERS)
DOWN = ClusterUnreachableError("Cluster 'new': expected an answer, none came.", fix="Start it.")


def test_a_recorded_comparison_is_read_once() -> None:
    reader = ValueReader()
    desk = Desk(reader)
    first = desk.held(SAMPLE)
    assert first is not None
    assert desk.held(SAMPLE) is first
    assert reader.calls["recorded"] == 1


def test_a_live_comparison_is_not_read_by_looking_for_it() -> None:
    reader = ValueReader(live=builders.comparison())
    assert Desk(reader).held(LIVE) is None
    assert reader.calls["compare"] == 0


def test_a_name_that_is_not_offered_reads_nothing() -> None:
    reader = ValueReader()
    assert Desk(reader).held(ComparisonOf(migration="nobody", subject=ORDERS)) is None
    assert reader.calls["recorded"] == 0


def test_two_askers_share_one_reading() -> None:
    gate = threading.Event()
    reader = ValueReader(live=builders.comparison(), gate=gate)
    desk = Desk(reader)
    first, second = desk.read(LIVE), desk.read(LIVE)
    assert first is second
    gate.set()
    first.outcome.result(timeout=10)
    assert reader.calls["compare"] == 1
    assert first.steps == {"checkpoint": (1, 1), "old cluster": (40, 40)}
    held = desk.held(LIVE)
    assert held is not None
    assert held.value == builders.comparison()


def test_a_failed_reading_keeps_its_error_and_what_was_read_before() -> None:
    reader = ValueReader(live=builders.comparison())
    desk = Desk(reader)
    desk.read(LIVE).outcome.result(timeout=10)
    before = desk.held(LIVE)
    reader.answer_with(DOWN)
    assert desk.read(LIVE).outcome.exception(timeout=10) is DOWN
    assert desk.held(LIVE) is before
    reading = desk.reading(LIVE)
    assert reading is not None
    assert reading.outcome.exception() is DOWN


def test_reading_again_replaces_what_is_held() -> None:
    desk = Desk(ValueReader(live=builders.comparison()))
    ids = []
    for _ in range(2):
        desk.read(LIVE).outcome.result(timeout=10)
        held = desk.held(LIVE)
        assert held is not None
        ids.append(held.id)
    assert ids[0] != ids[1]
    assert desk.reading(LIVE) is None


def test_only_a_bounded_number_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "HELD_ANSWERS", 2)
    reader = ValueReader({name: builders.comparison(name=name) for name in ("a", "b", "c")})
    desk = Desk(reader)
    for subject in (*desk.offered[0].subjects, desk.offered[0].subjects[0]):
        assert desk.held(ComparisonOf(migration="sample", subject=subject)) is not None
    assert reader.calls["recorded"] == 4
