"""The records between two anchors or log edges, counted by identity. Standard library only: workers get it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise

from offsetwise.model import Ahead
from offsetwise.translation.evidence import around_raw
from offsetwise.translation.windows import Cut, LogWindow

ANCHORS = 3
"""Unique records that must align on a side before a cut is believed without reaching the log's edge."""

Pair = tuple[int, int]
"""Indices (old, new) of two records that are each other's copy."""


SUPPORT = 3
"""Copies in the order of the old log, none left out, that say that the mirror wrote the last of them."""

TAIL = 64
"""Records at the end of the new log that are looked through for such copies."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many records of the old log's window lie below the mirror's place, in its present run."""

    least: int
    """For sure."""
    likely: int
    """Where the mirror leaves out records as it does elsewhere."""
    most: int


def progress(
    old: Sequence[Hashable], new: Sequence[Hashable], chain: Sequence[Pair], *, natives_excluded: bool
) -> Progress:
    """Say how far the mirror has come, by the copies at the end of the new log.

    The last copy tells, where only the mirror writes. Where others do, it may be theirs: it counts as the mirror's if
    the copies before it are those of the records before it, but for so many as the mirror leaves out elsewhere too.
    The record may have equals: then any of them may be the last one copied.

    >>> progress("abcdef", "abcdefab", [], natives_excluded=True)
    Progress(least=2, likely=2, most=2)
    >>> progress("abcdef", "abcf", [], natives_excluded=False)
    Progress(least=3, likely=3, most=6)
    """
    known = frozenset(old)
    copies = [*islice((identity for identity in reversed(new) if identity in known), TAIL + SUPPORT)]
    gap = 0 if natives_excluded else _usual_gap(chain)
    wanted = frozenset(copies)
    below: dict[Hashable, list[int]] = {}
    for end, identity in enumerate(old, start=1):
        if identity in wanted:
            below.setdefault(identity, []).append(end)
    least, most = len(old), 0
    likely: int | None = None
    for at, identity in enumerate(copies[:TAIL]):
        ends = below[identity]
        least, most = min(least, ends[0]), max(most, ends[-1])
        run = copies[at : at + SUPPORT]
        if natives_excluded or any(_in_order(old, end, run, 0) for end in ends):
            return Progress(least, least if likely is None else likely, most)
        if likely is not None:
            continue
        # What the log cleaner has left of records with equals may lie between; records without tell alone.
        lone = [each for each in copies[at : at + 2 * SUPPORT] if len(below[each]) == 1][:SUPPORT]
        if any(_in_order(old, end, run, gap) for end in ends) or (
            len(ends) == 1 and len(lone) == SUPPORT and _in_order(old, ends[0], lone, gap)
        ):
            likely = least
    return Progress(0, likely or 0, most)


