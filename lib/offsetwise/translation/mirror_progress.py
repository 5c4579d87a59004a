"""How far a mirror has come, from its last copies. Standard library only, for Spark's workers."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

ANCHORS = 3
"""How many unique records must align on a side to accept a cut without reaching the log's edge."""

TAIL = 64
"""How many copies at the end of the new log are searched for some that keep the order of the old log."""

Pair = tuple[int, int]
"""Indices (old, new) of two records that are each other's copy."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The record of the old log's window that the mirror copies next, as an index; it then appends all that follow."""

    least: int
    likely: int
    """By two copies in order; the others by three."""
    most: int


def progress(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    chain: Sequence[Pair],
    *,
    known: Collection[Hashable],
    natives_excluded: bool,
    whole: bool,
    trimmed: bool = False,
) -> Progress:
    """Find the record that a mirror copies next.

    If the copies since the third last anchor, or since the start of both logs, equal the records there one by one, it
    is the record after the last of them. A second copy in a run of equal records, with as many to come, looks the same:
    three anchors before it are accepted. Otherwise the last copy decides if only the mirror writes; if others write
    too, the last one that follows copies of the preceding records.

    Args:
        old: Identities of the old log's window.
        new: Those of the new log's, up to its end.
        chain: The anchors of both.
        known: The identities of `old`.
        natives_excluded: Whether only the mirror writes to the new topic.
        whole: Whether both windows begin where their logs begin.
        trimmed: Whether the old log had records below its window, some of which may equal one in it.

    >>> progress("abcdef", "abcdefab", [], known="abcdef", natives_excluded=True, whole=True)
    Progress(least=2, likely=2, most=2)
    >>> progress("abcd", "abd", [(0, 0), (1, 1), (3, 2)], known="abcd", natives_excluded=False, whole=True)
    Progress(least=2, likely=2, most=4)
    """
    if (anchored := len(chain) >= ANCHORS) or whole:
        i, j = chain[-ANCHORS] if anchored else (0, 0)
        copies = [identity for identity in new[j:] if identity in known]
        if copies and copies == [*old[i : i + len(copies)]]:
            at = i + len(copies)
            complete = at == len(old) and anchored
            least = at if complete else old.index(copies[-1]) + 1
            return Progress(least, at, at)
    return _by_last_copies(old, new, chain, known=known, natives_excluded=natives_excluded, trimmed=trimmed)


def _by_last_copies(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    chain: Sequence[Pair],
    *,
    known: Collection[Hashable],
    natives_excluded: bool,
    trimmed: bool,
) -> Progress:
    copies = [*islice((identity for identity in reversed(new) if identity in known), TAIL + ANCHORS)]
    identities = frozenset(copies)
    after: dict[Hashable, list[int]] = {}
    for index, identity in enumerate(old, start=1):
        if identity in identities:
            after.setdefault(identity, []).append(index)
    # A single record that was written twice in a row is no step back.
    copies = [h for n, h in enumerate(copies) if not n or h != copies[n - 1] or len(after[h]) > 1]
    gap = _usual_gap(old, chain, frozenset(new))
    least, most = len(old), 0
    likely: int | None = None
    for at, identity in enumerate(copies[:TAIL]):
        ends = after[identity]
        least, most = min(least, ends[0]), max(most, ends[-1])
        # Lost equal records may have left copies: then as many copies in order are required at the first record, too.
        short = trimmed and new.count(identity) > len(ends)
        if natives_excluded:
            lone = short and not (copies[1:] and _in_order(old, ends[-1], copies, gap, 2))
            return Progress(0 if lone else least, most, most)
        two, three = (
            [end for end in ends if _in_order(old, end, copies[at:], gap, size) and not (short and len(copies) < size)]
            for size in (2, ANCHORS)
        )
        likely = two[-1] if two and likely is None else likely
        if three:
            return Progress(least, three[-1] if likely is None else likely, most)
    return Progress(0, most if likely is None else likely, most)


def _usual_gap(old: Sequence[Hashable], chain: Sequence[Pair], present: Collection[Hashable]) -> int:
    gaps = sorted(
        (sum(h not in present for h in old[earlier + 1 : later]) for (earlier, _), (later, _) in pairwise(chain)),
        reverse=True,
    )
    often = max(ANCHORS, len(gaps) // 20)
    return gaps[often - 1] if len(gaps) >= often else 0


def _in_order(old: Sequence[Hashable], end: int, copies: Sequence[Hashable], gap: int, size: int) -> bool:
    """Return whether `size` copies, the last first, are of records below `end`, with gaps of at most `gap`.

    Fewer suffice if they reach the first record.
    """
    at = end - 1
    for identity in copies[1:size]:
        at = next((index for index in range(at - 1, max(-1, at - 2 - gap), -1) if old[index] == identity), -1)
        if at < 0:
            return False
    return len(copies) >= size or at <= gap
