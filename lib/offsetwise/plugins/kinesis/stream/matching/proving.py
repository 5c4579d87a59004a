"""The records that prove a position in a shard of the new stream: for each old shard the nearest ones on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from offsetwise.model import CopiedRecord, PartProof
from offsetwise.plugins.kinesis.stream.matching.search import Search
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, at
from offsetwise.ports.windows import Window


def parts_of(search: Search, number: int, index: int) -> Iterator[PartProof]:
    """Yield the proof by each old shard; none for a shard that is read to its end and has no copy there.

    Args:
        search: The records of both streams.
        number: The shard of the new stream.
        index: Index of the first record at or above the position, in the shard's window.
    """
    copies = _Copies.of(search.new[number], index)
    for old in sorted(search.olds(number)):
        window = search.old[old]
        count = Counter(window.identities)
        before = _nearest(search, window, reversed(range(window.read)), copies.below, count)
        after = _nearest(search, window, range(window.read, len(window.identities)), copies.above, count)
        if before is not None or after is not None or search.streams.job_positions[old] != SHARD_END:
            yield PartProof(partition=old, before=before, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copies:
    below: Mapping[str, int]
    above: Mapping[str, int]

    @classmethod
    def of(cls, window: Window, index: int) -> _Copies:
        records = list(zip(window.identities, window.numbers, strict=True))
        return cls(below=dict(records[:index]), above=dict(reversed(records[index:])))


def _nearest(
    search: Search, window: Window, indices: Iterable[int], copies: Mapping[str, int], count: Mapping[str, int]
) -> CopiedRecord | None:
    """Return the first record with a copy; a record that equals others only if no unique one has a copy."""
    equal = None
    for index in indices:
        identity = window.identities[index]
        if identity not in copies:
            continue
        record = CopiedRecord(
            old=at(window.numbers[index]), new=search.copies.before(copies[identity]), identity=identity
        )
        if count[identity] == 1:
            return record
        equal = equal or record
    return equal
