"""Values that stay are not looked through again and again, and nobody's thresholds are lost."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from offsetwise.garbage import SELDOM, collected_seldom
from tests.with_cases import with_cases

USUAL = (601, 11, 12)


@pytest.fixture(autouse=True)
def _usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def looks() -> int:
    return sum(int(one["collections"]) for one in gc.get_stats())


def made() -> list[list[int]]:
    return [[number] for number in range(4 * SELDOM)]


def test_values_that_stay_are_looked_through_a_few_times() -> None:
    before = looks()
    kept = made()
    usually = looks() - before
    with collected_seldom():
        before = looks()
        kept += made()
        seldom = looks() - before
    assert seldom * 50 < usually, (seldom, usually)


def test_garbage_in_cycles_is_still_found_within() -> None:
    class Node:
        other: Node

    alive = 0

    def gone() -> None:
        nonlocal alive
        alive -= 1

    with collected_seldom():
        for _ in range(2 * SELDOM):
            one, two = Node(), Node()
            one.other, two.other = two, one
            alive += 1
            weakref.finalize(one, gone)
        assert alive < 2 * SELDOM


@with_cases("error", [None, KeyError])
def test_what_was_usual_comes_back(error: type[Exception] | None) -> None:
    try:
        with collected_seldom(), collected_seldom():
            assert gc.get_threshold() == (SELDOM, *USUAL[1:])
            if error is not None:
                raise error
    except KeyError:
        pass
    assert gc.get_threshold() == USUAL


def test_who_leaves_first_does_not_end_it_for_another_thread() -> None:
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with collected_seldom():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(60)
    with collected_seldom():
        leave.set()
        thread.join(60)
        assert gc.get_threshold() == (SELDOM, *USUAL[1:])
    assert gc.get_threshold() == USUAL


def test_a_collector_that_somebody_turned_off_stays_off() -> None:
    gc.set_threshold(0, *USUAL[1:])
    with collected_seldom():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold()[0] == 0
