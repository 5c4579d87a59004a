"""Generated pairs of logs with their ground truth, for the promises of the content match.

A mirrored log is generated the way mirrors make it: records are copied in order, some filtered
for good, a restarted mirror copies a stretch again, other producers write in between, aborted
records become ordinary ones, and retention and compaction work on either side afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from offsetwise.translation.content import decide
from offsetwise.translation.search import (
    SearchPhase,
    SearchTarget,
    Span,
    Windows,
    better,
    earlier_windows,
    first_windows,
    in_doubt,
    next_windows,
    settled,
)
from offsetwise.translation.windows import Cut, LogWindow


@dataclass(frozen=True, slots=True)
class Entry:
    """One record. `origin` is the old offset it is a copy of, None for a record of another writer."""

    offset: int
    identity: Hashable
    key: int
    origin: int | None
    time: int | None = None
    """None where timestamps do not tell records apart: a broker sets them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both logs of one partition, and the position of a job on the old one."""

    old: tuple[Entry, ...]
    new: tuple[Entry, ...]
    target: SearchTarget


@dataclass(frozen=True, slots=True)
class Cost:
    """What resuming somewhere would do."""

    skip: int
    replay: int
    foreign_below: int

    @property
    def right(self) -> bool:
        return (self.skip, self.replay, self.foreign_below) == (0, 0, 0)


def generate(random: Random, *, uneven: bool = False) -> Pair:
    """Make a pair of logs of 3 to 200 records with up to all of the troubles at once.

    Args:
        random: Where the numbers come from.
        uneven: Whether a restarted mirror may end before its first run did, go on far ahead, or filter otherwise.
    """
    old, aborted, old_end = _old_log(random)
    new, new_end = _copies(random, old, aborted, uneven=uneven)
    old_start = old[0].offset if old else 0
    new_start = 0
    if random.random() < 0.2:
        old, old_start = _retained(random, old, old_end)
    if random.random() < 0.2:
        new, new_start = _retained(random, new, new_end)
    if random.random() < 0.15:
        old = _compacted(old)
    if random.random() < 0.15:
        new = _compacted(new)
    target = SearchTarget(
        position=random.randint(max(0, old_start - 3), old_end),
        old=Span(start=old_start, end=old_end),
        new=Span(start=new_start, end=new_end),
        window=random.choice([2, 4, 8, 16]),
        budget=random.choice([40, 100, 100_000, 100_000]),
    )
    return Pair(old=tuple(old), new=tuple(new), target=target)


def locate(pair: Pair, *, natives_excluded: bool = False) -> Cut:
    """Drive the search over logs in memory, as the pipeline drives it over Kafka."""
    target = pair.target
    windows = first_windows(target)
    best: Cut | None = None
    while True:
        cut = decide_on(pair, windows, natives_excluded=natives_excluded)
        best = cut if windows.phase is SearchPhase.LOCATE or best is None else better(best, cut)
        following = next_windows(target, windows, cut)
        if following is None:
            break
        windows = following
    if not in_doubt(best):
        return best
    earliest = _earliest(pair, best.unread_since)
    wider = earlier_windows(target, windows, best, earliest)
    if wider is not None:
        best = better(best, decide_on(pair, wider, natives_excluded=natives_excluded))
    return settled(best, earliest)


def _earliest(pair: Pair, since: int | None) -> int:
    """Answer as Kafka does: the first offset whose record is not older."""
    found = next((e.offset for e in pair.new if since is not None and (e.time or 0) >= since), pair.target.new.start)
    return max(found, pair.target.new.start)


def decide_on(pair: Pair, windows: Windows, *, natives_excluded: bool = False) -> Cut:
    """Cut what the windows hold of both logs."""
    return decide(
        pair.target.position,
        window_of(pair.old, pair.target.old, windows.old),
        window_of(pair.new, pair.target.new, windows.new),
        natives_excluded=natives_excluded,
        last=windows.last,
    )


def window_of(log: Sequence[Entry], whole: Span, span: Span) -> LogWindow:
    """Read a part of a log."""
    inside = [entry for entry in log if span.start <= entry.offset < span.end]
    return LogWindow(
        start=span.start,
        end=span.end,
        at_start=span.start <= whole.start,
        at_end=span.end >= whole.end,
        offsets=[entry.offset for entry in inside],
        identities=[entry.identity for entry in inside],
        timestamps=[entry.time for entry in inside],
    )


def cost_by_content(pair: Pair, place: int) -> Cost:
    """Count by identity, as the definition of a right place does."""
    position = pair.target.position
    read = Counter(entry.identity for entry in pair.old if entry.offset < position)
    unread = Counter(entry.identity for entry in pair.old if entry.offset >= position)
    held = Counter(entry.identity for entry in pair.new)
    above = Counter(entry.identity for entry in pair.new if entry.offset >= place)
    return Cost(
        sum(max(0, min(count, held[h]) - above[h]) for h, count in unread.items()),
        sum(max(0, count - unread[h]) for h, count in above.items() if h in read or h in unread),
        sum(1 for e in pair.new if e.offset < place and e.identity not in read and e.identity not in unread),
    )


def cost_by_origin(pair: Pair, place: int) -> Cost:
    """Count by where each copy came from, which only the generator knows.

    Between identical records the two counts may differ, and a place that is right by either is right:
    identical records are interchangeable for a job.
    """
    position = pair.target.position
    copies = {entry.origin for entry in pair.new}
    above = Counter(entry.origin for entry in pair.new if entry.offset >= place and entry.origin is not None)
    return Cost(
        sum(1 for e in pair.old if e.offset >= position and e.offset in copies and not above[e.offset]),
        sum(count if origin < position else count - 1 for origin, count in above.items()),
        sum(1 for entry in pair.new if entry.offset < place and entry.origin is None),
    )


def cost_of_copied(pair: Pair, place: int, *, natives_excluded: bool = False) -> Cost:
    """Count by identity, but only the unread records that were copied at all count as being there.

    An identical record that was read does not make one exist that was never mirrored. Where nobody else writes, that
    is known to the cut as well, and what the old log has lost since is nobody's record.
    """
    position = pair.target.position
    copies = {entry.origin for entry in pair.new}
    unread = Counter(e.identity for e in pair.old if e.offset >= position and e.offset in copies)
    above = Counter(entry.identity for entry in pair.new if entry.offset >= place)
    content, origin = cost_by_content(pair, place), cost_by_origin(pair, place)
    return Cost(
        sum((unread - above).values()),
        content.replay,
        origin.foreign_below if natives_excluded else content.foreign_below,
    )


def is_right(pair: Pair, place: int, *, natives_excluded: bool = False) -> bool:
    """Whether a place skips nothing, repeats nothing and leaves nothing foreign below."""
    return (
        cost_by_content(pair, place).right
        or cost_by_origin(pair, place).right
        or cost_of_copied(pair, place, natives_excluded=natives_excluded).right
    )


def answerable(pair: Pair) -> bool:
    """Whether any place of the new log is right."""
    places = {pair.target.new.start, *(e.offset for e in pair.new), *(e.offset + 1 for e in pair.new)}
    return any(
        right_somewhere(places, partial(cost, pair)) for cost in (cost_by_content, cost_by_origin, cost_of_copied)
    )


def right_somewhere(places: Iterable[int], cost: Callable[[int], Cost]) -> bool:
    """Whether any of the places is right.

    The further up a job resumes, the less it repeats, and the more it skips and leaves below. So where the first place
    that repeats nothing is wrong, every other one is too.
    """
    ordered = sorted(places)
    first = bisect_left(ordered, True, key=lambda place: cost(place).replay == 0)
    return first < len(ordered) and cost(ordered[first]).right


def _old_log(random: Random) -> tuple[list[Entry], set[int], int]:
    identical = random.choice([0.0, 0.0, 0.0, 0.3, 0.7])
    kinds = random.choice([1, 3])
    aborts = random.random() < 0.15
    offset = random.choice([0, 0, 100])
    log: list[Entry] = []
    aborted: set[int] = set()
    for serial in range(random.choice([3, 20, 60, 150])):
        if random.random() < 0.1:
            offset += random.randint(1, 3)
        same = random.random() < identical
        identity: Hashable = ("same", random.randrange(kinds)) if same else ("unique", serial)
        if aborts and random.random() < 0.2:
            aborted.add(offset)
        # Producers' times go back and forth a little. Records can only be identical where times do not count.
        time = None if identical else 10 * offset + 7_919 * offset % 40
        log.append(Entry(offset, identity, random.randrange(12), offset, time))
        offset += 1
    return log, aborted, offset + random.choice([0, 0, 1])


def _copies(random: Random, old: list[Entry], aborted: set[int], *, uneven: bool) -> tuple[list[Entry], int]:
    filtered = random.choice([0.0, 0.0, 0.1, 0.3])
    natives = random.choice([0.0, 0.0, 0.0, 0.05, 0.2])
    copied = [entry for entry in old if random.random() >= filtered]
    if random.random() < 0.2:
        copied = copied[: random.randint(0, len(copied))]
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        again = random.randint(0, len(copied))
        second = copied[again:]
        if uneven:
            second = [entry for entry in second[: random.randint(0, len(second))] if random.random() >= filtered]
            second += copied[random.randint(0, len(copied)) :] if random.random() < 0.3 else []
        copied = copied[: random.randint(again, len(copied))] + second
    log: list[Entry] = []
    offset = 0

    def add(make: Callable[[int], Entry]) -> None:
        nonlocal offset
        offset += random.randint(1, 2) if random.random() < 0.08 else 0
        log.append(make(offset))
        offset += 1

    for entry in (*copied, None):
        while random.random() < natives:
            add(lambda at: Entry(at, ("native", at), 100 + at, None, log[-1].time if log else 0))
        if entry is not None:
            add(lambda at, e=entry: replace(e, offset=at, origin=None if e.offset in aborted else e.offset))  # type: ignore[misc]
    # What an aborted transaction wrote is no record of a job that reads committed ones.
    old[:] = [entry for entry in old if entry.offset not in aborted]
    return log, offset + random.choice([0, 0, 1])


def _retained(random: Random, log: list[Entry], end: int) -> tuple[list[Entry], int]:
    first = random.randint(0, len(log))
    return log[first:], log[first].offset if first < len(log) else end


def _compacted(log: list[Entry]) -> list[Entry]:
    """Keep the last record of every key, and the active segment, as the log cleaner does."""
    dirty = len(log) * 2 // 3
    newest = {entry.key: index for index, entry in enumerate(log)}
    return [entry for index, entry in enumerate(log) if index >= dirty or newest[entry.key] == index]
