"""Finds where a job resumes in each shard of another stream: the counted cut, per range of hash keys.

The shards of two streams may differ. The hash of a record's partition key tells which shards of either stream may have
it, so all hash keys are divided wherever a shard begins, into parts that each have one line of shards on the old
stream, parents before children, and one on the new stream. In such a part records keep their order, and `decide` finds
its cut as in a partition. A shard of the new stream has as many parts as shards of the old one overlap it; its position
is right if it fits all of them, and if none does, the lowest one skips nothing.

If keys do not lead to a new shard, as in a Kafka topic, whose partitions a link chooses freely, each of them has parts
of all shards of the old stream: the records that it has copies of.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from offsetwise.model import Ahead, Exactness
from offsetwise.plugins.kinesis.stream.matching.hash_keys import Cell, IndexStretch, ShardWindow, cells, unkeyed
from offsetwise.translation.content import decide
from offsetwise.translation.windows import Cut, LogWindow, Reason

_BY_WORTH = (Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.BOUNDED, Exactness.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class HashKeyPart:
    old: tuple[int, ...]
    """The shards of the old stream that overlap it."""
    cut: Cut
    """In numbers of its own; only its counts are meaningful outside."""
    at: Sequence[int] = ()
    """The records of the part, by their indices in the shard's window."""
    below: int = 0
    """How many of them are below the cut."""
    below_highest: int = 0
    """How many are below the highest possible position."""
    below_copy: int = 0
    """How many are below the first copy at or above the highest position: those in between are explained by no old
    record."""
    leading: int = 0
    """Records before the first copy that no record of the old stream explains."""
    surplus: int = 0
    """Copies below the position in excess of the old stream's records."""
    uncopied: int = 0
    """Records that the job has read and that have no copy."""
    identical: bool = False
    """Whether equal records were read and unread, so that only the number of copies decides."""

    @property
    def lag(self) -> int:
        """The index after the last record below the cut: the lowest position that fits."""
        return self.at[self.below - 1] + 1 if self.below else 0

    def first(self, end: int) -> int:
        """Return the index of the first record at or above the cut, the highest position; `end` if there is none."""
        return self.at[self.below] if self.below < len(self.at) else end

    @property
    def behind_highest(self) -> int:
        return self.at[self.below_highest - 1] + 1 if self.below_highest else 0

    def first_copy(self, end: int) -> int:
        """Return the index of the first copy at or above the highest position, which a later position would skip."""
        return self.at[self.below_copy] if self.below_copy < len(self.at) else end

    def between(self, start: int, end: int) -> int:
        return bisect_left(self.at, end) - bisect_left(self.at, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCut:
    shard: int
    exactness: Exactness | None
    """None if more has to be read."""
    reason: Reason
    index: int | None = None
    """Index of the first record to read in the shard's window."""
    highest: int | None = None
    """Upper bound of the index; equal to `index` if it is proven."""
    replay: int | None = None
    foreign_below: int | None = None
    ahead: Ahead = field(default_factory=lambda: Ahead(examined=False))
    parts: tuple[HashKeyPart, ...] = ()
    interleaved: bool = False
    """Whether the records of several old shards interleave so that no position fits them all."""
    nowhere: tuple[int, int] = (0, 0)
    """If keys do not lead to a new shard: how many read and unread records have no copy in any of them."""


def match(
    old: Sequence[ShardWindow],
    new: Sequence[ShardWindow],
    *,
    explicit: bool = False,
    apart: bool = False,
    natives_excluded: bool = False,
    trimmed: bool = False,
    last: bool = True,
) -> dict[int, ShardCut]:
    """Find the position of a job in each shard of the new stream.

    Args:
        old: The shards of the old stream, each with the records around the job's position.
        new: The shards of the new stream, each with the records that may be their copies.
        explicit: Whether producers set explicit hash keys, so that keys do not tell a record's shard.
        apart: Whether the new shards are partitions, which hashes of keys do not lead to.
        natives_excluded: Whether somebody stated that only the mirror writes to the new stream.
        trimmed: Whether the old stream may have lost records that the job has read.
        last: Whether the windows cannot grow: return BOUNDED or UNKNOWN instead of asking for more.

    Returns:
        By the number of the new shard.
    """
    options = _Request(natives_excluded=natives_excluded and not explicit, trimmed=trimmed, last=last)
    parts: dict[int, list[HashKeyPart]] = {window.shard.partition: [] for window in new}
    for cell in unkeyed(old, new, explicit=explicit) if explicit or apart else cells(old, new):
        for number, part in _judged(cell, options):
            parts[number].append(part)
    results = {window.shard.partition: _combined(window, parts[window.shard.partition], options) for window in new}
    return _without_keys(results, old, new, explicit=explicit) if explicit or apart else results


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    natives_excluded: bool
    trimmed: bool
    last: bool


def _judged(cell: Cell, options: _Request) -> Iterator[tuple[int, HashKeyPart]]:
    of = tuple(stretch.window.shard.partition for stretch in cell.old)
    contiguous = list(_without_gap(cell.new))
    ours, position = _old_window(cell, trimmed=options.trimmed)
    theirs = _new_window(contiguous)
    if not ours.identities and not theirs.identities:
        return
    known = set(ours.identities)
    leading = next((j for j, identity in enumerate(theirs.identities) if identity in known), 0)
    if leading and theirs.identities[leading] in set(ours.identities[: position - ours.start]):
        # Records before the first copy of a read one: of other producers, or copies of records that the old stream has
        # lost. They precede everything it can explain.
        theirs = replace(
            theirs, start=leading, offsets=theirs.offsets[leading:], identities=theirs.identities[leading:]
        )
    else:
        leading = 0
    whole = leading == 0 and all(stretch.window.whole for stretch in (*cell.old, *cell.new))
    cut = decide(position, ours, theirs, natives_excluded=options.natives_excluded, last=options.last)
    part = _checked(cut, ours, theirs, position - ours.start, whole=whole, natives_excluded=options.natives_excluded)
    part = replace(part, old=of, leading=leading)
    passed = 0
    for stretch in cell.new:
        number = stretch.window.shard.partition
        if stretch in contiguous:
            low = 0 if part.cut.offset is None else part.cut.offset
            high = len(theirs.identities) + leading if part.cut.hi is None else part.cut.hi
            below, highest = (min(max(0, bound - passed), len(stretch.at)) for bound in (low, high))
            count = len(stretch.at)
            copies = (n for n, identity in enumerate(stretch.identities(highest, count), highest) if identity in known)
            of_shard = replace(part, at=stretch.at, below=below, below_highest=highest, below_copy=next(copies, count))
            yield number, of_shard
            passed += len(stretch.at)
        elif part.cut.proven_offset is not None and part.cut.proven_offset < passed:
            yield number, replace(part, at=stretch.at)  # its parent is unread in part, so all of it is unread
        else:
            exactness = Exactness.UNKNOWN if options.last else None
            yield number, replace(part, cut=replace(part.cut, exactness=exactness, reason=Reason.FEW_ANCHORS))


def _without_gap(line: Sequence[IndexStretch]) -> Iterator[IndexStretch]:
    for stretch in line:
        yield stretch
        if not stretch.window.at_end:
            return


def _old_window(cell: Cell, *, trimmed: bool) -> tuple[LogWindow, int]:
    """Order the records of a line of shards: the read ones, then the unread ones.

    If a shard's records do not follow those of its parent without a gap, only those next to the position stay.
    """
    line = cell.old
    begin = max((at for at, stretch in enumerate(line) if not stretch.window.whole), default=0)
    end = next((at for at, stretch in enumerate(line) if not stretch.window.at_end), len(line) - 1)
    read = [identity for stretch in line[begin:] for identity in stretch.identities(0, stretch.split)]
    unread = [
        identity for stretch in line[: end + 1] for identity in stretch.identities(stretch.split, len(stretch.at))
    ]
    start = 1 if trimmed else 0
    count = len(read) + len(unread)
    window = LogWindow(
        start=start,
        end=start + count,
        at_start=all(stretch.window.whole for stretch in line),
        at_end=all(stretch.window.at_end for stretch in line),
        offsets=range(start, start + count),
        identities=(*read, *unread),
    )
    return window, start + len(read)


def _new_window(line: Sequence[IndexStretch]) -> LogWindow:
    identities = tuple(identity for stretch in line for identity in stretch.identities(0, len(stretch.at)))
    return LogWindow(
        start=0,
        end=len(identities),
        at_start=True,
        at_end=all(stretch.window.at_end for stretch in line),
        offsets=range(len(identities)),
        identities=identities,
    )


def _checked(
    cut: Cut, old: LogWindow, new: LogWindow, split: int, *, whole: bool, natives_excluded: bool
) -> HashKeyPart:
    """Lower the exactness of a cut if the counts next to the position do not match, or the front was not read."""
    read, unread = Counter(old.identities[:split]), Counter(old.identities[split:])
    copies = Counter(new.identities)
    part = HashKeyPart(
        old=(),
        cut=cut,
        surplus=sum(max(0, copies[h] - count) for h, count in (read + unread).items()),
        uncopied=sum((read - copies).values()) if old.at_start else 0,
        identical=bool(read.keys() & unread.keys() & copies.keys()),
    )
    if cut.exactness is not Exactness.EXACT:
        return part
    if part.surplus or part.uncopied or part.identical or not (whole or natives_excluded):
        return replace(part, cut=replace(cut, exactness=Exactness.POSITION_EXACT))
    return part


def _without_records(window: ShardWindow, *, last: bool) -> ShardCut:
    """Cut a shard without records of its hash keys on either stream: it is read from its start."""
    certain = window.whole and window.at_end
    start = 0 if certain else None
    return ShardCut(
        shard=window.shard.partition,
        exactness=Exactness.EXACT if certain else Exactness.UNKNOWN if last else None,
        reason=Reason.EMPTY_LOGS,
        index=start,
        highest=start,
        replay=start,
        foreign_below=start,
        ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0) if certain else Ahead(examined=False),
    )


