"""Decide which records to read next, until a position is decided: pure steps between the reads.

One `SearchTarget` is one position of one partition. `first_windows` returns what to read of both logs, `next_windows`
takes the resulting cut and returns what to read next, or None. The reader (Spark for many partitions at once, a list in
the tests) is independent of this module.

The cost is bounded by windows: they start narrow, grow fourfold only if the cut asks for it, and follow the shift of
the records already paired. It does not depend on log sizes, except for the last step that reads everything ahead, and
only if that fits the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from offsetwise.model import Ahead, Exactness
from offsetwise.translation.windows import Cut, Reason

ROUNDS = 4
"""How many reads may be spent on locating a position."""

GROWTH = 4

SMALL_LOGS = 32
"""If both logs together have at most this many windows, they are read completely at once. A bracket too, before record
sizes are known."""


class SearchPhase(StrEnum):
    LOCATE = "locate"
    CONFIRM = "confirm"
    """The position is located: examine the records ahead, and the effect of the unchanged offset."""
    EARLIER = "earlier"
    """Unread records have no copy near the position: search for one further down."""
    RAW_ONLY = "raw only"
    """The position was not found where it was expected: compare the records at the unchanged offset on both logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Offsets `[start, end)` of one log."""

    start: int
    end: int

    def clip(self, low: int, high: int) -> Span:
        """Return the part of this log between two offsets.

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
    """From log start to the end of what the job may read."""
    new: Span
    brackets: tuple[Span, ...] = ()
    """Claimed ranges of the position (`end` inclusive), narrowest first, that show where to look."""
    window: int = 64
    """How many offsets are read on each side at first."""
    budget: int = 200_000
    """How many offsets of one log may be read at once."""
    budget_bytes: int = 1_000_000_000
    """The same in bytes, by the mean size of the records read so far, so not for the first windows."""
    reach: int | None = None
    """How many offsets around a position the byte budget allows; None while that is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    old: Span
    new: Span
    phase: SearchPhase = SearchPhase.LOCATE
    last: bool = False
    """Nothing larger will be read: the cut must be final."""
    round: int = 1


def first_windows(target: SearchTarget) -> Windows:
    """Return windows around the position, and where the best bracket claims it is; small logs as a whole."""
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
    """Limit the budget to its bytes, now that record sizes are known; never below the first window.

    Args:
        target: The position to find.
        record_bytes: Mean size of the records read, of the log with the larger ones; None if none was read.

    >>> span = Span(start=0, end=1_000_000)
    >>> affordable(SearchTarget(position=5, old=span, new=span), 1_000_000).budget
    1000
    """
    if not record_bytes:
        return target
    allowed = max(2 * target.window, target.budget_bytes // record_bytes)
    return replace(target, budget=min(target.budget, allowed), reach=allowed // 2)


def next_windows(target: SearchTarget, windows: Windows, cut: Cut, *, at_time: int | None = None) -> Windows | None:
    """Return what to read after `cut`, or None if reading more cannot help.

    Args:
        target: The position to find.
        windows: The windows of `cut`.
        cut: The result of `decide`.
        at_time: The new log's first offset not older than the record before the position, if that was looked up: where
            to look if no record could be paired.
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
    """Choose between the cut that located a position and the one from larger windows.

    The larger one has more evidence, unless it lost its anchors: records that are unique in a narrow window may have
    twins further out. If the end of the new log shows a mirror that started again, or has not reached the job, a
    position left by an earlier run is an answer only with all records ahead of it examined.
    """
    is_lagging = (located.exactness, located.reason) == (Exactness.UNKNOWN, Reason.NOT_YET_MIRRORED)
    if confirmed.reason in (Reason.FEW_ANCHORS, Reason.NO_COMMON_RECORD) or (
        is_lagging and not confirmed.ahead.examined
    ):
        return replace(located, raw_differs=located.raw_differs or confirmed.raw_differs)
    return confirmed


def wants_time(windows: Windows, cut: Cut) -> bool:
    """Return whether a look-up by timestamp would help: nothing was paired near the expected position."""
    return cut.exactness is None and cut.shift is None and windows.round == 1


def in_doubt(cut: Cut) -> bool:
    """Return whether copies of unread records may lie below the read part of the new log, where the cut skips them.

    A mirror that started again, and whose later copies do not reach as far as its first ones, leaves some there; others
    may have written some elsewhere. There is no doubt if every unread record was read and has its copy at or above the
    cut.
    """
    return cut.offset is not None and cut.new_from is not None and (cut.unfound or not cut.ahead.examined)


def earlier_windows(target: SearchTarget, windows: Windows, cut: Cut, earliest: int) -> Windows | None:
    """Return the windows from where copies of the unread records may begin; None if already read, or too large.

    Args:
        target: The position to find.
        windows: The last windows read.
        cut: The result from them, or from narrower ones.
        earliest: No copy of an unread record lies below this offset.
    """
    if earliest >= (cut.new_from or 0):
        return None
    # Twice as far on the old log, so that all copies in order find their originals.
    reach = 2 * max(0, windows.new.start - earliest) + target.window
    old = target.old.clip(windows.old.start - reach, windows.old.end)
    new = target.new.clip(min(earliest, windows.new.start), windows.new.end)
    if max(len(old), len(new)) > target.budget:
        return None
    return replace(windows, old=old, new=new, phase=SearchPhase.EARLIER, last=True, round=windows.round + 1)


def settled(cut: Cut, earliest: int) -> Cut:
    """Return a cut in doubt as far as it is valid, if no copy of an unread record lies below `earliest`.

    Unless all from there on was read, the position is only bounded.
    """
    if cut.offset is None or cut.new_from is None or earliest >= cut.new_from:
        return cut
    # Without times, other copies of all records around the position may lie anywhere that was not read.
    anywhere = cut.unread_since is None and not cut.ahead.examined
    is_undecided = cut.raw_skip == 0 or anywhere
    return replace(
        cut,
        exactness=Exactness.BOUNDED,
        reason=Reason.AHEAD_NOT_READ if anywhere else Reason.COPIES_BELOW,
        offset=earliest,
        lo=earliest,
        hi=None if anywhere else cut.hi,
        # Records ahead, or still to come, may be repeated too if they were not counted.
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
        # The widest read: everything, if that is allowed, or else the widest bracket.
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
        # Every record between the position and the unchanged offset must be seen on both logs.
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
    """Return how far around a span the byte budget lets a window reach; never less than the first window."""
    return requested if target.reach is None else max(target.window, min(requested, target.reach - length // 2))
