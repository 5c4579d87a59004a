"""The records around a cut, for display. Standard library only: shipped to Spark's workers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence

from offsetwise.model import Neighbour, Side
from offsetwise.translation.windows import LogWindow

NEIGHBOURS = 3
"""How many records are shown on each side of the cut."""

Pairs = Sequence[tuple[int, int]]
"""Indices (old, new) of records that are each other's copy, both ascending."""


def around_cut(old: LogWindow, new: LogWindow, chain: Pairs, *, split: int, cut: int) -> tuple[Neighbour, ...]:
    """Return the records around the cut: the old log's with their copies, then unpaired ones of the new log.

    If no record this close is on both logs, the nearest pair comes last: it can be read again.

    Args:
        old: Window of the old log; its records before index `split` have been read.
        new: Window of the new log; `cut` is the index of the first record to read.
        chain: The anchors.
        split: Index into `old`.
        cut: Index into `new`.
    """
    near = range(max(0, split - NEIGHBOURS), min(len(old.offsets), split + NEIGHBOURS))
    at = bisect_left(chain, (split,))
    nearest = chain[max(0, at - 1) : at + 1]
    copies = dict((*_between(chain, near.start, near.stop), *nearest))
    far = [i for i, _ in nearest if i not in near]
    return (
        *_old_rows(old, new, copies, near, split),
        *_unpaired(old, new, chain, split, cut),
        *_old_rows(old, new, copies, far, split),
    )


def around_raw(old: LogWindow, new: LogWindow, chain: Pairs, *, position: int, index: int) -> tuple[Neighbour, ...]:
    """Return the records of the new log around `index`, where the unchanged offset `position` would resume."""
    near = range(max(0, index - NEIGHBOURS), min(len(new.offsets), index + NEIGHBOURS))
    origin = {j: i for i, j in chain[_first_at(chain, near.start) : _first_at(chain, near.stop)]}
    explained = set(old.identities) if len(origin) < len(near) else frozenset()
    rows = []
    for j in near:
        i = origin.get(j)
        if i is not None:
            side = Side.READ if old.offsets[i] < position else Side.UNREAD
        else:
            side = Side.UNREAD if new.identities[j] in explained else Side.FOREIGN
        rows.append(_row(new, j, side, old_offset=None if i is None else old.offsets[i], new_offset=new.offsets[j]))
    return tuple(rows)


def fingerprint(identity: Hashable) -> str:
    return identity.hex() if isinstance(identity, bytes) else str(identity)


def _old_rows(
    old: LogWindow, new: LogWindow, copies: dict[int, int], shown: Sequence[int], split: int
) -> Iterator[Neighbour]:
    for i in shown:
        j = copies.get(i)
        yield _row(
            old,
            i,
            Side.READ if i < split else Side.UNREAD,
            old_offset=old.offsets[i],
            new_offset=None if j is None else new.offsets[j],
        )


def _unpaired(old: LogWindow, new: LogWindow, chain: Pairs, split: int, cut: int) -> Iterator[Neighbour]:
    shown = {j for _, j in _between(chain, split - NEIGHBOURS, split + NEIGHBOURS + 1)}
    near = range(max(0, cut - NEIGHBOURS), min(len(new.offsets), cut + NEIGHBOURS))
    unpaired = [j for j in near if j not in shown]
    explained = set(old.identities) if unpaired else frozenset()
    for j in unpaired:
        mine = Side.READ if j < cut else Side.UNREAD
        side = mine if new.identities[j] in explained else Side.FOREIGN
        yield _row(new, j, side, old_offset=None, new_offset=new.offsets[j])


def _between(chain: Pairs, start: int, end: int) -> Pairs:
    return chain[bisect_left(chain, (start,)) : bisect_left(chain, (end,))]


def _first_at(chain: Pairs, index: int) -> int:
    return bisect_left(chain, index, key=lambda pair: pair[1])


def _row(window: LogWindow, index: int, side: Side, *, old_offset: int | None, new_offset: int | None) -> Neighbour:
    return Neighbour(
        old_offset=old_offset,
        new_offset=new_offset,
        timestamp_ms=window.timestamps[index] if window.timestamps else None,
        identity=fingerprint(window.identities[index]),
        side=side,
    )
