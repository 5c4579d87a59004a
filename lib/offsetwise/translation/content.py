"""The counted cut: the position on the new log, decided by the records themselves.

One pure function, `decide`, run by Spark's workers on the windows of one partition and by the tests on logs in memory.
It needs the standard library only.

The rule and its assumptions are in `docs/how-it-proves.md`. In short: records are compared by identity and **counted**,
because offsets alone mislead (duplicates, identical records, records of other writers). An offset on the new log is
right iff it skips no unread record that exists there, repeats no read one, and leaves no foreign record below.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from operator import lt

from offsetwise.model import Exactness
from offsetwise.translation.counting import Count, StretchTotals, WindowStretch
from offsetwise.translation.evidence import around_cut
from offsetwise.translation.mirror_progress import ANCHORS, Pair
from offsetwise.translation.windows import Cut, LogWindow, Reason


def decide(
    position: int,
    old: LogWindow,
    new: LogWindow,
    *,
    natives_excluded: bool = False,
    aborted: Iterable[Hashable] = (),
    last: bool = False,
    chain: list[Pair] | None = None,
    totals: dict[WindowStretch, StretchTotals] | None = None,
) -> Cut:
    """Find where `position` of the old log resumes on the new one, by counting records.

    Args:
        position: The next record to read on the old log.
        old: Records around the position, at the job's isolation level.
        new: Records around the expected position, at the same isolation level.
        natives_excluded: The migration file states that only the mirror writes to the new topic.
        aborted: Identities of the old log's aborted records, for a job that does not read them.
        last: The windows cannot grow: return BOUNDED or UNKNOWN instead of asking for larger ones.
        chain: `anchors` of both windows, if already paired for another position.
        totals: The totals of both windows by stretch, as counted for other positions; a new one is added.

    Returns:
        The cut; `exactness` is None if larger windows are needed (never with `last`).
    """
    chain = anchors(old.identities, new.identities) if chain is None else chain
    split = bisect_left(old.offsets, position)
    paired = bisect_left(chain, (split,))
    before, after = chain[:paired], chain[paired:]
    cut = Cut(
        exactness=None,
        reason=Reason.FEW_ANCHORS,
        anchors_before=len(before),
        anchors_after=len(after),
        shift=_shift(position, old, new, (*before[-1:], *after[:1])),
        old_records=len(old.offsets),
        new_records=len(new.offsets),
        raw_differs=_differs(position, old, new),
        unread_since=_unread_since(old, split, before),
        new_from=_new_from(new, before),
    )
    stretch = _stretch(old, new, split, before, after)
    if stretch is None:
        return _exhausted(cut, new, before, after, unread=Counter(old.identities[split:])) if last else cut
    count = Count(
        position=position,
        old=old,
        new=new,
        split=split,
        stretch=stretch,
        chain=chain,
        totals=_totals({} if totals is None else totals, stretch, old, new),
        aborted=frozenset(aborted),
        natives_excluded=natives_excluded,
    )
    return _judge(cut, count)


def _totals(
    known: dict[WindowStretch, StretchTotals], stretch: WindowStretch, old: LogWindow, new: LogWindow
) -> StretchTotals:
    if stretch not in known:
        known[stretch] = StretchTotals(stretch, old.identities, new.identities)
    return known[stretch]


def anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Pair the records whose identity is unique on both sides, in the longest increasing order.

    >>> anchors(["a", "x", "b", "x", "c"], ["b", "a", "x", "c"])
    [(2, 0), (4, 3)]
    """
    count_old, count_new = Counter(old), Counter(new)
    new_index = {h: j for j, h in enumerate(new) if count_new[h] == 1}
    pairs = [(i, new_index[h]) for i, h in enumerate(old) if count_old[h] == 1 and h in new_index]
    if all(map(lt, (j for _, j in pairs), (j for _, j in pairs[1:]))):
        return pairs
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        previous.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(j)
            ends.append(index)
        else:
            tails[length] = j
            ends[length] = index
    chain: list[Pair] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]


def _stretch(old: LogWindow, new: LogWindow, split: int, before: list[Pair], after: list[Pair]) -> WindowStretch | None:
    at_start, at_end = old.at_start and new.at_start, old.at_end and new.at_end
    # The new log may begin with a copy of an unread record, if retention removed the position itself there. Nothing can
    # then lie below it, whatever the old log holds further left.
    begins_unread = new.at_start and bool(after) and after[0][1] == 0
    if at_start or begins_unread:
        old_from, new_from = 0, 0
    elif len(before) >= ANCHORS:
        old_from, new_from = before[0]
    else:
        return None

    # The new log may end before the first unread record. If read records explain all of it, the old log does not need
    # to be read to its end.
    def all_read() -> bool:
        return not Counter(new.identities[new_from:]) - Counter(old.identities[old_from:split])

    if at_end or (new.at_end and all_read()):
        old_to, new_to = len(old.offsets), len(new.offsets)
    elif len(after) >= ANCHORS:
        old_to, new_to = after[-1][0] + 1, after[-1][1] + 1
    else:
        return None
    return WindowStretch(
        old_from=old_from,
        old_to=old_to,
        new_from=new_from,
        new_to=new_to,
        whole_left=at_start,
        whole_right=at_end,
    )


