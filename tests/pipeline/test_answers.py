"""Every answer of a worker is held against its question: another row's or a damaged one counts for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.errors import WorkerError
from offsetwise.model import Cluster, Exactness
from offsetwise.pipeline.client_windows import once, read_answer
from offsetwise.pipeline.interrupting import ordered_results
from offsetwise.pipeline.reconcile import range_sums
from offsetwise.pipeline.records import OffsetRange
from offsetwise.translation.preserved import Probe
from offsetwise.translation.search import Span
from offsetwise.translation.windows import Cut, Reason
from offsetwise.translation.worker import Answer, RecordQuestion, Task, written
from tests.with_cases import with_cases

RANGES = {side: {0: OffsetRange(topic="orders", partition=0, start=0, end=100)} for side in Cluster}
WHOLE = Span(start=0, end=10_000)
NEAR = Span(start=900, end=1_000)
TASK = Task(question=RecordQuestion.CUT, position=1050, old=NEAR, new=NEAR, old_whole=WHOLE, new_whole=WHOLE)
CUT = Cut(exactness=Exactness.EXACT, reason=Reason.PROVEN, offset=950, lo=950, hi=950)
ANSWER = Answer(cut=CUT, made_of="key and value")
LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "the token of another question": lambda body: body.update(token="b"),
    "no token": lambda body: body.pop("token"),
    "a token that is no text": lambda body: body.update(token=None),
    "an offset past the log": lambda body: body["cut"].update(offset=10_001),
    "an offset below the log": lambda body: body["cut"].update(offset=-1),
    "a bound past the log": lambda body: body["cut"].update(hi=10_001),
    "no cut": lambda body: body.update(cut=None),
    "the answer to a probe": lambda body: body.update(cut=None, probe={"agree": 5, "alike": 0, "differ": 0}),
    "two answers in one": lambda body: body.update(same=True),
    "another class": lambda body: body["cut"].update(exactness="certain"),
    "a text for a number": lambda body: body["cut"].update(offset="here"),
    "a batch past the log": lambda body: body.update(batch={"start": 950, "end": 2**40, "same": True}),
}


def test_an_answer_is_read_as_it_was_written() -> None:
    assert read_answer(written(ANSWER, "a"), "a", TASK) == ANSWER


@with_cases("lie", LIES)
def test_what_does_not_answer_the_question_is_refused_in_words(lie: str) -> None:
    body = json.loads(written(ANSWER, "a"))
    LIES[lie](body)

    with pytest.raises(WorkerError, match="Nothing was used from them") as refused:
        read_answer(json.dumps(body), "a", TASK)
    assert "spark.master" in refused.value.fix


@with_cases("text", [None, 7, b"", "", "null", "[]", "{", '{"token": "a"}'])
def test_what_is_no_answer_is_refused_in_words(text: object) -> None:
    with pytest.raises(WorkerError):
        read_answer(text, "a", TASK)


def test_rows_of_two_partitions_that_are_swapped_are_refused() -> None:
    rows = {"a": written(ANSWER, "a"), "b": written(ANSWER, "b")}

    for token, other in (("a", "b"), ("b", "a")):
        with pytest.raises(WorkerError, match="the answer to another question"):
            read_answer(rows[other], token, TASK)


def test_a_question_that_is_answered_again_is_refused() -> None:
    once([0, 1, 2])
    with pytest.raises(WorkerError, match="two answers to question 1"):
        once([0, 1, 1])


def test_an_answer_to_a_probe_is_no_answer_to_a_cut() -> None:
    answered = Answer(probe=Probe(agree=3))
    probing = Task(question=RecordQuestion.PROBE, position=5, old=NEAR, new=NEAR, old_whole=WHOLE, new_whole=WHOLE)

    assert read_answer(written(answered, "a"), "a", probing) == answered
    with pytest.raises(WorkerError, match="no answer"):
        read_answer(written(answered, "a"), "a", TASK)


SUM = {
    "cluster": "old",
    "partition": 0,
    "range": 0,
    "records": 5,
    "both": 3,
    "missing": 2,
    "duplicated": 0,
    "foreign": 0,
}
FALSE_SUMS: dict[str, list[dict[str, Any]]] = {
    "another cluster": [SUM | {"cluster": "third"}],
    "a partition that was not read": [SUM | {"partition": 7}],
    "a range that was not read": [SUM | {"range": 7}],
    "a negative number": [SUM | {"missing": -1}],
    "a number that is none": [SUM | {"records": None}],
    "more than there are": [SUM | {"both": 4}],
    "a range twice": [SUM, SUM],
    "another column": [SUM | {"more": 1}],
}


def test_sums_of_a_reconciliation_are_read_as_they_were_counted() -> None:
    assert [each.records for each in range_sums([SUM], RANGES, range_offsets=100)] == [5]


@with_cases("lie", FALSE_SUMS)
def test_sums_that_no_records_have_are_refused_in_words(lie: str) -> None:
    with pytest.raises(WorkerError, match="Nothing was used from them"):
        range_sums(FALSE_SUMS[lie], RANGES, range_offsets=100)


@dataclass(frozen=True)
class Doubled:
    """A result of the tasks below."""

    value: int


def shares_of(tasks: int, shares: int) -> list[dict[str, Any]]:
    """Return the rows of workers that double each number."""
    return [
        {"number": share, "results": json.dumps([{"value": 2 * task} for task in range(share, tasks, shares)])}
        for share in range(shares)
    ]


@given(tasks=st.integers(1, 40), at_once=st.integers(1, 10), data=st.data())
def test_results_come_in_the_order_of_their_tasks_and_no_other_rows_are_taken(
    tasks: int, at_once: int, data: st.DataObject
) -> None:
    shares = -(-tasks // at_once)
    rows = data.draw(st.permutations(shares_of(tasks, shares)))
    found = ordered_results(rows, tasks=tasks, shares=shares, kind=Doubled)
    assert [result.value for result in found] == [2 * task for task in range(tasks)]

    at = data.draw(st.integers(0, shares - 1))
    one = rows[at]
    lies = (
        [*rows[:at], *rows[at + 1 :]],
        [*rows, one],
        [*rows, {"number": shares, "results": "[]"}],
        *(
            [*rows[:at], one | changed, *rows[at + 1 :]]
            for changed in (
                {"number": -1},
                {"number": None},
                {"number": "0"},
                {"results": None},
                {"results": "{"},
                {"results": "[]"},
                {"results": json.dumps([*json.loads(one["results"]), {"value": 1}])},
                {"results": one["results"].replace("value", "other")},
                {"results": one["results"].replace('": ', '": "x')},
            )
        ),
    )
    for lie in lies:
        with pytest.raises(WorkerError, match="Nothing was used from them"):
            ordered_results(lie, tasks=tasks, shares=shares, kind=Doubled)
