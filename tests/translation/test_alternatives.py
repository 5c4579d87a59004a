"""The two answers where records of others stand below the position, held against what each reads of small logs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from offsetwise.model import Ahead, Exactness, IsolationLevel, LogRange, Method, PartitionComparison
from offsetwise.position import offset_of
from offsetwise.translation.alternatives import alternatives
from offsetwise.translation.query import Query, QuerySource
from offsetwise.translation.resolve import Match, resolve
from offsetwise.translation.worker import Answer
from tests.findings.cases import row
from tests.translation.test_content import cut
from tests.with_cases import with_cases

OTHERS = "xyz"


def compared(position: int, old: str, new: str) -> PartitionComparison:
    """Resolve a position on logs with one record per character."""
    at = Query(
        of=QuerySource(source="0", isolation=IsolationLevel.READ_UNCOMMITTED),
        topic="orders",
        partition=0,
        new_topic="orders",
        offset=position,
        old=LogRange(log_start=0, lso=len(old), hw=len(old)),
        new=LogRange(log_start=0, lso=len(new), hw=len(new)),
    )
    return resolve(Match(query=at, answer=Answer(cut=cut(position, old, new))))


def test_both_answers_are_given_with_their_price() -> None:
    lower, counted = alternatives(compared(4, "abcdefg", "axbycdefg"))
    assert (lower.offset, lower.replay, lower.never_read) == (1, 3, 0)
    assert (counted.offset, counted.replay, counted.never_read) == (6, 0, 2)
    assert lower.reason == "The lower bound: no record that was counted is missed, at most 3 records read twice."
    assert counted.reason == (
        "The counted cut: no record of the old log is skipped and none read twice; 2 records that the old log does not "
        "explain never read."
    )


@with_cases(
    ("position", "old", "new"),
    [
        pytest.param(3, "abcd", "abcd", id="the place is proven"),
        pytest.param(2, "abcd", "abcabd", id="no record of others, only second copies"),
        pytest.param(3, "abcde", "axbcd", id="an unread record lacks its copy, which may lie below"),
    ],
)
def test_nothing_is_offered_that_the_count_does_not_support(position: int, old: str, new: str) -> None:
    assert alternatives(compared(position, old, new)) == ()


def test_nothing_is_offered_where_what_lies_ahead_was_not_read_to_the_end() -> None:
    known = row(
        exactness=Exactness.BOUNDED,
        method=Method.CONTENT,
        counted=True,
        bounds=(940, 950),
        new_offset=940,
        replay=8,
        foreign_below=2,
        ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0),
    )
    assert [each.offset for each in alternatives(known)] == [940, 950]
    assert alternatives(replace(known, ahead=Ahead(examined=False))) == ()
    assert alternatives(replace(known, foreign_below=None)) == ()


@given(some.text("abcdef", max_size=8), some.text("abcdef" + OTHERS, max_size=12), some.data())
def test_each_answer_costs_what_it_says(old: str, new: str, data: some.DataObject) -> None:
    position = data.draw(some.integers(0, len(old)))
    unread = Counter(old[position:])
    for each in alternatives(compared(position, old, new)):
        place = offset_of(each.offset)
        ahead = Counter(new[place:])
        assert not unread - ahead, "no unread record is skipped"
        twice = sum((ahead - unread)[letter] for letter in set(old))
        assert twice <= each.replay
        lost = sum(letter not in old for letter in new[:place])
        assert lost == each.never_read
