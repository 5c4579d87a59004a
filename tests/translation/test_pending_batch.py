"""A pending batch, compared with the records that were read for its beginning: as if it had been asked for itself."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from offsetwise.translation.identify import Records
from offsetwise.translation.search import Span
from offsetwise.translation.worker import Answer, RecordQuestion, Task, answer
from tests.translation.logs import Entry, Pair, generate

LOGS = 1_500
BATCH = 12


def records(entries: tuple[Entry, ...], span: Span) -> Records:
    inside = [entry for entry in entries if span.start <= entry.offset < span.end]
    nothing = [None] * len(inside)
    return Records(
        offsets=[entry.offset for entry in inside],
        timestamps=[entry.time or 0 for entry in inside],
        log_append=[False] * len(inside),
        content=[repr(entry.identity).encode() for entry in inside],
        masked=nothing,
        key_schema=nothing,
        value_schema=nothing,
        headers=[()] * len(inside),
    )


def asked(pair: Pair, task: Task) -> Answer:
    return answer(task, records(pair.old, task.old), records(pair.new, task.new), Records())


def test_it_is_what_a_question_of_its_own_says() -> None:
    said: list[bool] = []
    for number in range(LOGS):
        pair = generate(Random(number), uneven=number % 3 == 0)
        target = pair.target
        cut = Task(
            question=RecordQuestion.CUT,
            position=target.position,
            old=target.old,
            new=target.new,
            old_whole=target.old,
            new_whole=target.new,
            until=min(target.position + BATCH, target.old.end),
        )
        with_batch = asked(pair, cut)
        assert replace(with_batch, batch=None) == asked(pair, replace(cut, until=None)), number
        found = with_batch.batch
        last = asked(pair, replace(cut, position=cut.until or 0, until=None)).cut
        assert with_batch.cut is not None
        assert last is not None
        places = with_batch.cut.proven_offset, last.proven_offset
        if found is None:
            inside = target.old.start <= target.position <= (cut.until or 0)
            assert None in places or not inside or sorted(filter(None, places)) != [*places], number
            continue
        assert (found.start, found.end) == places, number
        spans = Span(start=target.position, end=cut.until or 0), Span(start=found.start, end=found.end)
        alone = replace(cut, question=RecordQuestion.SAME, old=spans[0], new=spans[1], until=None)
        assert found.same is asked(pair, alone).same, number
        said.append(found.same)
    assert min(said.count(True), said.count(False)) > 20, "both answers are tried"


def test_a_batch_that_was_not_read_whole_is_not_compared() -> None:
    entries = tuple(Entry(number, number, 0, number) for number in range(40))
    span = Span(start=0, end=40)
    task = Task(
        question=RecordQuestion.CUT,
        position=20,
        old=Span(start=0, end=30),
        new=span,
        old_whole=span,
        new_whole=span,
        until=31,
    )
    pair = Pair(old=entries, new=entries, target=generate(Random(1)).target)

    assert asked(pair, task).batch is None
    assert asked(pair, replace(task, old=span)).batch is not None
