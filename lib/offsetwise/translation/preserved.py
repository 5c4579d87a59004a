"""Links that keep offsets: the statement is checked by a few probes of both logs. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model import Neighbour, Side
from offsetwise.translation.evidence import NEIGHBOURS, fingerprint
from offsetwise.translation.search import Span
from offsetwise.translation.windows import LogWindow

PROBE_RECORDS = 16
"""How many offsets each probe reads."""

ENOUGH = 3
"""How many unique records must be the same at the same offset, unless there are fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The result of probing both logs: how many offsets that hold a record on both agree or differ."""

    agree: int = 0
    """The same record, and no other with that identity in the probe."""
    alike: int = 0
    """The same identity, but not the only one in the probe."""
    differ: int = 0

    def __add__(self, other: Probe) -> Probe:
        return Probe(agree=self.agree + other.agree, alike=self.alike + other.alike, differ=self.differ + other.differ)


class _ProbeResult(StrEnum):
    AGREE = "agree"
    ALIKE = "alike"
    DIFFER = "differ"


def probe_spans(position: int, old: Span, new: Span) -> tuple[Span, ...]:
    """Return the spans to probe: log start, middle, around the position, end, inside both logs."""
    both = _both(old, new)
    if both.end <= both.start:
        return ()
    half = PROBE_RECORDS // 2
    middles = (both.start + half, (both.start + both.end) // 2, both.end - half)
    spans = {both.clip(middle - half, middle + half) for middle in middles}
    # One span, so that the identities on both sides of the position have the same components.
    spans.add(both.clip(position - PROBE_RECORDS, position + PROBE_RECORDS))
    return tuple(sorted((span for span in spans if len(span)), key=lambda span: span.start))


def probe(old: LogWindow, new: LogWindow) -> Probe:
    counts = Counter(result for _, result in _compared(old, new))
    return Probe(agree=counts[_ProbeResult.AGREE], alike=counts[_ProbeResult.ALIKE], differ=counts[_ProbeResult.DIFFER])


def agreeing_neighbours(position: int, old: LogWindow, new: LogWindow) -> tuple[Neighbour, ...]:
    agree = [index for index, result in _compared(old, new) if result is _ProbeResult.AGREE]
    read = [index for index in agree if old.offsets[index] < position]
    return tuple(
        Neighbour(
            old_offset=old.offsets[index],
            new_offset=old.offsets[index],
            timestamp_ms=old.timestamps[index] if old.timestamps else None,
            identity=fingerprint(old.identities[index]),
            side=Side.READ if old.offsets[index] < position else Side.UNREAD,
        )
        for index in (*read[-NEIGHBOURS:], *agree[len(read) : len(read) + NEIGHBOURS])
    )


def _compared(old: LogWindow, new: LogWindow) -> Iterator[tuple[int, _ProbeResult]]:
    count_old, count_new = Counter(old.identities), Counter(new.identities)
    there = dict(zip(new.offsets, new.identities, strict=True))
    for index, (offset, identity) in enumerate(zip(old.offsets, old.identities, strict=True)):
        if offset not in there:
            continue
        if there[offset] != identity:
            yield index, _ProbeResult.DIFFER
        elif count_old[identity] == count_new[identity] == 1:
            yield index, _ProbeResult.AGREE
        else:
            yield index, _ProbeResult.ALIKE


def preserved(position: int, old: Span, new: Span, near: Iterable[Neighbour], all_places: Iterable[Probe]) -> bool:
    """Return whether the probes show that offsets are kept: before the position, at it, and everywhere else.

    Args:
        position: The next record to read.
        old: From the old log's start to its end.
        new: The same of the new log. Offsets that only one of them holds say nothing.
        near: The agreeing records around the position.
        all_places: All probes.
    """
    both, total = _both(old, new), sum(all_places, Probe())
    sides = {neighbour.side for neighbour in near}
    before = Side.READ in sides or position <= both.start
    after = Side.UNREAD in sides or position >= both.end
    return bool(sides) and before and after and not total.differ and total.agree >= ENOUGH


def _both(old: Span, new: Span) -> Span:
    return Span(start=max(old.start, new.start), end=min(old.end, new.end))
