"""Every answer of a worker is held against its question: another row's or a damaged one counts for nothing."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.errors import WorkerError
from offsetwise.model import Cluster, Exactness
from offsetwise.pipeline.client_windows import once, read_answer, rows_of
from offsetwise.pipeline.interrupting import ordered_results
from offsetwise.pipeline.reconcile import range_sums, traits_of
from offsetwise.pipeline.records import OffsetRange
from offsetwise.translation.identify import Records
from offsetwise.translation.preserved import Probe
from offsetwise.translation.search import Span
from offsetwise.translation.windows import Cut, Reason
from offsetwise.translation.worker import Answer, RecordQuestion, Task, answer, written
from tests.with_cases import with_cases

SEED: Final = 20_261_127
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
        {
            "number": share,
            "results": json.dumps([[f"t{task}", {"value": 2 * task}] for task in range(share, tasks, shares)]),
        }
        for share in range(shares)
    ]


@given(tasks=st.integers(1, 40), at_once=st.integers(1, 10), data=st.data())
def test_results_come_in_the_order_of_their_tasks_and_no_other_rows_are_taken(
    tasks: int, at_once: int, data: st.DataObject
) -> None:
    shares = -(-tasks // at_once)
    tokens = [f"t{task}" for task in range(tasks)]
    rows = data.draw(st.permutations(shares_of(tasks, shares)))
    found = ordered_results(rows, tokens=tokens, shares=shares, kind=Doubled)
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
                {"results": json.dumps([*json.loads(one["results"]), ["t0", {"value": 1}]])},
                {"results": one["results"].replace('"t', '"u', 1)},
                {"number": True} if at == 1 else {"number": 1.0 * at},
                *({"results": other["results"]} for other in rows if other is not one),
                {"results": one["results"].replace("value", "other")},
                {"results": one["results"].replace('": ', '": "x')},
            )
        ),
    )
    for lie in lies:
        with pytest.raises(WorkerError, match="Nothing was used from them"):
            ordered_results(lie, tokens=tokens, shares=shares, kind=Doubled)


def any_task(random: Random) -> tuple[Task, Answer]:
    """Return a question, and its answer from generated logs."""
    shift, count = random.randint(-20, 20), random.randint(3, 40)
    question = random.choice(list(RecordQuestion))
    old = Span(start=100, end=100 + count)
    new = old if question is RecordQuestion.PROBE else Span(start=100 + shift, end=100 + shift + count)
    position = random.randint(old.start, old.end)
    task = Task(
        question=question,
        position=position,
        old=old,
        new=new,
        old_whole=old,
        new_whole=new,
        until=random.choice([None, min(position + 3, old.end)]) if question is RecordQuestion.CUT else None,
    )
    return task, answer(task, numbered_records(old), numbered_records(new), Records())


def numbered_records(span: Span) -> Records:
    count = len(span)
    return Records(
        offsets=range(span.start, span.end),
        timestamps=range(1_000, 1_000 + count),
        log_append=[False] * count,
        content=[bytes([number]) * 16 for number in range(count)],
        masked=[None] * count,
        key_schema=[None] * count,
        value_schema=[None] * count,
        headers=[()] * count,
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside a value of JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from places(each, (*path, key))


OTHER_VALUES: Final[tuple[Any, ...]] = (
    *(True, False, -1, 2**63, -(2**63) - 1, 10**30, 0.5, 950.0, float("nan"), float("inf")),
    *("950", "nan", "true", "x" * 50, [], {}, [1], {"a": 1}),
)


def damaged(random: Random, body: dict[str, Any]) -> None:
    """Change, remove, add or repeat something anywhere in an answer."""
    *above, last = random.choice([*places(body)])
    holder: Any = functools.reduce(lambda inner, key: inner[key], above, body)
    match random.choice(["other", "other", "removed", "more"]):
        case "other":
            holder[last] = random.choice(OTHER_VALUES)
        case "removed":
            del holder[last]
        case _ if isinstance(holder, dict):
            holder["more"] = 1
        case _:
            holder.append(holder[0])


def test_what_is_taken_is_exactly_what_was_said() -> None:
    """Whatever is damaged in an answer: it is refused in words, or read with every value as its own type."""
    random, refused = Random(SEED), 0
    for _ in range(600):
        task, right = any_task(random)
        text = written(right, "a")
        assert read_answer(text, "a", task) == right
        for _ in range(5):
            body = json.loads(text)
            damaged(random, body)
            try:
                read = read_answer(json.dumps(body), "a", task)
            except WorkerError:
                refused += 1
                continue
            assert json.dumps(json.loads(written(read, "a")), sort_keys=True) == json.dumps(body, sort_keys=True)
    assert refused > 1_000


NEIGHBOUR: Final[dict[str, Any]] = {
    "old_offset": 950,
    "new_offset": 950,
    "timestamp_ms": 1,
    "identity": "ab",
    "side": "read",
}
IMPOSSIBLE: dict[str, Callable[[dict[str, Any]], object]] = {
    "larger windows, after the last ones": lambda body: body["cut"].update(exactness=None, offset=None),
    "a claim": lambda body: body["cut"].update(exactness="CLAIMED"),
    "what only a second look shows": lambda body: body["cut"].update(reason="LOOKS_DIFFER"),
    "a proof without a place": lambda body: body["cut"].update(offset=None),
    "a position of nothing": lambda body: body["cut"].update(exactness="UNKNOWN"),
    "bounds beside the place": lambda body: body["cut"].update(lo=949),
    "bounds the wrong way round": lambda body: body["cut"].update(exactness="BOUNDED", hi=949),
    "fewer records than none": lambda body: body["cut"].update(replay=-1),
    "more records than offsets": lambda body: body["cut"].update(old_records=101),
    "a size below nothing": lambda body: body.update(record_bytes=-5),
    "a batch that ends before it begins": lambda body: body.update(batch={"start": 960, "end": 950, "same": True}),
    "a record at the end of its window": lambda body: body["cut"].update(
        neighbours=[NEIGHBOUR | {"new_offset": 1_000}]
    ),
    "a record at the raw number elsewhere": lambda body: body["cut"].update(at_raw=[NEIGHBOUR | {"new_offset": 5}]),
}


@with_cases("lie", IMPOSSIBLE)
def test_what_no_records_show_is_refused_in_words(lie: str) -> None:
    """The last of these would be asked again without end."""
    body = json.loads(written(ANSWER, "a"))
    IMPOSSIBLE[lie](body)

    with pytest.raises(WorkerError, match="Nothing was used from them"):
        read_answer(json.dumps(body), "a", TASK)


COLUMNS: Final = {"task": int, "answer": str}
TABLES: dict[str, pa.Table] = {
    "a column more": pa.table({"task": [0], "answer": ["{}"], "more": [1]}),
    "a column less": pa.table({"task": [0]}),
    "another order": pa.table({"answer": ["{}"], "task": [0]}),
    "a number that is a fraction": pa.table({"task": [0.0], "answer": ["{}"]}),
    "a number that is a text": pa.table({"task": ["0"], "answer": ["{}"]}),
    "a number that is none": pa.table({"task": pa.array([None], pa.int64()), "answer": ["{}"]}),
    "a number that is a list": pa.table({"task": [[0]], "answer": ["{}"]}),
    "an answer in bytes": pa.table({"task": [0], "answer": [b"{}"]}),
}


@with_cases("table", TABLES)
def test_rows_of_another_shape_are_refused_in_words(table: str) -> None:
    assert rows_of(pa.table({"task": [0], "answer": ["{}"]}), COLUMNS) == [{"task": 0, "answer": "{}"}]
    with pytest.raises(WorkerError, match="Nothing was used from them"):
        rows_of(TABLES[table], COLUMNS)


TRAITS: Final = {"partition": 0, "timed": True, "header_names": ["a"]}


@with_cases(
    "rows",
    [
        [TRAITS, TRAITS],
        [TRAITS | {"partition": -1}],
        [TRAITS | {"partition": [0]}],
        [TRAITS | {"partition": None}],
        [TRAITS | {"timed": 1}],
        [TRAITS | {"header_names": None}],
        [TRAITS | {"header_names": [1]}],
        [TRAITS | {"more": 1}],
        [{"partition": 0}],
    ],
)
def test_traits_of_records_that_nobody_counts_so_are_refused_in_words(rows: list[dict[str, Any]]) -> None:
    assert [each.partition for each in traits_of([TRAITS])] == [0]
    with pytest.raises(WorkerError, match="Nothing was used from them"):
        traits_of(rows)
