"""A position in an old log that holds no record."""

from __future__ import annotations

from itertools import product

from offsetwise.model import Exactness, IsolationLevel, LogRange, RawVerdict
from offsetwise.translation.identify import Records
from offsetwise.translation.old_log import in_empty_log
from offsetwise.translation.query import Query, QuerySource
from offsetwise.translation.resolve import Match, resolve
from offsetwise.translation.search import Span
from offsetwise.translation.windows import Reason
from offsetwise.translation.worker import Answer, RecordQuestion, Task, answer
from tests.translation.test_replaced import records
from tests.with_cases import with_cases

BATCH_MS = 1_766_000_080_000
SKEW_MS = 300_000
OLDER, YOUNGER = BATCH_MS - SKEW_MS - 1, BATCH_MS - SKEW_MS
LEVELS = tuple(IsolationLevel)


def log(span: Span) -> LogRange:
    return LogRange(log_start=span.start, lso=span.end, hw=span.end)


def answered(
    position: int,
    old: Span,
    new: Span,
    times: list[int | None],
    *,
    batch_ms: int | None = BATCH_MS,
    read: Span | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    opened: int | None = 0,
) -> Answer:
    """Answer for an old log without records, but for so many of an open transaction, and a new one with some.

    The records of the new log end it. None is an old log whose last stable offset was not read.
    """
    task = Task(
        question=RecordQuestion.CUT,
        position=position,
        old=old,
        new=read or new,
        old_whole=old,
        new_whole=new,
        last=True,
    )
    given = answer(task, Records(), records(new.end - len(times), times), Records())
    return in_empty_log(
        position,
        given,
        old=LogRange(log_start=old.start, lso=None if opened is None else old.end, hw=old.end + (opened or 0)),
        new=log(new),
        isolation=isolation,
        batch_ms=batch_ms,
        clock_skew_ms=SKEW_MS,
    )


@with_cases("opened", [1, 40, None], ids=["one", "many", "not read"])
@with_cases("copied", [1, 20, 40])
def test_copies_of_a_transaction_that_is_still_open_are_not_taken_for_read_ones(
    copied: int, opened: int | None
) -> None:
    log_of_old, log_of_new = Span(start=500, end=500), Span(start=0, end=copied)
    times: list[int | None] = [OLDER] * copied
    committed = IsolationLevel.READ_COMMITTED

    cut = answered(500, log_of_old, log_of_new, times, opened=opened, isolation=committed).cut
    assert cut is not None
    assert (cut.exactness, cut.lo, cut.hi, cut.replay) == (Exactness.BOUNDED, 0, copied, copied)
    ended = answered(500, log_of_old, log_of_new, times, isolation=committed).cut
    nothing_yet = answered(500, log_of_old, Span(start=7, end=7), [], opened=opened, isolation=committed).cut
    assert ended is not None
    assert nothing_yet is not None
    assert (ended.exactness, ended.offset) == (Exactness.EXACT, copied)
    assert (nothing_yet.exactness, nothing_yet.offset) == (Exactness.EXACT, 7)


@with_cases("batch_ms", [BATCH_MS, None], ids=["of a batch", "of a group"])
def test_where_both_logs_are_empty_the_end_of_the_new_one_is_exact(batch_ms: int | None) -> None:
    wrong = []
    for old_start, markers, new_start, more in product((0, 1, 500, 2**40), (0, 3), (0, 7, 500), (0, 2)):
        old, new = Span(start=old_start, end=old_start + markers), Span(start=new_start, end=new_start + more)
        for position in {old.start, old.end}:
            cut = answered(position, old, new, [], batch_ms=batch_ms).cut
            assert cut is not None
            if (cut.exactness, cut.reason, cut.offset, cut.lo, cut.hi, cut.skip, cut.replay, cut.foreign_below) != (
                Exactness.EXACT,
                Reason.EMPTY_PARTITION,
                *[new.end] * 3,
                *[0] * 3,
            ):
                wrong.append((position, old, new, cut))
    assert wrong == []


