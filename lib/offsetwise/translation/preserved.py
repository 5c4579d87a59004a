"""Links that keep offsets: the statement is checked at a few places of the log. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from offsetwise.translation.search import Span
from offsetwise.translation.windows import LogWindow

PROBE_RECORDS = 16
"""Offsets read at each place."""

ENOUGH = 3
"""Unique records that must be the same at the same offset, or all there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What one place of both logs showed, counting offsets that hold a record on both."""

    agree: int = 0
    """The same record, and no other like it in the place."""
    alike: int = 0
    """The same identity, but not the only one in the place."""
    differ: int = 0

    def __add__(self, other: Probe) -> Probe:
        return Probe(agree=self.agree + other.agree, alike=self.alike + other.alike, differ=self.differ + other.differ)


def places(position: int, old: Span, new: Span) -> tuple[Span, ...]:
    """Give the places to probe: log start, middle, before and at the position, end, inside both logs."""
    both = Span(start=max(old.start, new.start), end=min(old.end, new.end))
    if both.end <= both.start:
        return ()
    half = PROBE_RECORDS // 2
    middles = (both.start + half, (both.start + both.end) // 2, position - half, position + half, both.end - half)
    found = {both.clip(middle - half, middle + half) for middle in middles}
    return tuple(sorted((span for span in found if len(span)), key=lambda span: span.start))


def probe(old: LogWindow, new: LogWindow) -> Probe:
    """Compare two windows of the same offsets."""
    count_old, count_new = Counter(old.identities), Counter(new.identities)
    there = dict(zip(new.offsets, new.identities, strict=True))
    agree = alike = differ = 0
    for offset, identity in zip(old.offsets, old.identities, strict=True):
        if offset not in there:
            continue
        if there[offset] != identity:
            differ += 1
        elif count_old[identity] == count_new[identity] == 1:
            agree += 1
        else:
            alike += 1
    return Probe(agree=agree, alike=alike, differ=differ)


def preserved(near: Iterable[Probe], all_places: Iterable[Probe]) -> bool:
    """Whether the offsets are kept, as far as the probes show.

    Args:
        near: The probes before and at the position.
        all_places: Every probe, the near ones included.
    """
    total = sum(all_places, Probe())
    close = sum(near, Probe())
    return not total.differ and close.agree > 0 and total.agree >= ENOUGH