def _usual_gap(chain: Sequence[Pair]) -> int:
    """Give how many records in a row a mirror often leaves out."""
    gaps = sorted((later - earlier - 1 for (earlier, _), (later, _) in pairwise(chain)), reverse=True)
    often = max(SUPPORT, len(gaps) // 20)
    return gaps[often - 1] if len(gaps) >= often else 0


def _in_order(old: Sequence[Hashable], end: int, run: Sequence[Hashable], gap: int) -> bool:
    """Say whether copies, the last first, are those of the records below `end`, with gaps of at most that many."""
    at = end - 1
    for identity in run[1:]:
        at = next((index for index in range(at - 1, max(-1, at - 2 - gap), -1) if old[index] == identity), -1)
        if at < 0:
            return False
    return len(run) == SUPPORT or at <= gap


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
    natives_excluded: bool = False
    """Somebody stated that nobody but the mirror writes to the new topic."""

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

    @cached_property
    def progress(self) -> Progress | None:
        """How far the mirror has come on the old log; None where the end of the new log was not read."""
        if not self.new.at_end:
            return None
        reached = progress(self.old.identities, self.new.identities, self.chain, natives_excluded=self.natives_excluded)
        if self.old.at_start or not self.new.identities or self.new.identities[-1] in self.old.identities:
            return reached
        # The end may be a run of copies whose originals lie below the window of the old log.
        return Progress(0, 0, 0) if self.natives_excluded else replace(reached, least=0)

    @cached_property
    def to_come(self) -> Counter[Hashable]:
        """Records of the old log that the mirror has surely not copied in its present run."""
        return Counter() if self.progress is None else Counter(self.old.identities[self.progress.most :])

    @cached_property
    def to_come_at_most(self) -> Counter[Hashable]:
        """Records of the old log that the mirror may not have copied in its present run."""
        return Counter() if self.progress is None else Counter(self.old.identities[self.progress.least :])

    @property
    def read_to_come(self) -> bool:
        """Whether the mirror has surely not come as far as the position."""
        reached = self.progress
        if reached is None or reached.likely >= self.split:
            return False
        if reached.most < self.split and not any(self.need.values()):
            return True
        return any(
            self.held[h] < self.read[h] + self.unread[h] for h in set(self.old.identities[reached.likely : self.split])
        )

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

    def replay(self, cut: int, to_come: Counter[Hashable] | None = None) -> int:
        """Count copies at or after the cut beyond what is unread, with those to come."""
        above = self._above(cut)
        if to_come:
            above = above + to_come
        elif cut in self._replays:
            return self._replays[cut]
        unread, known = self.unread, self.known
        counted = sum(count - unread[h] for h, count in above.items() if count > unread[h] and h in known)
        if not to_come:
            self._replays[cut] = counted
        return counted

    def _above(self, cut: int) -> Counter[Hashable]:
        """Count the records of the new log at or after a cut; of the one asked about last it is kept."""
        if cut not in self._counted:
            self._counted.clear()
            self._counted[cut] = Counter(self.here[cut:])
        return self._counted[cut]

    @cached_property
    def _counted(self) -> dict[int, Counter[Hashable]]:
        return {}

    @cached_property
    def _replays(self) -> dict[int, int]:
        return {}

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

    def may_be_read(self, cut: int) -> int:
        """Count records from the cut on that the job may have read and that the old log has lost."""
        if not self.lost_before(cut):
            return 0
        explained = self.known | self.aborted
        return sum(h not in explained for h in self.here[cut : self.until_sure(cut)])

    def replay_at_most(self, cut: int) -> int | None:
        """Count what may be read twice: copies to come, and of records that the old log lost or that were not read.

        None where a log was not read to its end.
        """
        if not (self.old.at_end and self.new.at_end) or self.stretch.new_to < len(self.new.offsets):
            return None
        replay = self.replay(cut, self.to_come_at_most)
        if self.old.at_start:
            return replay + self.may_be_read(cut)
        explained = self.known | self.aborted
        if self.here and self.here[-1] not in explained:
            return None
        return replay + sum(h not in explained for h in self.here[cut:])

    def highest(self, cut: int) -> int | None:
        """Give the highest offset that may be right, of that cut; None where it may lie past the end of the log."""
        reached = self.progress
        if reached is not None and (
            reached.likely < self.split
            or (reached.least < self.split and len(self.chain) - bisect_left(self.chain, (self.split,)) < ANCHORS)
        ):
            return None
        to_come = self.to_come_at_most
        if not to_come and not self.replay(cut):
            return self.place(cut)  # no identity has more copies ahead than it may have
        return self.place(self.lowest_keeping(cut, {h: max(0, self.unread[h] - to_come[h]) for h in self.known}))

    def ahead(self, cut: int) -> Ahead:
        """Compare everything ahead, where both logs were read to their ends."""
        if not self.stretch.whole_right:
            return Ahead(examined=False)
        above = self._above(cut)
        missing = sum((self.unread - above).values())
        foreign = sum(count for h, count in above.items() if h not in self.known)
        complete = self.progress is not None and self.progress.least == len(self.old.identities)
        return Ahead(
            examined=True,
            missing=missing if missing or complete else None,
            # Below the window of the old log may lie the originals of what looks foreign.
            duplicated=None if foreign and not self.old.at_start else self.replay(cut),
            foreign=foreign,
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
            raw_replay=self.replay(cut, self.to_come),
            at_raw=around_raw(self.old, self.new, self.chain, position=self.position, index=index),
        )
