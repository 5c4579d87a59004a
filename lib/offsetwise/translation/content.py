"""The counted cut: where a position lies on the new log, decided on the records themselves.

One pure function, `decide`, run by Spark's workers on the windows of one partition and by
the tests on logs in memory. It needs the standard library only.

The rule, and what it rests on, is `docs/how-it-proves.md`. In short: records are compared by
identity and **counted**, because places alone mislead (duplicates, identical records, records
of other writers). A place on the new log is right iff it skips no unread record that exists
there, repeats no read one, and leaves no foreign record below.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from offsetwise.model import Ahead, Exactness
from offsetwise.translation.evidence import around_cut, around_raw
from offsetwise.translation.windows import Cut, LogWindow, Reason

ANCHORS = 3
"""Unique records that must align on a side before a cut is believed without reaching the log's edge."""

Pair = tuple[int, int]
"""Indices (old, new) of two records that are each other's copy."""


def decide(
    position: int,
    old: LogWindow,
    new: LogWindow,
    *,
    natives_excluded: bool = False,
    aborted: Iterable[Hashable] = (),
    last: bool = False,
) -> Cut:
    """Find where `position` of the old log resumes on the new one, by counting records.

    Args:
        position: The next record to read on the old log.
        old: Records around the position, at the job's isolation level.
        new: Records around the place looked for, at the same isolation level.
        natives_excluded: Somebody stated that nobody but the mirror writes to the new topic.
        aborted: Identities of the old log's aborted records, for a job that does not read them.
        last: The windows cannot grow: answer BOUNDED or UNKNOWN instead of asking for more.

    Returns:
        The cut; `exactness` is None where larger windows are needed (never with `last`).
    """
    chain = anchors(old.identities, new.identities)
    split = bisect_left(old.offsets, position)
    before = [pair for pair in chain if pair[0] < split]
    after = chain[len(before) :]
    seen = Cut(
        exactness=None,
        reason=Reason.FEW_ANCHORS,
        anchors_before=len(before),
        anchors_after=len(after),
        shift=_shift(position, old, new, (*before[-1:], *after[:1])),
        old_records=len(old.offsets),
        new_records=len(new.offsets),
        raw_differs=_differs(position, old, new),
    )
    stretch = _stretch(old, new, split, before, after)
    if stretch is None:
        return _exhausted(seen, new, before, after) if last else seen
    count = _Count(position=position, old=old, new=new, split=split, stretch=stretch, chain=chain)
    return _judge(seen, count, natives_excluded=natives_excluded, aborted=frozenset(aborted))


def anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Pair the records whose identity is unique on both sides, in the longest increasing order.

    >>> anchors(["a", "x", "b", "x", "c"], ["b", "a", "x", "c"])
    [(0, 1), (4, 3)]
    """
    count_old, count_new = Counter(old), Counter(new)
    place = {h: j for j, h in enumerate(new) if count_new[h] == 1}
    pairs = [(i, place[h]) for i, h in enumerate(old) if count_old[h] == 1 and h in place]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """The parts of both windows between which records are counted, as index ranges."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int
    whole_left: bool
    whole_right: bool


def _stretch(old: LogWindow, new: LogWindow, split: int, before: list[Pair], after: list[Pair]) -> _Stretch | None:
    """Say between which anchors or log edges the records can be counted; None when a side has neither."""
    at_start, at_end = old.at_start and new.at_start, old.at_end and new.at_end
    # The new log may begin with a copy of an unread record: retention took the place itself
    # there. Nothing can then lie below it, whatever the old log holds further left.
    begins_unread = new.at_start and bool(after) and after[0][1] == 0
    if at_start or begins_unread:
        old_from, new_from = 0, 0
    elif len(before) >= ANCHORS:
        old_from, new_from = before[0]
    else:
        return None

    # The new log may end before the first unread record. If read records explain all it holds,
    # the old log need not be read to its end.
    beyond = Counter(new.identities[new_from:]) - Counter(old.identities[old_from:split])
    if at_end or (new.at_end and not beyond):
        old_to, new_to = len(old.offsets), len(new.offsets)
    elif len(after) >= ANCHORS:
        old_to, new_to = after[-1][0] + 1, after[-1][1] + 1
    else:
        return None
    return _Stretch(
        old_from=old_from,
        old_to=old_to,
        new_from=new_from,
        new_to=new_to,
        whole_left=at_start,
        whole_right=at_end,
    )


