"""Mirror health: the newest sync of each partition, the last heartbeat of each flow, and no more than they say."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.clusters.mirror_health import mirror_health
from offsetwise.model import Heartbeat, MirrorState, MirrorTopic, OffsetSync
from tests.clusters.values import TAKEN_MS, log, new, old, topic

SYNCS = "mm2-offset-syncs.new.internal"


def sync(upstream: int, downstream: int, number: int = 0) -> OffsetSync:
    return OffsetSync(topic="orders", partition=number, upstream=upstream, downstream=downstream)


def mirror(*syncs: OffsetSync, newest_ms: int | None = None) -> MirrorState:
    named = MirrorTopic(name=SYNCS, kind="offset-syncs", alias="new", records=len(syncs), newest_ms=newest_ms)
    return MirrorState(topics=(named,), syncs=((SYNCS, syncs),))


def test_mirrored_up_to_is_the_newest_sync_and_what_both_logs_hold_behind_it() -> None:
    health = mirror_health(
        old(topic("orders", [log(0, 100, 1200)]), mirror=mirror(sync(500, 400), sync(1149, 1049), newest_ms=5)),
        new(topic("orders", [log(0, 0, 1090)])),
    )
    (row,) = health.partitions
    assert (row.upstream, row.downstream, row.old_behind, row.new_behind, row.apart) == (1149, 1049, 50, 40, 10)
    assert health.last_sync_ms == 5


def test_of_two_mirrors_with_different_separators_the_migrations_own_is_shown() -> None:
    dashes = "mm2-offset-syncs-new-internal"
    both = MirrorState(
        topics=(
            MirrorTopic(name=dashes, kind="offset-syncs", alias="new", records=1),
            MirrorTopic(name=SYNCS, kind="offset-syncs", alias="new", records=1),
        ),
        syncs=((dashes, (sync(7, 7),)), (SYNCS, (sync(1149, 1049),))),
    )
    seen = old(topic(), mirror=both)
    shown = {
        each: mirror_health(replace(seen, separator=each), new(topic())).partitions[0].upstream for each in (".", "-")
    }
    assert shown == {".": 1149, "-": 7}


def test_the_new_log_is_found_under_its_new_name() -> None:
    health = mirror_health(
        old(topic("orders"), mirror=mirror(sync(1199, 99)), counterparts={"orders": "old.orders"}),
        new(topic("old.orders", [log(0, 0, 100)])),
    )
    assert health.partitions[0].new_behind == 0


def test_a_log_that_was_not_read_leaves_unknown_what_is_behind() -> None:
    (row,) = mirror_health(old(topic(), mirror=mirror(sync(1149, 1049))), None).partitions
    assert (row.old_behind, row.new_behind, row.apart) == (50, None, None)


def test_a_new_log_that_ends_before_the_sync_is_told_as_negative() -> None:
    (row,) = mirror_health(
        old(topic(), mirror=mirror(sync(1149, 1049))), new(topic("orders", [log(0, 0, 1000)]))
    ).partitions
    assert row.new_behind == -50


def test_a_heartbeat_older_than_a_minute_is_stalled() -> None:
    beats = (
        Heartbeat(source="old", target="new", timestamp_ms=TAKEN_MS - 61_000),
        Heartbeat(source="new", target="old", timestamp_ms=TAKEN_MS - 1_000),
    )
    health = mirror_health(old(), new(mirror=MirrorState(heartbeats=beats)))
    assert [(beat.source, beat.age_ms, beat.stalled, beat.ours) for beat in health.beats] == [
        ("old", 61_000, True, True),
        ("new", 1_000, False, False),
    ]


def test_without_any_snapshot_nothing_is_said() -> None:
    health = mirror_health(None, None)
    assert (health.partitions, health.beats, health.topics, health.statements) == ((), (), (), ())
