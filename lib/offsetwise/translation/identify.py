"""Record identity for the windows of one partition: when two records count as the same.

Spark hashes the parts of every record (`pipeline/records.py`); here the parts are combined. Needs the standard library
only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, repeat

from offsetwise.translation.content import anchors
from offsetwise.translation.identity import PROVENANCE_HEADERS

Header = tuple[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Records of one log in columns of equal length, ascending by offset. Hashes have 16 bytes and are salted."""

    offsets: Sequence[int] = ()
    timestamps: Sequence[int | None] = ()
    """Milliseconds; None if the record has none."""
    log_append: Sequence[bool] = ()
    """Whether the broker set the timestamp: then it is no part of the record."""
    content: Sequence[bytes] = ()
    """Hash of key and value."""
    masked: Sequence[bytes | None] = ()
    """Hash of key and value without possible schema ids; None if there are none."""
    key_schema: Sequence[int | None] = ()
    value_schema: Sequence[int | None] = ()
    headers: Sequence[tuple[Header, ...]] = ()
    """(name, hash of the value), in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """Identities in the order of the records, and their components."""

    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    aborted: tuple[bytes, ...] = ()
    timed: bool = True
    """Whether timestamps are part of the identity."""
    ignored_headers: tuple[str, ...] = ()
    schema_ids: tuple[tuple[int, int], ...] = field(default=())
    """(old id, new id) of masked schema registry ids."""

    @property
    def made_of(self) -> str:
        return "timestamp, key, value and headers" if self.timed else "key, value and headers"


def identify(old: Records, new: Records, aborted: Records | None = None) -> Identified:
    """Return the identity of every record.

    - Timestamps count only if producers set them on both sides of the partition.
    - Provenance headers (of migration tools), names that occur only on the new cluster (tracing agents), and names that
    only one of two otherwise equal records has, are ignored.
    - Schema registry ids are masked only if records are otherwise unmatched, and only if one consistent one-to-one
    mapping of old to new ids explains all pairs.
    """
    aborted = aborted or Records()
    timed = not any(None in records.timestamps or any(records.log_append) for records in (old, new))
    names_old = {name for headers in filter(None, chain(old.headers, aborted.headers)) for name, _ in headers}
    names_new = {name for headers in filter(None, new.headers) for name, _ in headers}
    ignored = (names_new - names_old) | (PROVENANCE_HEADERS & (names_old | names_new))
    ignored |= _added(old, new, timed, (names_old & names_new) - ignored)
    plain = [_identities(records, records.content, timed, ignored) for records in (old, new, aborted)]
    mapping = {}
    if _any_masked(old) and _any_masked(new):
        unmatched = Counter(plain[0]) - Counter(plain[1]) and Counter(plain[1]) - Counter(plain[0])
        mapping = _schema_ids(old, new, timed, ignored) if unmatched else {}
    if mapping:
        plain = [
            _masked(old, plain[0], timed, ignored, mapping),
            _masked(new, plain[1], timed, ignored, {to: to for to in mapping.values()}),
            _masked(aborted, plain[2], timed, ignored, mapping),
        ]
    return Identified(
        old=plain[0],
        new=plain[1],
        aborted=plain[2],
        timed=timed,
        ignored_headers=tuple(sorted(ignored)),
        schema_ids=tuple(sorted(mapping.items())),
    )


def identify_as(
    records: Records,
    *,
    timed: bool,
    ignored_headers: Iterable[str],
    schema_ids: Mapping[int, int],
    is_new: bool,
) -> tuple[bytes, ...]:
    """Return the identities that an earlier `identify` gave to records, from its recorded components.

    With the same salt the result is the same, whichever other records are read. A record that has lost its producer
    timestamp, if that was part of the identity, gets another identity.

    >>> identify_as(Records(), timed=True, ignored_headers=(), schema_ids={}, is_new=False)
    ()
    """
    ignored = set(ignored_headers)
    plain = _identities(records, records.content, timed, ignored)
    if not schema_ids:
        return plain
    to_new = {to: to for to in schema_ids.values()} if is_new else dict(schema_ids)
    return _masked(records, plain, timed, ignored, to_new)


def _identities(
    records: Records, contents: Sequence[bytes], timed: bool, ignored: frozenset[str] | set[str]
) -> tuple[bytes, ...]:
    times = records.timestamps if timed else repeat(None, len(contents))
    return tuple(map(_combine, contents, times, records.headers, repeat(ignored)))


def _combine(content: bytes, time: int | None, headers: Sequence[Header], ignored: set[str] | frozenset[str]) -> bytes:
    """Hash the parts into 16 bytes. `content` is salted, and so the result is."""
    parts = content + (b"-" if time is None else b"t%d" % time)
    for name, value in headers:
        if name not in ignored:
            parts += b"h%d:" % len(name.encode()) + name.encode() + value
    return blake2b(parts, digest_size=16).digest()


def _added(old: Records, new: Records, timed: bool, names: set[str]) -> set[str]:
    """Return the headers that only one side's copy has, by records that are equal without them."""
    sides = old.headers, new.headers
    partly = {
        name for name in names if not all(any(name == at for at, _ in headers) for side in sides for headers in side)
    }
    if not partly:
        return set()
    bare = [
        [(content, time if timed else None) for content, time in zip(side.content, side.timestamps, strict=True)]
        for side in (old, new)
    ]
    pairs = anchors(*bare)
    counts = (
        (Counter(name for name, _ in old.headers[i]), Counter(name for name, _ in new.headers[j])) for i, j in pairs
    )
    return {name for ours, theirs in counts for name in partly if ours[name] != theirs[name]}


def _schema_ids(old: Records, new: Records, timed: bool, ignored: set[str] | frozenset[str]) -> dict[int, int]:
    """Return the one mapping old id -> new id that explains the pairs; empty if there is none, or none is needed."""
    blank_old = _identities(old, _blank(old), timed, ignored)
    blank_new = _identities(new, _blank(new), timed, ignored)
    forward: dict[int, int] = {}
    backward: dict[int, int] = {}
    for i, j in anchors(blank_old, blank_new):
        for ours, theirs in ((old.key_schema[i], new.key_schema[j]), (old.value_schema[i], new.value_schema[j])):
            if (ours is None) != (theirs is None):
                return {}
            if ours is None or theirs is None:
                continue
            if forward.setdefault(ours, theirs) != theirs or backward.setdefault(theirs, ours) != ours:
                return {}
    return forward if any(ours != theirs for ours, theirs in forward.items()) else {}


def _any_masked(records: Records) -> bool:
    return any(value is not None for value in records.masked)


def _blank(records: Records) -> list[bytes]:
    return [
        content if masked is None else masked for content, masked in zip(records.content, records.masked, strict=True)
    ]


def _masked(
    records: Records,
    plain: tuple[bytes, ...],
    timed: bool,
    ignored: set[str] | frozenset[str],
    to_new: dict[int, int],
) -> tuple[bytes, ...]:
    digests = list(plain)
    for index, masked in enumerate(records.masked):
        ids = [ours for ours in (records.key_schema[index], records.value_schema[index]) if ours is not None]
        if masked is None or any(ours not in to_new for ours in ids):
            continue
        content = masked + b"".join(b"s%d" % to_new[ours] for ours in ids)
        time = records.timestamps[index] if timed else None
        digests[index] = _combine(content, time, records.headers[index], ignored)
    return tuple(digests)