@dataclass(frozen=True, kw_only=True)
class _Count:
    """The records of one stretch, counted by identity."""

    position: int
    old: LogWindow
    new: LogWindow
    split: int
    stretch: _Stretch
    chain: list[Pair]

    @cached_property
    def read(self) -> Counter[Hashable]:
        """Records of the old log before the position."""
        return Counter(self.old.identities[self.stretch.old_from : self.split])

    @cached_property
    def unread(self) -> Counter[Hashable]:
        """Records of the old log at or after the position."""
        return Counter(self.old.identities[self.split : self.stretch.old_to])

    @cached_property
    def known(self) -> frozenset[Hashable]:
        """Identities that some record of the old log explains."""
        return frozenset(self.read) | frozenset(self.unread)

    @cached_property
    def here(self) -> Sequence[Hashable]:
        """Identities on the new log, in order."""
        return self.new.identities[self.stretch.new_from : self.stretch.new_to]

    @cached_property
    def offsets(self) -> Sequence[int]:
        """Offsets of `here`."""
        return self.new.offsets[self.stretch.new_from : self.stretch.new_to]

    @cached_property
    def held(self) -> Counter[Hashable]:
        """Records of the new log."""
        return Counter(self.here)

    @cached_property
    def need(self) -> dict[Hashable, int]:
        """How many copies of each unread record must lie at or above the cut."""
        return {h: min(count, self.held[h]) for h, count in self.unread.items()}

    def place(self, cut: int) -> int:
        """Give the offset of a cut: of the record at it, else behind the record before it."""
        if cut == 0 and self.stretch.whole_left and not self.read:
            return self.new.start
        if cut < len(self.offsets):
            return self.offsets[cut]
        return self.offsets[-1] + 1 if self.offsets else self.new.start

    def skip(self, cut: int) -> int:
        """Count unread records that exist here and have no copy at or after the cut."""
        above = Counter(self.here[cut:])
        return sum(max(0, count - above[h]) for h, count in self.need.items())

    def replay(self, cut: int) -> int:
        """Count copies at or after the cut beyond what is unread."""
        above = Counter(self.here[cut:])
        return sum(max(0, count - self.unread[h]) for h, count in above.items() if h in self.known)

    def ahead(self, cut: int) -> Ahead:
        """Compare everything ahead, where both logs were read to their ends."""
        if not self.stretch.whole_right:
            return Ahead(examined=False)
        above = Counter(self.here[cut:])
        return Ahead(
            examined=True,
            missing=sum((self.unread - above).values()),
            duplicated=self.replay(cut),
            foreign=sum(count for h, count in above.items() if h not in self.known),
        )

    def highest_without_skip(self) -> int:
        """Walk down from the end until every needed copy lies at or above the cut."""
        open_needs = sum(self.need.values())
        above: Counter[Hashable] = Counter()
        cut = len(self.here)
        while open_needs:
            cut -= 1
            identity = self.here[cut]
            above[identity] += 1
            if above[identity] <= self.need.get(identity, 0):
                open_needs -= 1
        return cut

    def lowest_keeping(self, cut: int, allowed: Mapping[Hashable, int]) -> int:
        """Walk up from `cut` until no identity of `allowed` has more copies ahead than it allows."""
        above = Counter(h for h in self.here[cut:] if h in allowed)
        surplus = sum(max(0, above[h] - most) for h, most in allowed.items())
        while surplus:
            identity = self.here[cut]
            if identity in allowed:
                surplus -= above[identity] > allowed[identity]
                above[identity] -= 1
            cut += 1
        return cut

    def at_raw(self, made: Cut) -> Cut:
        """Count what resuming at the same number on the new log would skip and repeat.

        Only where every record between the place and that number was read; else it stays unknown.
        """
        first = self.new.start if self.stretch.whole_left or not self.offsets else self.offsets[0]
        final = self.new.end if self.stretch.whole_right or not self.offsets else self.offsets[-1] + 1
        if not first <= self.position <= final:
            return made
        cut = bisect_left(self.offsets, self.position)
        index = self.stretch.new_from + cut
        return replace(
            made,
            raw_skip=self.skip(cut),
            raw_replay=self.replay(cut),
            at_raw=around_raw(self.old, self.new, self.chain, position=self.position, index=index),
        )


