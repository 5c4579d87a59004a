"""The records between two anchors or log edges, counted by identity. Standard library only, for Spark's workers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from offsetwise.model import Ahead
from offsetwise.translation.evidence import around_raw
from offsetwise.translation.mirror_progress import ANCHORS, TAIL, Pair, Progress, progress
from offsetwise.translation.windows import Cut, LogWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStretch:
    """The parts of both windows between which records are counted, as index ranges."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int
    whole_left: bool
    whole_right: bool


class StretchTotals:
    """The records of one stretch by identity: the counts that all positions in it share."""

    def __init__(self, stretch: WindowStretch, old: Sequence[Hashable], new: Sequence[Hashable]) -> None:
        here = new[stretch.new_from : stretch.new_to]
        self.old = Counter(old[stretch.old_from : stretch.old_to])
        """Records of the old log."""
        self.new = Counter(here)
        """Records of the new log."""
        self.known = frozenset(self.old)
        """Identities of records of the old log."""
        self.foreign = [index for index, identity in enumerate(here) if identity not in self.known]
        """Indices of the records of the new log without a record of that identity in the old log, from 0, ascending."""


@dataclass(frozen=True, kw_only=True)
class Count:
    position: int
    old: LogWindow
    new: LogWindow
    split: int
    stretch: WindowStretch
    chain: list[Pair]
    totals: StretchTotals
    aborted: frozenset[Hashable] = frozenset()
    """Records of the old log that the job never reads."""
    natives_excluded: bool = False
    """Whether the migration file states that only the mirror writes to the new topic."""

    @cached_property
    def read(self) -> Counter[Hashable]:
        """Records of the old log before the position."""
        return Counter(self.old.identities[self.stretch.old_from : self.split])

    @property
    def any_read(self) -> bool:
        return self.split > self.stretch.old_from

    @cached_property
    def unread(self) -> Counter[Hashable]:
        """Records of the old log at or after the position."""
        return Counter(self.old.identities[self.split : self.stretch.old_to])

    @property
    def known(self) -> frozenset[Hashable]:
        return self.totals.known

    @cached_property
    def explained(self) -> frozenset[Hashable]:
        """Identities of records of the old log, including those of aborted transactions."""
        return self.known | self.aborted if self.aborted else self.known

    @cached_property
    def here(self) -> Sequence[Hashable]:
        return self.new.identities[self.stretch.new_from : self.stretch.new_to]

    @cached_property
    def offsets(self) -> Sequence[int]:
        return self.new.offsets[self.stretch.new_from : self.stretch.new_to]

    @property
    def present(self) -> Counter[Hashable]:
        return self.totals.new

    @cached_property
    def unfound(self) -> Counter[Hashable]:
        """Unread records without a copy in the stretch."""
        return Counter({h: count - self.present[h] for h, count in self.unread.items() if count > self.present[h]})

    def unfound_before(self, identity: Hashable) -> bool:
        """Whether an unread record before the first unread one of that identity has no copy here.

        A mirror may have changed it, a header or the value: then its copy stands below that record's, unexplained.
        """
        before = takewhile(lambda h: h != identity, self.old.identities[self.split : self.stretch.old_to])
        return not self.unfound.keys().isdisjoint(before)

    @cached_property
    def need(self) -> dict[Hashable, int]:
        """How many copies of each unread record must lie at or above the cut."""
        return {h: min(count, self.present[h]) for h, count in self.unread.items()}

    @property
    def vague(self) -> list[Hashable]:
        """Identities of both read and unread records whose copies do not add up."""
        total = self.totals.old
        return [h for h, count in self.unread.items() if count < total[h] != self.present[h]]

    @cached_property
    def old_whole(self) -> bool:
        """Whether all of the old log is counted, so that an unexplained record is no copy of another of its records."""
        stretch = self.stretch
        every = stretch.old_from == 0 and stretch.old_to == len(self.old.offsets)
        return every and self.old.at_start and self.old.at_end

    @cached_property
    def progress(self) -> Progress | None:
        """How far the mirror has come; None if the new log's end was not read, or may hold copies of unread parts."""
        if not self.new.at_end:
            return None
        old, new = self.old.identities, self.new.identities
        known = self.known if self.old_whole else frozenset(old)
        whole = self.old.at_start and self.old.at_end
        if not whole and any(h not in known and h not in self.aborted for h in new[-ANCHORS:]):
            return None
        estimate = progress(
            old,
            new,
            self.chain,
            known=known,
            natives_excluded=self.natives_excluded,
            whole=self.old.at_start and self.new.at_start,
            trimmed=not self.old.at_start or self.old.start > 0,
        )
        return replace(estimate, least=0) if self.went_back else estimate

    @cached_property
    def went_back(self) -> bool:
        """Whether the last copies may be of records lost at the old log's start: then the mirror copies all again.

        If others write too, a second copy of such a record shows it.
        """
        if not self.old_whole or not self.old.start:
            return False
        last = [*takewhile(lambda h: h not in self.explained, reversed(self.new.identities))]
        trailing = frozenset(last)
        again = Counter(h for h in self.new.identities if h in trailing) if last else Counter[Hashable]()
        return bool(last) and (self.natives_excluded or max(again.values()) > 1)

    @cached_property
    def to_come(self) -> Counter[Hashable]:
        """Records that the mirror will certainly copy."""
        return Counter() if self.progress is None else Counter(self.old.identities[self.progress.most :])

    @cached_property
    def to_come_at_most(self) -> Counter[Hashable]:
        return Counter() if self.progress is None else Counter(self.old.identities[self.progress.least :])

    @property
    def lags(self) -> bool:
        """Whether the mirror has not reached the position: records that the job has read lack copies."""
        if self.progress is None:
            if not (self.new.at_end and self.any_read) or any(self.need.values()):
                return False
            tail = self.old.identities[self.split - 1]
            return self.present[tail] < self.read[tail]
        if self.progress.likely >= self.split:
            return False
        between = set(self.old.identities[self.progress.likely : self.split])
        present = Counter(h for h in self.new.identities if h in between)
        total = Counter(h for h in self.old.identities if h in between)
        return any(present[h] < total[h] for h in between)

    def offset_of(self, cut: int) -> int:
        """Return the offset of a cut: of the record at it, or else after the record before it."""
        if cut == 0 and self.stretch.whole_left and not self.any_read:
            return self.new.start
        if cut < len(self.offsets):
            return self.offsets[cut]
        return self.offsets[-1] + 1 if self.offsets else self.new.start

    def skip(self, cut: int) -> int:
        """Count unread records that exist here and have no copy at or after the cut."""
        above = Counter(self.here[cut:])
        return sum(max(0, count - above[h]) for h, count in self.need.items())

    def replay(self, cut: int, to_come: Counter[Hashable] | None = None) -> int:
        """Count copies at or after the cut beyond the unread records, including `to_come`."""
        above = Counter(self.here[cut:])
        if to_come:
            above += to_come
        return sum(max(0, count - self.unread[h]) for h, count in above.items() if h in self.known)

    def read_again(self, cut: int) -> bool:
        """Return whether copies of read records may come, beyond those that equal unread ones need."""
        coming = {h: count for h, count in self.to_come_at_most.items() if h in self.read}
        if not coming:
            return False
        above = Counter(h for h in self.here[cut:] if h in coming)
        return any(above[h] + count > self.unread[h] for h, count in coming.items())

    def lost_before(self, cut: int) -> bool:
        """Return whether the old log may have lost records between the one copied just below `cut` and the position.

        Compaction and retention remove records that the job has read; their copies on the new log look like foreign
        records. Offsets without a record show that: every existing record explains one copy.
        """
        below = self.stretch.new_from + cut
        before = min(bisect_left(self.chain, (self.split,)), bisect_left(self.chain, below, key=lambda pair: pair[1]))
        if self.stretch.whole_left and self.old.start > 0 and before < ANCHORS:
            return True
        if self.stretch.whole_right and self.split == len(self.old.offsets):
            return False  # Kafka never compacts a log's last segment: at its end are transaction markers.
        nearest = self.chain[before - 1] if before else None
        after = nearest[0] + 1 if nearest is not None and nearest[1] == below - 1 else self.stretch.old_from
        first = self.old.offsets[after - 1] + 1 if after else self.old.start
        return self.position - first > self.split - after

    @property
    def lost_after(self) -> bool:
        """Whether the old log may have lost records between the position and the next record there."""
        following = self.old.offsets[self.split] if self.split < len(self.old.offsets) else self.old.end
        return following > self.position

    def until_sure(self, cut: int) -> int:
        """Return the index from which every record is certainly unread: the first anchor's, or after repeated copies.

        A mirror that started again has also copied the records that the old log has lost since.
        """
        if self.went_back:
            return len(self.here)
        paired = [j - self.stretch.new_from for _, j in self.chain[bisect_left(self.chain, (self.split,)) :]]
        first = next((j for j in paired if j >= cut), len(self.here))
        above = Counter(h for h in self.here[cut:] if h in self.known)
        again = {h for h, count in above.items() if count > self.unread[h]}
        repeated = next((j + 1 for j in reversed(range(cut, len(self.here))) if self.here[j] in again), 0)
        return max(first, repeated)

    def maybe_read(self, cut: int) -> int:
        """Count records from the cut on that the job may have read, and that the old log has lost."""
        if not self.lost_before(cut):
            return 0
        return self._unexplained(cut, self.until_sure(cut))

    def replay_at_most(self, cut: int) -> int | None:
        """Return how many records may be read twice, including copies to come and those of uncounted originals.

        None if the new log was not read to its end, or its end does not show what is to come: if records below the old
        log's window may be copied again, unexplained records there may be such copies.
        """
        if self.progress is None or self.stretch.new_to < len(self.new.offsets):
            return None
        if not (self.old.at_start or self.natives_excluded):
            explained = {*self.old.identities, *self.aborted}
            if not self.progress.least or not explained.issuperset(self.new.identities[-TAIL - ANCHORS :]):
                return None
        # Records that only a mirror can have written, or has copied again, were copied before the old log lost them.
        lone = self.old_whole and not self.natives_excluded and not self.went_back
        lost = self.maybe_read(cut) if lone else self._unexplained(cut, len(self.here))
        below = self.old.identities[: self.stretch.old_from]
        again = sum(h not in self.known for h in below[self.progress.least :])
        return self.replay(cut, self.to_come_at_most) + lost + again

    def foreign(self, start: int, end: int) -> Sequence[int]:
        """Return the indices in `[start, end)` of records that no record of the old log explains."""
        indices = self.totals.foreign
        return indices[bisect_left(indices, start) : bisect_left(indices, end)]

    def _unexplained(self, start: int, end: int) -> int:
        return sum(self.here[index] not in self.aborted for index in self.foreign(start, end))

    def highest(self, cut: int) -> int | None:
        """Return the highest offset that may be right for that cut; None if it may lie above the new log's end."""
        coming = self.to_come_at_most
        if any(h in self.read for h in coming):
            return None
        at = self.lowest_keeping(cut, {h: max(0, self.unread[h] - coming[h]) for h in self.known})
        while self.old.start and at < len(self.here) and self.here[at] not in self.known:
            at += 1  # copies of records that the old log has lost
        return self.offset_of(at)

    def ahead(self, cut: int) -> Ahead:
        if not self.stretch.whole_right:
            return Ahead(examined=False)
        above = Counter(self.here[cut:])
        missing = sum((self.unread - above).values())
        foreign = sum(count for h, count in above.items() if h not in self.known)
        return Ahead(
            examined=True,
            missing=missing if missing or (self.progress is not None and not self.to_come_at_most) else None,
            duplicated=None if foreign and not self.old.at_start else self.replay(cut),
            foreign=foreign,
        )

    def highest_without_skip(self) -> int:
        """Return the highest cut with every needed copy at or above it, walking down from the end."""
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
        """Return the lowest cut from `cut` on above which no identity of `allowed` has more copies than allowed."""
        above = Counter(h for h in self.here[cut:] if h in allowed)
        surplus = sum(max(0, above[h] - most) for h, most in allowed.items())
        while surplus:
            identity = self.here[cut]
            if identity in allowed:
                surplus -= above[identity] > allowed[identity]
                above[identity] -= 1
            cut += 1
        return cut

    def at_raw(self, located: Cut, *, surely_read: int) -> Cut:
        """Count what resuming at the same offset would skip and repeat.

        Args:
            located: The cut to extend.
            surely_read: How many of the first records have certainly been read.
        """
        first = self.new.start if self.stretch.whole_left or not self.offsets else self.offsets[0]
        final = self.new.end if self.stretch.whole_right or not self.offsets else self.offsets[-1] + 1
        if not first <= self.position <= final:
            return located
        cut = bisect_left(self.offsets, self.position)
        index = self.stretch.new_from + cut
        return replace(
            located,
            raw_skip=self.skip(cut),
            raw_replay=self.replay(cut, self.to_come) + self._unexplained(cut, surely_read),
            at_raw=around_raw(self.old, self.new, self.chain, position=self.position, index=index),
        )