def _combined(window: ShardWindow, parts: Sequence[HashKeyPart], options: _Request) -> ShardCut:
    number, count = window.shard.partition, len(window.identities)
    if not parts:
        return _without_records(window, last=options.last)
    doubtful = next((part for part in parts if part.cut.exactness is None), None) or next(
        (part for part in parts if part.cut.exactness is Exactness.UNKNOWN), None
    )
    if doubtful is not None:
        return ShardCut(shard=number, exactness=doubtful.cut.exactness, reason=doubtful.cut.reason, parts=tuple(parts))
    worst = max(parts, key=lambda part: _BY_WORTH.index(part.cut.exactness or Exactness.UNKNOWN))
    latest, first = max(part.lag for part in parts), min(part.first(count) for part in parts)
    index = min(latest, first)
    again = sum(part.below - bisect_left(part.at, index) for part in parts if part.lag > index)
    replay = _sum(part.cut.replay for part in parts)
    cut = ShardCut(
        shard=number,
        exactness=worst.cut.exactness,
        reason=worst.cut.reason,
        index=index,
        highest=latest,
        replay=None if replay is None else replay + again,
        foreign_below=_sum(part.cut.foreign_below for part in parts),
        ahead=_ahead(parts),
        parts=tuple(parts),
        interleaved=index < latest,
    )
    highest = max(part.behind_highest for part in parts)
    bounded = replace(cut, exactness=Exactness.BOUNDED, highest=highest)
    by_others = all(part.cut.reason in (Reason.PROVEN, Reason.NATIVE_BELOW) for part in parts)
    if index < highest <= min(part.first_copy(count) for part in parts) and by_others:
        # One position fits all copies; below it are records of other producers, as in a partition.
        foreign = sum(part.between(part.behind_highest, highest) + (part.cut.foreign_below or 0) for part in parts)
        return replace(bounded, reason=Reason.NATIVE_BELOW, foreign_below=foreign, interleaved=False)
    if worst.cut.exactness is Exactness.BOUNDED:
        return bounded
    # If the parts' positions differ and records are between them, the lowest one skips nothing.
    return replace(bounded, reason=Reason.REPLAY_UNAVOIDABLE) if cut.interleaved else cut


