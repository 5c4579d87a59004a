"""The records between two anchors or log edges, counted by identity. Standard library only: workers get it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from offsetwise.model import Ahead
from offsetwise.translation.evidence import around_raw
from offsetwise.translation.windows import Cut, LogWindow

ANCHORS = 3
"""Unique records that must align on a side before a cut is believed without reaching the log's edge."""

Pair = tuple[int, int]
"""Indices (old, new) of two records that are each other's copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The parts of both windows between which records are counted, as index ranges."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int
    whole_left: bool
    whole_right: bool


@dataclass(frozen=True, kw_only=True)
class Count:
    """The records of one stretch, counted by identity."""

    position: int
    old: LogWindow
    new: LogWindow
    split: int
    stretch: Stretch
    chain: list[Pair]
    aborted: frozenset[Hashable] = frozenset()
    """Records of the old log that the job never reads."""

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
    def unfound(self) -> Counter[Hashable]:
        """Unread records without a copy here."""
        return Counter({h: count - self.held[h] for h, count in self.unread.items() if count > self.held[h]})

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

    def lost_before(self, cut: int) -> bool:
        """Whether the old log may have lost records between the one whose copy lies below `cut` and the position.

        Compaction and retention take records that the job has read; their copies on the new log look like records of
        others. Offsets without a record tell: every record that is there explains one.
        """
        below = self.stretch.new_from + cut
        before = min(bisect_left(self.chain, (self.split,)), bisect_left(self.chain, below, key=lambda pair: pair[1]))
        if self.stretch.whole_left and self.old.start > 0 and before < ANCHORS:
            return True
        if self.stretch.whole_right and self.split == len(self.old.offsets):
            return False  # Kafka never compacts a log's last segment: at its end stand markers of transactions.
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
        """Give the index behind which every record is surely unread: of the first paired one, or past read copies."""
        paired = [j - self.stretch.new_from for i, j in self.chain if i >= self.split]
        first = next((j for j in paired if j >= cut), len(self.here))
        only_read = self.read.keys() - self.unread.keys()
        repeated = next((j + 1 for j in reversed(range(cut, len(self.here))) if self.here[j] in only_read), 0)
        return max(first, repeated)

    def replay_at_most(self, cut: int) -> int:
        """Count what may be read twice, copies of records included that the old log has lost."""
        if not self.lost_before(cut):
            return self.replay(cut)
        explained = self.known | self.aborted
        return self.replay(cut) + sum(h not in explained for h in self.here[cut : self.until_sure(cut)])

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
