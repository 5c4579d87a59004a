"""Which records to read next, until a position is decided: pure steps between the reads.

One `SearchTarget` is one position of one partition. `first_windows` says what to read of both logs,
`next_windows` looks at the cut made from it and says what to read next, or None. Who reads
(Spark for many partitions at once, a list in the tests) does not matter here.

The cost is bounded by windows: they start narrow, grow fourfold only where the cut asks for it,
and follow the shift of the records already paired. Log sizes do not enter, but for the last
step that reads everything ahead, and only where that fits the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from offsetwise.model import Ahead, Exactness
from offsetwise.translation.windows import Cut, Reason

ROUNDS = 4
"""Reads that may be spent on locating a position."""

GROWTH = 4

SMALL_LOGS = 32
"""Both logs together of at most this many windows are read whole, at once. So is a bracket, before sizes are known."""


class SearchPhase(StrEnum):
    LOCATE = "locate"
    CONFIRM = "confirm"
    """The place is known: examine what lies ahead, and what the raw number would do."""
    EARLIER = "earlier"
    """Unread records have no copy where the place is: look for one further down."""
    RAW_ONLY = "raw only"
    """No place was found where it was expected: compare the two records at the raw number, which may be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Offsets `[start, end)` of one log."""

    start: int
    end: int

    def clip(self, low: int, high: int) -> Span:
        """Keep to a part of this log.

        >>> Span(start=100, end=1200).clip(50, 164)
        Span(start=100, end=164)
        """
        start = min(max(low, self.start), self.end)
        return Span(start=start, end=max(start, min(high, self.end)))

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTarget:
    position: int
    old: Span
    """From log start to what the job may read."""
    new: Span
    brackets: tuple[Span, ...] = ()
    """Where others say the place is (`end` inclusive), narrowest first: places to look."""
    window: int = 64
    """Offsets read on each side at first."""
    budget: int = 200_000
    """Offsets of one log that may be read at once."""
    budget_bytes: int = 1_000_000_000
    """The same in bytes; spent by what the records read so far weigh, so not on the first windows."""
    reach: int | None = None
    """How far around a place the bytes allow to read; None while that is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    old: Span
    new: Span
    phase: SearchPhase = SearchPhase.LOCATE
    last: bool = False
    """Nothing larger will be read: the cut has to answer."""
    round: int = 1


def first_windows(target: SearchTarget) -> Windows:
    """Read around the position, and where the best bracket says it is; small logs whole."""
    if len(target.old) + len(target.new) <= SMALL_LOGS * target.window:
        return Windows(old=target.old, new=target.new, last=True)
    old = target.old.clip(target.position - target.window, target.position + target.window)
    bracket = _bracket(target, min)
    if bracket is None or len(bracket) > SMALL_LOGS * target.window:
        # A mirror that keeps up ends where the old log ends.
        guess = target.new.end - (target.old.end - target.position)
        bracket = Span(start=guess, end=guess)
    return Windows(old=old, new=_around(target, bracket, target.window))