def _judge(seen: Cut, count: _Count, *, natives_excluded: bool, aborted: frozenset[Hashable]) -> Cut:
    """Choose the cut and say how well it is known."""
    here, known, read, unread = count.here, count.known, count.read, count.unread
    if not here and not known:
        return replace(seen, exactness=Exactness.UNKNOWN, reason=Reason.EMPTY_LOGS)
    if here and known and known.isdisjoint(count.held):
        return replace(seen, exactness=Exactness.UNKNOWN, reason=Reason.NO_COMMON_RECORD)
    if count.new.at_end and read and not any(count.need.values()):
        tail = count.old.identities[count.split - 1]
        if count.held[tail] < read[tail]:
            behind = count.place(len(here))
            return replace(seen, exactness=Exactness.UNKNOWN, reason=Reason.NOT_YET_MIRRORED, lo=behind)

    highest = cut = count.highest_without_skip()
    # Records no source record explains stay ahead of the job: it reads them as new ones.
    while cut and here[cut - 1] not in known:
        cut -= 1
    # The job has read nothing the old log still holds, and the new log holds more below: what
    # retention took from the old log, or records of others.
    trimmed = cut < highest and not read and count.stretch.whole_left and count.old.start > 0
    # With no other writer, an unexplained record is a copy whose original the old log has compacted
    # or expired since. Mirrors keep the order: what lies below a copy of a read record has been read.
    surely_read = 0
    if natives_excluded:
        surely_read = next((j + 1 for j in reversed(range(cut)) if here[j] in read and here[j] not in unread), 0)
    if trimmed and natives_excluded and count.position >= count.old.start:
        # What retention took lay below the log start, hence below the position.
        cut = surely_read = highest
        trimmed = False
    foreign = [index for index in range(surely_read, cut) if here[index] not in known]
    ahead = count.ahead(cut)
    replay = count.replay(cut)
    place = count.place(cut)
    made = count.at_raw(
        replace(
            seen,
            reason=Reason.PROVEN,
            offset=place,
            lo=place,
            hi=place,
            skip=0,
            replay=replay,
            foreign_below=len(foreign),
            missing=sum((unread - count.held).values()),
            aborted_visible=sum(count.held[h] for h in aborted - known),
            ahead=ahead,
            caught_up=count.stretch.whole_right and not unread,
            neighbours=around_cut(
                count.old, count.new, count.chain, split=count.split, cut=count.stretch.new_from + cut
            ),
        )
    )
    bounded = replace(made, exactness=Exactness.BOUNDED)
    if trimmed:
        return replace(bounded, reason=Reason.OLD_LOG_TRIMMED, hi=count.place(highest), replay=highest - cut)
    if made.foreign_below:
        lo = count.place(foreign[0])
        return replace(bounded, reason=Reason.NATIVE_BELOW, offset=lo, lo=lo, replay=count.replay(foreign[0]))
    if replay:
        hi = count.lowest_keeping(cut, {h: unread[h] for h in known})
        return replace(bounded, reason=Reason.REPLAY_UNAVOIDABLE, hi=count.place(hi))
    vague = [h for h in read.keys() & unread.keys() if read[h] + unread[h] != count.held[h]]
    if vague:
        # Identical records lie on both sides of the position and their copies do not add up, so
        # some of the copies kept ahead may be copies of read ones.
        least = {h: max(0, count.need[h] - read[h]) for h in vague}
        hi = count.lowest_keeping(cut, least)
        return replace(
            bounded,
            reason=Reason.IDENTICAL_RECORDS,
            hi=count.place(hi),
            replay=sum(count.need[h] - least[h] for h in vague),
        )
    # Records of other writers may stand anywhere below, and the job would never read them: their
    # absence is either seen, by reading the whole log, or stated.
    settled = ahead.examined and not (ahead.missing or ahead.duplicated or ahead.foreign)
    if settled and (natives_excluded or count.stretch.whole_left):
        return replace(made, exactness=Exactness.EXACT)
    return replace(made, exactness=Exactness.POSITION_EXACT)


def _exhausted(seen: Cut, new: LogWindow, before: list[Pair], after: list[Pair]) -> Cut:
    """Say what can be said when the windows cannot grow: verified bounds, or nothing."""
    unknown = replace(seen, exactness=Exactness.UNKNOWN)
    if not before and not after:
        return replace(unknown, reason=Reason.NO_COMMON_RECORD)
    hi = new.offsets[after[0][1]] if len(after) >= ANCHORS else None
    if len(before) < ANCHORS:
        return replace(unknown, hi=hi)
    lo = new.offsets[before[-1][1]] + 1
    replay = None if hi is None else hi - lo
    return replace(unknown, exactness=Exactness.BOUNDED, offset=lo, lo=lo, hi=hi, skip=0, replay=replay)


def _differs(position: int, old: LogWindow, new: LogWindow) -> bool:
    """Say whether both logs hold a record at the same number, and not the same record."""
    i, j = bisect_left(old.offsets, position), bisect_left(new.offsets, position)
    if i == len(old.offsets) or j == len(new.offsets) or not old.offsets[i] == new.offsets[j] == position:
        return False
    return old.identities[i] != new.identities[j]


def _shift(position: int, old: LogWindow, new: LogWindow, nearest: Sequence[Pair]) -> int | None:
    if not nearest:
        return None
    i, j = min(nearest, key=lambda pair: abs(old.offsets[pair[0]] - position))
    return new.offsets[j] - old.offsets[i]