@with_cases(
    ("times", "exactness"),
    [
        ([OLDER], Exactness.EXACT),
        ([OLDER] * 40, Exactness.EXACT),
        ([YOUNGER], Exactness.BOUNDED),
        ([OLDER, YOUNGER, OLDER], Exactness.BOUNDED),
        ([OLDER] * 20 + [BATCH_MS + 1], Exactness.BOUNDED),
        ([OLDER, None], Exactness.BOUNDED),
    ],
    ids=["older", "all older", "as young as clocks differ", "one of many", "written since", "no time"],
)
def test_records_on_the_new_log_are_passed_over_only_if_all_are_older_than_the_batch(
    times: list[int | None], exactness: Exactness
) -> None:
    old, new = Span(start=500, end=500), Span(start=3, end=3 + 50)

    cut = answered(500, old, new, times).cut

    assert cut is not None
    assert cut.exactness is exactness
    if exactness is Exactness.EXACT:
        assert (cut.offset, cut.lo, cut.hi, cut.replay) == (53, 53, 53, 0)
    else:
        assert (cut.offset, cut.lo, cut.hi, cut.replay) == (3, 3, 53, len(times))


def test_a_group_says_no_time_so_that_any_record_on_the_new_log_bounds_it() -> None:
    cut = answered(500, Span(start=500, end=500), Span(start=0, end=4), [OLDER] * 4, batch_ms=None).cut

    assert cut is not None
    assert (cut.exactness, cut.lo, cut.hi, cut.replay, cut.skip) == (Exactness.BOUNDED, 0, 4, 4, 0)


def test_what_was_not_read_of_the_new_log_may_be_younger() -> None:
    new = Span(start=0, end=1_000_000)

    cut = answered(500, Span(start=500, end=500), new, [OLDER] * 9, read=Span(start=999_000, end=1_000_000)).cut

    assert cut is not None
    assert (cut.exactness, cut.lo, cut.hi, cut.replay) == (Exactness.BOUNDED, 0, 1_000_000, 1_000_000)


def test_a_position_below_an_old_log_that_lost_unread_records_is_only_bounded() -> None:
    for times in ([], [OLDER], [BATCH_MS]):
        cut = answered(499, Span(start=500, end=500), Span(start=0, end=4), [*times]).cut
        assert cut is not None
        assert (cut.exactness, cut.lo, cut.hi) == (Exactness.BOUNDED, 0, 4)


def test_an_old_log_with_a_record_is_no_empty_one() -> None:
    whole = Span(start=0, end=1)
    task = Task(
        question=RecordQuestion.CUT, position=1, old=whole, new=whole, old_whole=whole, new_whole=whole, last=True
    )
    given = answer(task, records(0, [OLDER]), records(0, [OLDER]), Records())

    same = in_empty_log(
        1,
        given,
        old=log(whole),
        new=log(whole),
        isolation=IsolationLevel.READ_UNCOMMITTED,
        batch_ms=BATCH_MS,
        clock_skew_ms=SKEW_MS,
    )

    assert same is given


@with_cases(
    ("old", "new", "times", "verdict", "said"),
    [
        (
            (0, 0),
            (0, 0),
            [],
            RawVerdict.SAME,
            "orders-0 holds none either: reading goes on at the end of the new log, 0.",
        ),
        ((500, 500), (0, 0), [], RawVerdict.OUT_OF_RANGE, "reading goes on at the end of the new log, 0."),
        ((2, 2), (0, 9), [OLDER], RawVerdict.REPLAY, "holds 1 record, no more than it ever did and all older than"),
        ((9, 9), (0, 9), [OLDER], RawVerdict.SAME, "so copies of what was read"),
        ((2, 2), (0, 9), [OLDER] * 3, RawVerdict.UNKNOWN, "the position lies in [0, 9]."),
        ((0, 0), (0, 9), [OLDER], RawVerdict.UNKNOWN, "the position lies in [0, 9]."),
        ((2, 2), (0, 9), [BATCH_MS], RawVerdict.UNKNOWN, "the position lies in [0, 9]."),
    ],
    ids=[
        "never written",
        "expired",
        "old copies",
        "below the number",
        "more than it ever held",
        "never written",
        "young copies",
    ],
)
def test_the_row_says_why_and_what_the_number_as_it_is_would_do(
    old: tuple[int, int], new: tuple[int, int], times: list[int | None], verdict: RawVerdict, said: str
) -> None:
    ours, theirs = (Span(start=start, end=end) for start, end in (old, new))
    position = Query(
        of=QuerySource(source="0", isolation=IsolationLevel.READ_UNCOMMITTED),
        topic="orders",
        partition=0,
        new_topic="orders",
        offset=old[1],
        old=log(ours),
        new=log(theirs),
    )

    row = resolve(Match(query=position, answer=answered(old[1], ours, theirs, times)))

    assert row.raw.verdict is verdict
    assert row.evidence.reason.endswith(said) or said in row.evidence.reason
