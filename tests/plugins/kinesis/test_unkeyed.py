"""Positions where keys do not lead to a new shard: topics of partitions, and hash keys that producers name."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from offsetwise.model import Exactness, ShardRange
from offsetwise.plugins.kinesis.stream.matching.hash_keys import ShardWindow
from offsetwise.plugins.kinesis.stream.matching.shards import ShardCut, match
from offsetwise.translation.windows import Reason
from tests.plugins.kinesis.test_shards import KEYS, PROVEN, Log, Pair, generated, stream, window
from tests.with_cases import with_cases

EVERY = 10_000
"""More than any generated shard holds."""


def dealt(pair: Pair, seed: int) -> Log:
    """Deal the copies out to partitions: by their keys, or to any."""
    rng = random.Random(-1 - seed)
    made: Log = {number: [] for number in range(rng.randint(1, 3))}
    to_any = rng.random() < 0.3
    for each in sorted((one for log in pair.new_log.values() for one in log), key=lambda one: one.at):
        made[rng.randrange(len(made)) if to_any else each.key % len(made)].append(each)
    return made


def read(pair: Pair, topic: Log, reach: int) -> tuple[list[ShardWindow], list[ShardWindow], dict[int, int]]:
    """Cut windows out as they are read: records beside the position, and all copies since the oldest of them."""
    ours, since = [], []
    for each in pair.old.all:
        log, split = pair.old_log[each.partition], pair.read[each.partition]
        low, high = max(0, split - reach), min(len(log), split + reach)
        since += [one.at for one in log[low:high][:1]]
        made = window(each, log[low:high], read=split - low)
        ours.append(replace(made, whole=low == 0, at_end=high == len(log)))
    begin = -10 if reach == EVERY else min(since, default=-10)
    theirs, skipped = [], {}
    for number, log in topic.items():
        some = [one for one in log if one.at >= begin]
        skipped[number] = len(log) - len(some)
        whole = window(ShardRange(partition=number, low=0, high=KEYS - 1), some)
        theirs.append(replace(whole, whole=len(some) == len(log)))
    return ours, theirs, skipped


def wrong(pair: Pair, topic: Log, places: dict[int, int], cuts: dict[int, ShardCut]) -> Iterator[str]:
    """Count again, of records that are there once, what each place would skip and repeat."""
    records = [
        (each.identity, at < pair.read[number]) for number, log in pair.old_log.items() for at, each in enumerate(log)
    ]
    often = Counter(identity for identity, _ in records)
    unread = {identity for identity, is_read in records if not is_read and often[identity] == 1}
    known = {identity for identity, is_read in records if is_read and often[identity] == 1}
    ahead = {each.identity for number, place in places.items() for each in topic[number][place:]}
    for number, place in places.items():
        cut, log = cuts[number], topic[number]
        skip = sum(each.identity in unread and each.identity not in ahead for each in log[:place])
        replay = sum(each.identity in known for each in log[place:])
        if skip or (replay and cut.exactness in PROVEN):
            yield f"{number}: {cut.exactness} at {place} skips {skip}, repeats {replay}"
        elif cut.reason is not Reason.NATIVE_BELOW and replay > (EVERY if cut.replay is None else cut.replay):
            yield f"{number}: {cut.exactness} at {place} repeats {replay}, and says {cut.replay}"


@with_cases(("reach", "seeds"), [(4, 250), (16, 250), (EVERY, 250)], ids=str)
@with_cases("explicit", [False, True], ids=["partitions", "hash keys of producers"])
def test_no_proven_place_is_wrong_where_keys_lead_to_no_shard(explicit: bool, reach: int, seeds: int) -> None:
    found: Counter[Exactness | None] = Counter()
    failures = []
    for seed in range(seeds):
        pair = generated(seed, changes=reach == EVERY)
        topic = dealt(pair, seed)
        ours, theirs, skipped = read(pair, topic, reach)
        cuts = match(ours, theirs, explicit=explicit, apart=True)
        found.update(each.exactness for each in cuts.values())
        places = {n: cut.index + skipped[n] for n, cut in cuts.items() if cut.index is not None}
        failures += [f"seed {seed}: {told}" for told in wrong(pair, topic, places, cuts)]
    assert failures == []
    assert found[Exactness.POSITION_EXACT] > 50
    assert found[Exactness.BOUNDED] > 5
    assert (found[Exactness.EXACT] > 50) != explicit


RECORDS = [(f"k{number % 7}", str(number)) for number in range(60)]


def topic_of(*records: tuple[str, str]) -> list[ShardWindow]:
    """Return a topic of one partition."""
    return stream(*records)


def test_two_shards_in_one_partition_are_exact_where_read_records_come_first() -> None:
    old = stream(*RECORDS, shards=2)
    copies = sorted(RECORDS, key=lambda each: " ".join(each) not in _read(old))
    (cut,) = match(old, topic_of(*copies), apart=True).values()

    assert (cut.exactness, cut.index, cut.replay) == (Exactness.EXACT, len(_read(old)), 0)


def test_two_shards_in_one_partition_are_bounded_where_they_lie_interleaved() -> None:
    old = stream(*RECORDS, shards=2, read=(5, 25))
    (cut,) = match(old, topic_of(*RECORDS), apart=True).values()
    first = next(at for at, each in enumerate(RECORDS) if " ".join(each) not in _read(old))

    assert (cut.exactness, cut.interleaved, cut.index) == (Exactness.BOUNDED, True, first)
    assert cut.replay == sum(" ".join(each) in _read(old) for each in RECORDS[first:])


def test_records_that_no_partition_has_are_counted_and_leave_the_rest_unexamined() -> None:
    old = stream(*RECORDS)
    (cut,) = match(old, topic_of(*RECORDS[:7], *RECORDS[8:40], *RECORDS[42:]), apart=True).values()

    assert (cut.exactness, cut.index, cut.nowhere) == (Exactness.POSITION_EXACT, 29, (1, 2))
    assert not cut.ahead.examined


def test_what_is_copied_to_two_partitions_is_never_exact() -> None:
    old = stream(*RECORDS)
    both = [replace(each, shard=replace(each.shard, partition=n)) for n in (0, 1) for each in topic_of(*RECORDS)]
    made = match(old, both, apart=True)

    assert {(each.exactness, each.index) for each in made.values()} == {(Exactness.POSITION_EXACT, 30)}


def test_a_shard_whose_last_read_record_is_not_copied_yet_has_no_place() -> None:
    old = stream(*RECORDS)
    (cut,) = match(old, topic_of(*RECORDS[:29]), apart=True).values()

    assert (cut.exactness, cut.reason) == (Exactness.UNKNOWN, Reason.NOT_YET_MIRRORED)


def _read(old: list[ShardWindow]) -> set[str]:
    return {identity for each in old for identity in each.identities[: each.read]}
