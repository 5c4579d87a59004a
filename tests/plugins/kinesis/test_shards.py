"""Positions on another stream with other shards: generated streams whose right answer is known."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import md5

from offsetwise.model import Exactness, ShardRange
from offsetwise.plugins.kinesis.stream.matching.hash_keys import ShardWindow, is_explicit
from offsetwise.plugins.kinesis.stream.matching.shards import ShardCut, match
from offsetwise.translation.content import decide
from offsetwise.translation.windows import LogWindow, Reason
from tests.with_cases import with_cases

KEYS = 2**128
PROVEN = (Exactness.EXACT, Exactness.POSITION_EXACT)


@dataclass(frozen=True)
class Record:
    key: int
    data: bytes
    at: float
    """When it arrived."""
    shard: int = 0
    unread: bool = False
    foreign: bool = False

    @property
    def identity(self) -> str:
        return self.data.decode()


Log = dict[int, list[Record]]


def divided(count: int, rng: random.Random, *, first: int = 0) -> list[ShardRange]:
    inner = sorted(rng.randrange(1, KEYS) for _ in range(count - 1))
    lows, highs = [0, *inner], [*(each - 1 for each in inner), KEYS - 1]
    pairs = zip(lows, highs, strict=True)
    return [ShardRange(partition=first + n, low=low, high=high) for n, (low, high) in enumerate(pairs)]


def resharded(shards: list[ShardRange], rng: random.Random) -> list[ShardRange]:
    """Split a shard, or merge two: the shards that are made."""
    number = len(shards)
    if len(shards) > 1 and rng.random() < 0.5:
        at = rng.randrange(len(shards) - 1)
        left, right = shards[at : at + 2]
        parents = (left.partition, right.partition)
        return [ShardRange(partition=number, low=left.low, high=right.high, parents=parents)]
    one = rng.choice(shards)
    middle = rng.randrange(one.low + 1, one.high)
    return [
        ShardRange(partition=number, low=one.low, high=middle - 1, parents=(one.partition,)),
        ShardRange(partition=number + 1, low=middle, high=one.high, parents=(one.partition,)),
    ]


@dataclass
class Stream:
    shards: list[ShardRange]
    children: list[ShardRange]
    at: float
    """When it was resharded."""

    @classmethod
    def of(cls, rng: random.Random, at: float, *, reshards: bool) -> Stream:
        shards = divided(rng.randint(1, 4), rng)
        return cls(shards, resharded(shards, rng) if reshards else [], at)

    @property
    def all(self) -> list[ShardRange]:
        closed = {parent for each in self.children for parent in each.parents}
        return [*(replace(each, closed=each.partition in closed) for each in self.shards), *self.children]

    def holds(self, key: int, at: float) -> int:
        late = [each for each in self.children if at >= self.at and each.low <= key <= each.high]
        return (late or [each for each in self.shards if each.low <= key <= each.high])[0].partition

    def log(self, records: Sequence[Record]) -> Log:
        made: Log = {each.partition: [] for each in self.all}
        for each in sorted(records, key=lambda one: one.at):
            made[self.holds(each.key, each.at)].append(each)
        return made


@dataclass
class Pair:
    """Two streams, and where the job is in the old one."""

    old: Stream
    new: Stream
    old_log: Log
    new_log: Log
    read: dict[int, int]
    changed: bool
    """Whether the copy differs: a record is missing, there twice, or in another order."""


def hashed(text: str) -> int:
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest())


def generated(seed: int, *, changes: bool = True) -> Pair:
    rng = random.Random(seed)
    count = rng.choice((0, 6, 40, 200))
    middle = count / 2
    old = Stream.of(rng, rng.uniform(0, count), reshards=rng.random() < 0.3)
    new = Stream.of(rng, rng.uniform(0, count), reshards=rng.random() < 0.3)
    keys = [f"k{number}" for number in range(rng.choice((1, 3, 50)))]
    same = rng.random() < 0.1
    records = []
    for number in range(count):
        key = rng.choice(keys)
        data = key if same else f"{key} {number if rng.random() < 0.95 else 'heartbeat'}"
        records.append(Record(hashed(key), data.encode(), number))
    log = old.log(records)
    spread = rng.choice((0, 3, 30))
    until = {each.partition: middle + rng.uniform(-spread, spread) for each in old.all}
    read = {}
    for each in old.all:
        parents = [until[parent] for parent in each.parents]
        stopped = any(at < old.at for at in parents)
        ends = each.closed and rng.random() < 0.5
        until[each.partition] = -1 if stopped else count if ends else max([until[each.partition], *parents])
        read[each.partition] = sum(one.at < until[each.partition] for one in log[each.partition])
    copies: list[Record] = []
    delay = {each.partition: rng.uniform(0, rng.choice((0.1, 20))) for each in old.all}
    for shard, some in log.items():
        late = delay[shard] / 100
        copies += [replace(one, shard=shard, unread=at >= read[shard], at=one.at + late) for at, one in enumerate(some)]
    changed = changes and count > 0 and rng.random() < 0.5
    for _ in range(rng.randint(1, 2) if changed else 0):
        at = rng.randrange(len(copies)) if copies else 0
        match rng.choice(("missing", "twice", "swapped", "foreign")) if copies else "":
            case "missing":
                copies.pop(at)
            case "twice":
                copies.append(replace(copies[at], at=copies[at].at + rng.uniform(0, 5)))
            case "swapped":
                other = rng.randrange(len(copies))
                first, second = copies[at], copies[other]
                copies[at], copies[other] = replace(first, at=second.at), replace(second, at=first.at)
            case "foreign":
                copies.append(Record(hashed("f"), b"foreign", rng.uniform(0, count), foreign=True))
    front = rng.choice((0, 0, 13))
    copies += [Record(hashed(f"f{n}"), b"front %d" % n, -5 + n / 100, foreign=True) for n in range(front)]
    return Pair(old, new, log, new.log(copies), read, changed)


def whole(pair: Pair) -> tuple[list[ShardWindow], list[ShardWindow]]:
    return (
        [window(each, pair.old_log[each.partition], read=pair.read[each.partition]) for each in pair.old.all],
        [window(each, pair.new_log[each.partition]) for each in pair.new.all],
    )


def window(shard: ShardRange, records: Sequence[Record], *, read: int = 0) -> ShardWindow:
    return ShardWindow(
        shard=shard,
        identities=[each.identity for each in records],
        keys=[each.key for each in records],
        read=read,
    )


def around(pair: Pair, reach: int) -> tuple[list[ShardWindow], list[ShardWindow], dict[int, int]]:
    """Cut windows out as they are read: records beside the position, and the copies that came since the oldest."""
    ours, since, until = [], [], []
    for each in pair.old.all:
        log, read = pair.old_log[each.partition], pair.read[each.partition]
        low, high = max(0, read - reach), min(len(log), read + reach)
        some = log[low:high]
        since += [one.at for one in some[:1]]
        until += [one.at for one in some[-1:]]
        made = window(each, some, read=read - low)
        ours.append(replace(made, whole=low == 0, at_end=high == len(log)))
    theirs, skipped = [], {}
    begin, end = min(since, default=-10), max(until, default=0) + 1
    for each in pair.new.all:
        log = pair.new_log[each.partition]
        some = [one for one in log if begin <= one.at <= end]
        skipped[each.partition] = sum(one.at < begin for one in log)
        made = window(each, some)
        theirs.append(replace(made, whole=len(some) == len(log), at_end=not log or log[-1].at <= end))
    return ours, theirs, skipped


def counts(pair: Pair, shard: int, place: int) -> tuple[int, int, int]:
    """Count what a place would skip, repeat, and leave of other writers below it and behind the first copy."""
    log, (shape,) = pair.new_log[shard], (each for each in pair.new.all if each.partition == shard)
    inside = [
        (each.identity, at < pair.read[number])
        for number, some in pair.old_log.items()
        for at, each in enumerate(some)
        if shape.low <= each.key <= shape.high
    ]
    often = Counter(identity for identity, _ in inside)
    if pair.new.children:  # of identical records nothing tells which shard of a line a copy of which one is in
        inside = [(identity, is_read) for identity, is_read in inside if often[identity] == 1]
    unread = Counter(identity for identity, is_read in inside if not is_read)
    known = {identity for identity, _ in inside}
    held, above = Counter(each.identity for each in log), Counter(each.identity for each in log[place:])
    # Other shards of the same line may hold copies as well: only what was copied here counts.
    mine = Counter(each.identity for each in log if each.unread)
    skip = sum(max(0, min(count, held[h], mine[h]) - above[h]) for h, count in unread.items())
    replay = sum(max(0, count - unread[h]) for h, count in above.items() if h in known)
    first = next((n for n, each in enumerate(log) if each.identity in known), len(log))
    return skip, replay, sum(each.foreign for each in log[first:place])


def check(pair: Pair, cut: ShardCut, place: int, seed: int) -> None:
    skip, replay, _ = counts(pair, cut.shard, place)
    assert skip == 0, seed
    if cut.exactness in PROVEN:
        assert replay == 0, seed
    if cut.replay is not None:
        assert replay <= cut.replay, seed


@with_cases("seeds", [range(at, at + 150) for at in (0, 150, 300)], ids=str)
def test_no_proven_place_is_wrong_and_no_bound_misses_a_record(seeds: Sequence[int]) -> None:
    found: Counter[Exactness | None] = Counter()
    for seed in seeds:
        pair = generated(seed)
        for cut in match(*whole(pair)).values():
            found[cut.exactness] += 1
            if cut.index is not None:
                check(pair, cut, cut.index, seed)
    assert found[Exactness.EXACT] > 50
    assert found[Exactness.BOUNDED] > 10
    assert None not in found


def test_windows_give_no_wrong_place_either() -> None:
    found: Counter[Exactness | None] = Counter()
    for seed in range(300):
        pair = generated(seed, changes=False)
        for reach in (4, 16):
            ours, theirs, skipped = around(pair, reach)
            for cut in match(ours, theirs, last=reach > 4).values():
                found[cut.exactness] += 1
                if cut.index is not None:
                    check(pair, cut, cut.index + skipped[cut.shard], seed)
    assert found[Exactness.POSITION_EXACT] > 50
    assert found[None] > 10


def stream(*records: tuple[str, str], shards: int = 1, read: Sequence[int] = (), move: int = 0) -> list[ShardWindow]:
    """Make shards of equal hash ranges, in which these keys and data are."""
    size = KEYS // shards
    ranges = [ShardRange(partition=n + move, low=n * size, high=(n + 1) * size - 1) for n in range(shards)]
    ranges[-1] = replace(ranges[-1], high=KEYS - 1)
    logs = [[each for each in records if one.low <= hashed(each[0]) <= one.high] for one in ranges]
    return [
        ShardWindow(
            shard=one,
            identities=[f"{key} {data}" for key, data in log],
            keys=[hashed(key) for key, _ in log],
            read=(read or [len(log) // 2 for log in logs])[n],
        )
        for n, (one, log) in enumerate(zip(ranges, logs, strict=True))
    ]


RECORDS = [(f"k{number % 7}", str(number)) for number in range(60)]
FOREIGN = [(f"f{number}", "") for number in range(13)]


def test_two_shards_become_three_behind_thirteen_records_of_others() -> None:
    old = stream(*RECORDS, shards=2)
    copies = sorted(RECORDS, key=lambda each: _unread(old, each))
    new = stream(*FOREIGN, *copies, shards=3)

    made = match(old, new)

    assert {each.exactness for each in made.values()} <= set(PROVEN)
    for one in new:
        cut = made[one.shard.partition]
        assert cut.index == sum(each.startswith("f") for each in one.identities) + sum(
            not _unread(old, (each.split()[0], each.split()[1])) for each in one.identities if each.startswith("k")
        )
        assert (cut.replay, cut.foreign_below) == (0, 0)


def _unread(old: Sequence[ShardWindow], record: tuple[str, str]) -> bool:
    identity = " ".join(record)
    return any(list(each.identities).index(identity) >= each.read for each in old if identity in each.identities)


def swapped(records: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [*records[:29], records[30], records[29], *records[31:]]


@with_cases(
    ("change", "exactness", "replay"),
    [
        (swapped, Exactness.BOUNDED, 1),
        (lambda some: [*some[:5], some[4], *some[5:]], Exactness.POSITION_EXACT, 0),
        (lambda some: [*some[:40], some[4], *some[40:]], Exactness.BOUNDED, 1),
        (lambda some: [*some[:40], *some[41:]], Exactness.POSITION_EXACT, 0),
        (lambda some: [*some[:5], *some[6:]], Exactness.POSITION_EXACT, 0),
        (lambda some: some, Exactness.EXACT, 0),
    ],
    ids=["swapped", "read twice", "read again ahead", "unread missing", "read missing", "as it is"],
)
def test_a_copy_that_differs_is_never_exact(
    change: Callable[[list[tuple[str, str]]], list[tuple[str, str]]], exactness: Exactness, replay: int
) -> None:
    one = [("k", str(number)) for number in range(60)]
    made = match(stream(*one), stream(*change(one)))

    assert (made[0].exactness, made[0].replay) == (exactness, replay)


def test_identical_records_are_counted_and_never_exact() -> None:
    same = [("k", "x")] * 10

    # Without a record to tell them by, the last copies may be second ones of a writer that has others yet to write.
    assert match(stream(*same), stream(*same))[0].exactness is Exactness.BOUNDED
    assert match(stream(*same), stream(*same))[0].index == 5
    assert match(stream(*same), stream(*same, *same[:1]))[0].exactness is Exactness.BOUNDED
    assert match(stream(*same), stream(*same[:9]))[0].exactness is Exactness.BOUNDED


def test_several_shards_in_one_are_bounded_where_their_records_lie_interleaved() -> None:
    old = stream(*RECORDS, shards=2, read=(5, 25))
    (cut,) = match(old, stream(*RECORDS)).values()

    assert (cut.exactness, cut.interleaved) == (Exactness.BOUNDED, True)
    read = [each for each in RECORDS if not _unread(old, each)]
    first = next(at for at, each in enumerate(RECORDS) if each not in read)
    assert cut.index == first
    assert cut.replay == sum(each in read for each in RECORDS[first:])


@with_cases("seed", range(40))
def test_records_of_others_between_copies_are_counted_as_in_a_partition(seed: int) -> None:
    rng = random.Random(seed)
    old = stream(*RECORDS, shards=rng.choice((2, 3)), read=[rng.randint(1, 12) for _ in range(3)])
    read, unread = ([each for each in RECORDS if _unread(old, each) is late] for late in (False, True))
    copies = [*read, *unread]
    for _ in range(rng.randint(1, 3)):
        copies.insert(rng.randint(len(read) // 2, len(copies)), FOREIGN[rng.randrange(13)])
    identities = [" ".join(each) for each in copies]

    (cut,) = match(old, stream(*copies)).values()
    as_partition = decide(len(read), _log([" ".join(each) for each in (*read, *unread)]), _log(identities), last=True)

    assert not any(each.leading for each in cut.parts), "what lies before all copies is told of apart"
    assert not cut.interleaved
    assert cut.exactness == as_partition.exactness
    assert (cut.index, cut.highest, cut.replay) == (as_partition.lo, as_partition.hi, as_partition.replay)
    assert cut.foreign_below == as_partition.foreign_below


def _log(identities: Sequence[str]) -> LogWindow:
    return LogWindow(
        start=0,
        end=len(identities),
        at_start=True,
        at_end=True,
        offsets=range(len(identities)),
        identities=identities,
    )


def test_with_hash_keys_of_the_producers_records_tell_their_shard() -> None:
    old = stream(*RECORDS, shards=2)
    ranges = [each.shard for each in stream(shards=2)]
    copies = sorted(RECORDS, key=lambda each: _unread(old, each))
    new = [
        ShardWindow(
            shard=one,
            identities=[f"{key} {data}" for key, data in copies[at::2]],
            keys=[hashed(key) for key, _ in copies[at::2]],
        )
        for at, one in enumerate(ranges)
    ]

    assert is_explicit(new)
    made = match(old, new, explicit=True)
    assert {each.exactness for each in made.values()} == {Exactness.POSITION_EXACT}
    for at, one in enumerate(made.values()):
        assert one.index == sum(not _unread(old, each) for each in copies[at::2])


def test_what_is_not_copied_yet_has_no_place_and_empty_shards_begin_at_their_oldest_record() -> None:
    one = [("k", str(number)) for number in range(20)]

    assert match(stream(*one), stream(*one[:4]))[0].reason is Reason.NOT_YET_MIRRORED
    assert match(stream(*one), stream())[0].exactness is Exactness.UNKNOWN
    (empty,) = match(stream(), stream()).values()
    assert (empty.exactness, empty.index) == (Exactness.EXACT, 0)