def affordable(target: SearchTarget, record_bytes: int | None) -> SearchTarget:
    """Keep the budget to what its bytes allow, now that records were seen; never below the first window.

    Args:
        target: The position looked for.
        record_bytes: Mean size of the records read, of the log with the larger ones; None where none was read.

    >>> span = Span(start=0, end=1_000_000)
    >>> affordable(SearchTarget(position=5, old=span, new=span), 1_000_000).budget
    1000
    """
    if not record_bytes:
        return target
    allowed = max(2 * target.window, target.budget_bytes // record_bytes)
    return replace(target, budget=min(target.budget, allowed), reach=allowed // 2)


def next_windows(target: SearchTarget, windows: Windows, cut: Cut, *, at_time: int | None = None) -> Windows | None:
    """Return what to read after `cut`, or None when nothing more would be learnt.

    Args:
        target: The position looked for.
        windows: What `cut` was made from.
        cut: The answer of `decide`.
        at_time: The new log's first offset not older than the record before the position, where
            that was asked for: a place to look when no record could be paired.
    """
    if windows.phase is SearchPhase.RAW_ONLY:
        return _confirm(target, windows, cut)
    if windows.phase is not SearchPhase.LOCATE:
        return None
    if cut.exactness is None:
        return _grow(target, windows, cut, at_time)
    if cut.exactness is Exactness.UNKNOWN:
        return _raw_only(target, windows)
    return _confirm(target, windows, cut)


def better(located: Cut, confirmed: Cut) -> Cut:
    """Choose between the cut that located a place and the one made from larger windows.

    The larger one knows more, unless it lost its anchors: records that are unique in a narrow
    window may have twins further out. Where the end of the new log shows a mirror that went back, or has not come as
    far as the job, a place that an earlier run left is an answer only with all that lies ahead of it.
    """
    is_lagging = (located.exactness, located.reason) == (Exactness.UNKNOWN, Reason.NOT_YET_MIRRORED)
    if confirmed.reason in (Reason.FEW_ANCHORS, Reason.NO_COMMON_RECORD) or (
        is_lagging and not confirmed.ahead.examined
    ):
        return replace(located, raw_differs=located.raw_differs or confirmed.raw_differs)
    return confirmed


def wants_time(windows: Windows, cut: Cut) -> bool:
    """Whether a look-up by timestamp would help: nothing was paired where the position was expected."""
    return cut.exactness is None and cut.shift is None and windows.round == 1


def in_doubt(cut: Cut) -> bool:
    """Whether copies of unread records may lie below what was read of the new log, so that the place would skip them.

    A mirror that went back, and whose later copies do not reach as far as its first ones, leaves some there; somebody
    else may have written some elsewhere. Where all that is unread was read, and has its copy at or above the place,
    there is no doubt.
    """
    return cut.offset is not None and cut.new_from is not None and (cut.unfound or not cut.ahead.examined)


def earlier_windows(target: SearchTarget, windows: Windows, cut: Cut, earliest: int) -> Windows | None:
    """Read the new log from where copies of the unread records may begin; None where that is read, or too much.

    Args:
        target: The position looked for.
        windows: The last ones read.
        cut: What they, or narrower ones, said.
        earliest: No copy of an unread record lies below this offset.
    """
    if earliest >= (cut.new_from or 0):
        return None
    # Twice as far on the old log, so that whatever was copied in order finds its original.
    reach = 2 * max(0, windows.new.start - earliest) + target.window
    old = target.old.clip(windows.old.start - reach, windows.old.end)
    new = target.new.clip(min(earliest, windows.new.start), windows.new.end)
    if max(len(old), len(new)) > target.budget:
        return None
    return replace(windows, old=old, new=new, phase=SearchPhase.EARLIER, last=True, round=windows.round + 1)


def settled(cut: Cut, earliest: int) -> Cut:
    """Return what a cut in doubt is worth, where no copy of an unread record lies below `earliest`.

    Unless all from there on was read, the place is only bounded.
    """
    if cut.offset is None or cut.new_from is None or earliest >= cut.new_from:
        return cut
    # Without times, other copies of all records around the place may lie anywhere that was not read.
    anywhere = cut.unread_since is None and not cut.ahead.examined
    is_undecided = cut.raw_skip == 0 or anywhere
    return replace(
        cut,
        exactness=Exactness.BOUNDED,
        reason=Reason.AHEAD_NOT_READ if anywhere else Reason.COPIES_BELOW,
        offset=earliest,
        lo=earliest,
        hi=None if anywhere else cut.hi,
        # What lies ahead, or is still to come, may be repeated too where it was not counted.
        replay=None if anywhere or cut.replay is None or cut.ahead.missing != 0 else cut.replay + cut.offset - earliest,
        foreign_below=None,
        missing=0,
        ahead=Ahead(examined=False),
        caught_up=False,
        raw_skip=None if is_undecided else cut.raw_skip,
        raw_replay=None if is_undecided else cut.raw_replay,
    )


def _grow(target: SearchTarget, windows: Windows, cut: Cut, at_time: int | None) -> Windows:
    reach = target.window * GROWTH**windows.round
    allowed = _reach(target, 0, reach)
    old = target.old.clip(target.position - allowed, target.position + allowed)
    is_last = windows.round + 1 >= ROUNDS or reach >= target.budget or reach > allowed
    if cut.shift is not None:
        centre = target.position + cut.shift
        new = _around(target, Span(start=centre, end=centre), reach)
    elif at_time is not None:
        new = _around(target, Span(start=at_time, end=at_time), reach)
    else:
        bracket = _bracket(target, min)
        new = _around(target, windows.new if bracket is None else bracket, reach)
    if is_last or (cut.shift is None and windows.round >= 2):
        # The widest look: everything, where that is allowed, else the widest bracket.
        if len(target.new) <= target.budget:
            new = target.new
        elif cut.shift is None and (bracket := _bracket(target, max)) is not None:
            new = _around(target, bracket, reach)
        old = target.old if len(target.old) <= target.budget else old
        is_last = True
    return Windows(old=old, new=new, last=is_last, round=windows.round + 1)


def _confirm(target: SearchTarget, windows: Windows, cut: Cut) -> Windows | None:
    if cut.offset is None:
        return None
    window = target.window
    shift = cut.offset - target.position
    old_from, old_to = windows.old.start, windows.old.end
    new_from, new_to = windows.new.start, windows.new.end
    ahead = max(target.old.end - target.position, target.new.end - cut.offset)
    if ahead <= target.budget:
        old_to, new_to = target.old.end, target.new.end
        if max(len(target.old), len(target.new)) <= target.budget:
            old_from, new_from = target.old.start, target.new.start
    if abs(shift) <= target.budget and target.new.start <= target.position <= target.new.end:
        # Between the place and the raw number every record must be seen on both logs.
        new_from, old_from = min(new_from, target.position - window), min(old_from, target.position - shift - window)
        new_to, old_to = max(new_to, target.position + window), max(old_to, target.position - shift + window)
    requested = Windows(
        old=target.old.clip(old_from, old_to),
        new=target.new.clip(new_from, new_to),
        phase=SearchPhase.CONFIRM,
        last=True,
        round=windows.round + 1,
    )
    return None if (requested.old, requested.new) == (windows.old, windows.new) else requested


def _raw_only(target: SearchTarget, windows: Windows) -> Windows | None:
    if windows.new.start <= target.position < windows.new.end or not (
        target.new.start <= target.position < target.new.end
    ):
        return None
    window = target.window
    return Windows(
        old=windows.old,
        new=target.new.clip(target.position - window, target.position + window),
        phase=SearchPhase.RAW_ONLY,
        last=True,
        round=windows.round + 1,
    )


def _bracket(target: SearchTarget, choose: Callable[..., Span]) -> Span | None:
    fitting = [bracket for bracket in target.brackets if len(bracket) <= target.budget // 2]
    return choose(fitting, key=len) if fitting else None


def _around(target: SearchTarget, span: Span, reach: int) -> Span:
    reach = _reach(target, len(span), reach)
    start = min(max(span.start, target.new.start), target.new.end)
    end = min(max(span.end, target.new.start), target.new.end)
    return target.new.clip(start - reach, end + reach)


def _reach(target: SearchTarget, length: int, requested: int) -> int:
    """Return how far around a place of some length the bytes let a window reach; never less than the first one."""
    return requested if target.reach is None else max(target.window, min(requested, target.reach - length // 2))
