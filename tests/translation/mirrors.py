"""Mirrors simulated step by step, and what is true of an answer now and after the mirror has caught up.

Independent of the rule: nothing here imports what decides. A mirror copies in order; it lags, begins again from any
offset (the latest and the earliest among them) and writes a record twice. Other producers write records of their own
and single copies of old ones. Records may equal each other, and the old log may begin above 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Mirrored:
    """Two logs of one partition, the job's position, and what the mirror has still to copy."""

    old_start: int
    old: tuple[str, ...]
    """Record `i` is at offset `old_start + i`."""
    new: tuple[str, ...]
    """Record `j` is at offset `j`."""
    to_come: tuple[str, ...]
    """What the mirror appends next, if nothing else happens."""
    position: int
    mirror_only: bool
    budget: int
    window: int

    @property
    def looks_complete(self) -> bool:
        """Whether a second copy of an equal of the last record stands for a copy that is to come.

        The last copies are then those of the last records, one by one, as of a mirror that has written all.
        """
        run = next((n for n, record in enumerate(reversed(self.old)) if record != self.old[-1]), len(self.old))
        shown = run + 3
        copies = [record for record in self.new if record in self.old]
        return (
            bool(self.to_come)
            and self.old.count(self.old[-1]) > 1
            and len(self.old) >= shown
            and copies[-shown:] == [*self.old[-shown:]]
        )


@dataclass(frozen=True, slots=True)
class Truth:
    """What resuming at an offset does, counted by content."""

    skip: int
    replay: int
    replay_of_read: int
    """Of records that the job has read and that equal no unread one."""
    foreign_below: int


def simulate(random: Random) -> Mirrored:
    """Run a mirror for a while."""
    count = random.choice([3, 5, 8, 20, 60, 120])
    style = random.choice(["unique", "unique", "tail", "mixed", "few"])
    tail = random.randint(2, max(2, count // 2))
    old = [_record(random, style, index, count - tail) for index in range(count)]
    mirror_only = random.random() < 0.3
    new: list[str] = []
    at = random.choice([0, 0, 0, random.randint(0, count)])
    stop = count - random.choice([0, 0, 0, 1, 2, random.randint(0, count)])
    restarts = random.choice([0, 0, 0, 1, 2])
    others = 0.0 if mirror_only else random.choice([0, 0, 0.03, 0.15])
    twice = random.choice([0, 0, 0, 0.05])
    steps, reached = 0, at
    while steps < 4 * count:
        steps += 1
        if at >= stop:
            if not restarts:
                break
            restarts -= 1
            at = random.choice([0, random.randint(0, at), max(0, at - random.randint(0, 3))])
            stop = min(count, at + random.randint(1, count))
            continue
        new.append(old[at])
        if random.random() < twice:
            new.append(old[at])
        at += 1
        reached = at
        if random.random() < others:
            _write(random, new, old, at)
        if restarts and random.random() < 0.05:
            restarts -= 1
            at = random.choice([0, count, random.randint(0, at), max(0, at - random.randint(0, 3))])
    if not mirror_only and random.random() < 0.15:
        _write(random, new, old, at)
    start = random.choice([0, 0, 100])
    edge = random.choice([count, count, random.randint(0, count), random.randint(0, count)])
    return Mirrored(
        old_start=start,
        old=tuple(old),
        new=tuple(new),
        to_come=tuple(old[reached:]),
        position=start + edge,
        mirror_only=mirror_only,
        budget=random.choice([8, 20, 60, 100_000, 100_000, 100_000]),
        window=random.choice([2, 4, 8]),
    )


def truth(case: Mirrored, offset: int, *, caught_up: bool) -> Truth:
    """Count what resuming at an offset of the new log does, now or when all that is to come has come."""
    new = (*case.new, *case.to_come) if caught_up else case.new
    split = case.position - case.old_start
    read, unread = Counter(case.old[:split]), Counter(case.old[split:])
    known = read.keys() | unread.keys()
    held, above = Counter(new), Counter(new[offset:])
    return Truth(
        skip=sum(max(0, min(count, held[h]) - above[h]) for h, count in unread.items()),
        replay=sum(max(0, count - unread[h]) for h, count in above.items() if h in known),
        replay_of_read=sum(count for h, count in above.items() if h in read and h not in unread),
        foreign_below=sum(record not in known for record in new[:offset]),
    )


def right_places(case: Mirrored) -> Sequence[int]:
    """Return every offset that is right after the mirror has caught up."""
    total = len(case.new) + len(case.to_come)
    costs = ((offset, truth(case, offset, caught_up=True)) for offset in range(total + 1))
    return [at for at, cost in costs if (cost.skip, cost.replay, cost.foreign_below) == (0, 0, 0)]


def _write(random: Random, new: list[str], old: list[str], at: int) -> None:
    """Let somebody else write: a record of their own, or a copy.

    Never one in the order of the old log, which nothing tells from the mirror's.
    """
    record = random.choice([f"other-{len(new)}", old[random.randrange(len(old))], old[-1]])
    behind = [old[index] for index in range(1, len(old)) if new and old[index - 1] == new[-1]]
    if record not in (*old[at : at + 1], *behind):
        new.append(record)


def _record(random: Random, style: str, index: int, tail_from: int) -> str:
    if style == "tail":
        return f"r{index}" if index < tail_from else "same"
    if style == "mixed" and random.random() < 0.4:
        return f"same-{random.randrange(2)}"
    if style == "few":
        return f"same-{random.randrange(3)}"
    return f"r{index}"