def _ahead(parts: Sequence[HashKeyPart]) -> Ahead:
    if not all(part.cut.ahead.examined for part in parts):
        return Ahead(examined=False)
    counts = [part.cut.ahead for part in parts]
    return Ahead(
        examined=True,
        missing=_sum(count.missing for count in counts),
        duplicated=_sum(count.duplicated for count in counts),
        foreign=_sum(count.foreign for count in counts),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    results = [*counts]
    return None if None in results else sum(count for count in results if count is not None)


def _without_keys(
    cuts: Mapping[int, ShardCut], old: Sequence[ShardWindow], new: Sequence[ShardWindow], *, explicit: bool
) -> dict[int, ShardCut]:
    """Lower the exactness if keys do not tell which shard has, or will get, the copy of a record."""
    copies = Counter(identity for window in new for identity in window.identities)
    read = Counter(identity for window in old for identity in window.identities[: window.read])
    unread = Counter(identity for window in old for identity in window.identities[window.read :])
    if any(_not_yet(window, copies) for window in old):
        return {
            number: ShardCut(shard=number, exactness=Exactness.UNKNOWN, reason=Reason.NOT_YET_MIRRORED, parts=cut.parts)
            if cut.exactness is not None
            else cut
            for number, cut in cuts.items()
        }
    to_end = all(window.at_end for window in new)
    nowhere = (sum((read - copies).values()), sum((unread - copies).values())) if to_end else (0, 0)
    known = read + unread
    uneven = explicit or any(copies[identity] != count for identity, count in known.items())
    results = {}
    for number, cut in cuts.items():
        lowered = replace(cut, exactness=Exactness.POSITION_EXACT) if cut.exactness is Exactness.EXACT else cut
        ahead = Ahead(examined=False) if nowhere[1] else cut.ahead
        results[number] = replace(lowered if uneven else cut, ahead=ahead, nowhere=nowhere)
    return results


def _not_yet(window: ShardWindow, copies: Mapping[str, int]) -> bool:
    return bool(window.read) and not any(map(copies.__getitem__, window.identities[window.read - 1 :]))