def _judge(observed: Cut, count: Count) -> Cut:
    here, known, unread = count.here, count.known, count.unread
    if not here and not known:
        return replace(observed, exactness=Exactness.UNKNOWN, reason=Reason.EMPTY_LOGS)
    if here and known and known.isdisjoint(count.present):
        return replace(observed, exactness=Exactness.UNKNOWN, reason=Reason.NO_COMMON_RECORD)
    if count.lags:
        lo = count.offset_of(len(here))
        return replace(observed, exactness=Exactness.UNKNOWN, reason=Reason.NOT_YET_MIRRORED, lo=lo)

    trimmed = not count.any_read and count.stretch.whole_left and count.old.start > 0
    cut, surely_read = _choose_cut(count, trimmed=trimmed)
    foreign = count.foreign(surely_read, cut)
    ahead = count.ahead(cut)
    replay = count.replay(cut)
    offset = count.offset_of(cut)
    judged = count.at_raw(
        replace(
            observed,
            reason=Reason.PROVEN,
            offset=offset,
            lo=offset,
            hi=offset,
            skip=0,
            replay=replay,
            foreign_below=len(foreign),
            missing=sum(count.unfound.values()),
            unfound=bool(count.unfound),
            new_from=_read_from(count.new) if ahead.examined else observed.new_from,
            aborted_visible=sum(count.present[h] for h in count.aborted - known),
            ahead=ahead,
            caught_up=count.stretch.whole_right and not unread,
            neighbours=around_cut(
                count.old, count.new, count.chain, split=count.split, cut=count.stretch.new_from + cut
            ),
        ),
        surely_read=surely_read,
    )
    return _weigh(judged, count, cut, foreign, trimmed=trimmed)


def _choose_cut(count: Count, *, trimmed: bool) -> tuple[int, int]:
    """Return the cut as an index into the new records, and how many records below it have certainly been read."""
    here, known, unread = count.here, count.known, count.unread
    highest = cut = count.highest_without_skip()
    # Records that no old record explains stay above the cut: the job reads them as new ones.
    while cut and here[cut - 1] not in known:
        cut -= 1
    if not (count.natives_excluded and count.old.at_end):
        return cut, 0
    # If nobody else writes, and the old log was read to its end, an unexplained record is a copy whose original has
    # been compacted or expired since. Mirrors keep the order: what lies below a copy of a read record has been read.
    surely_read = next((j + 1 for j in reversed(range(cut)) if here[j] in count.read and here[j] not in unread), 0)
    all_seen = count.stretch.whole_right and not count.lost_after
    # Only below a copy of an unread record: at the end are copies of records that the old log received since.
    ordered = highest < len(here) and count.position >= count.old.start and not count.unfound_before(here[highest])
    if ordered and (trimmed or all_seen):
        # The lost originals lay below the position: the job has read all unexplained records below the unread ones.
        return highest, highest
    return cut, surely_read


def _weigh(judged: Cut, count: Count, cut: int, foreign: Sequence[int], *, trimmed: bool) -> Cut:
    """Return how exact a cut is: unseen copies, and records that may be read twice, turn it into bounds.

    Args:
        judged: The cut, as if it were proven.
        count: The counts.
        cut: The cut as an index into the new records.
        foreign: The indices of records below it that no record of the old log explains.
        trimmed: Whether the old log has lost all read records.
    """
    replay, ahead = judged.replay, judged.ahead
    bounded = replace(judged, exactness=Exactness.BOUNDED)
    lo = _lowest(count.new, count.stretch.new_from, count.unfound)
    if lo is not None:
        again = count.replay_at_most(cut)
        again = None if again is None else again + count.offset_of(cut) - lo
        return replace(bounded, reason=Reason.COPIES_BELOW, offset=lo, lo=lo, replay=again)
    if judged.foreign_below:
        lo = count.offset_of(foreign[0])
        hi, again = count.highest(cut), count.replay_at_most(foreign[0])
        bounded = replace(bounded, reason=Reason.NATIVE_BELOW, offset=lo, lo=lo, hi=hi, replay=again)
        return _behind_unexplained(bounded, count, foreign[0]) if count.lost_before(foreign[0]) else bounded
    surely = count.replay(cut, count.to_come) if count.to_come else replay
    if surely:
        reason = Reason.REPLAY_UNAVOIDABLE if surely == replay else Reason.NOT_YET_MIRRORED
        return replace(bounded, reason=reason, hi=count.highest(cut), replay=count.replay_at_most(cut))
    if count.vague:
        return _among_identical(bounded, count, cut)
    if count.maybe_read(cut):
        return _among_unexplained(bounded, count, cut, trimmed=trimmed)
    if count.read_again(cut):
        hi, again = count.highest(cut), count.replay_at_most(cut)
        bounded = replace(bounded, reason=Reason.COPIES_TO_COME, hi=hi, replay=again)
        return _behind_unexplained(bounded, count, cut) if count.went_back else bounded
    # Records of other writers may be anywhere below, and the job would never read them: their absence must be observed,
    # by reading the whole log, or stated.
    settled = ahead.examined and (ahead.missing, ahead.duplicated, ahead.foreign) == (0, 0, 0)
    exact = settled and (count.natives_excluded or count.stretch.whole_left)
    return replace(judged, exactness=Exactness.EXACT if exact else Exactness.POSITION_EXACT)


def _among_identical(bounded: Cut, count: Count, cut: int) -> Cut:
    """Bound a cut if identical records lie on both sides of the position and their copies do not add up.

    Some of the copies above the cut may be copies of read records.
    """
    least = {h: max(0, count.need[h] - count.read[h]) for h in count.vague}
    hi, at_most = count.highest(cut), count.replay_at_most(cut)
    return replace(
        bounded,
        reason=Reason.IDENTICAL_RECORDS,
        hi=None if hi is None else max(hi, count.offset_of(count.lowest_keeping(cut, least))),
        replay=None if at_most is None else at_most + sum(count.need[h] - retained for h, retained in least.items()),
    )


def _among_unexplained(bounded: Cut, count: Count, cut: int, *, trimmed: bool) -> Cut:
    """Bound a cut if the job may have read unexplained records.

    They lie between the last copy of a read record and the first certain copy of an unread one, and the old log has
    lost records there.
    """
    hi = None if count.read_again(cut) else count.offset_of(count.until_sure(cut))
    reason = Reason.OLD_LOG_TRIMMED if trimmed else Reason.OLD_RECORDS_GONE
    return _behind_unexplained(replace(bounded, reason=reason, hi=hi, replay=count.replay_at_most(cut)), count, cut)


def _behind_unexplained(bounded: Cut, count: Count, cut: int) -> Cut:
    """Raise the upper bound above the unexplained records from the cut on, which the job may have read.

    Whether the old offset repeats some of them is unknown, unless it lies above them, too.
    """
    sure = count.offset_of(count.until_sure(cut))
    bounded = replace(bounded, hi=None if bounded.hi is None else max(bounded.hi, sure))
    costs_nothing = bounded.raw_skip == bounded.raw_replay == 0
    return replace(bounded, raw_skip=None, raw_replay=None) if costs_nothing and count.position < sure else bounded


def _exhausted(
    observed: Cut, new: LogWindow, before: list[Pair], after: list[Pair], *, unread: Counter[Hashable]
) -> Cut:
    """Return the result if the windows cannot grow: verified bounds, or nothing."""
    undecided = replace(observed, exactness=Exactness.UNKNOWN)
    if not before and not after:
        return replace(undecided, reason=Reason.NO_COMMON_RECORD)
    hi = new.offsets[after[0][1]] if len(after) >= ANCHORS else None
    if len(before) < ANCHORS:
        return replace(undecided, hi=hi)
    first = before[-1][1] + 1
    unfound = unread - Counter(new.identities[first:])
    below = _lowest(new, first, unfound)
    lo = new.offsets[first - 1] + 1 if below is None else below
    return replace(
        undecided,
        exactness=Exactness.BOUNDED,
        offset=lo,
        lo=lo,
        hi=hi,
        skip=0,
        replay=None if hi is None else hi - lo,
        unfound=bool(unfound),
    )


def _lowest(new: LogWindow, end: int, identities: Counter[Hashable]) -> int | None:
    return next((new.offsets[j] for j in range(end) if new.identities[j] in identities), None)


def _new_from(new: LogWindow, before: list[Pair]) -> int | None:
    """Return where the known part of the new log begins, if above its start.

    Records below the first anchor may be copies of anything, unless the old log was read to its end.
    """
    return new.offsets[before[0][1]] if before and before[0][1] else _read_from(new)


def _read_from(new: LogWindow) -> int | None:
    return None if new.at_start else new.start


def _unread_since(old: LogWindow, split: int, before: list[Pair]) -> int | None:
    if not old.timestamps or not before:
        return None
    known = [time for time in (old.timestamps[before[-1][0]], *old.timestamps[split:]) if time is not None]
    return min(known) if len(known) == len(old.offsets) - split + 1 else None


def _differs(position: int, old: LogWindow, new: LogWindow) -> bool:
    i, j = bisect_left(old.offsets, position), bisect_left(new.offsets, position)
    if i == len(old.offsets) or j == len(new.offsets) or not old.offsets[i] == new.offsets[j] == position:
        return False
    return old.identities[i] != new.identities[j]


def _shift(position: int, old: LogWindow, new: LogWindow, nearest: Sequence[Pair]) -> int | None:
    if not nearest:
        return None
    i, j = min(nearest, key=lambda pair: abs(old.offsets[pair[0]] - position))
    return new.offsets[j] - old.offsets[i]
