"""The cluster reader against the lab's brokers and a real MirrorMaker."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    NewTopic,
    OffsetSpec,
)

from offsetwise.lab import Lab
from offsetwise.model import Cluster, LogRange, Snapshot, TopicPartition
from offsetwise.plugins.kafka.stream import logs
from offsetwise.plugins.kafka.stream.client import Client, RequestCounter
from offsetwise.plugins.kafka.stream.logs import offsets_for_times
from offsetwise.plugins.kafka.stream.snapshot import CONFIGS
from offsetwise.translation.mirror import Flow, SyncIndex, find_flow, mirror_candidates, mm2_answer
from tests.integration.clusters import FIRST_MS, commit, config, create, fill, read, take_snapshot, trim

ANY_OFFSET: Any = OffsetSpec  # its constructors have no types
MIRROR_LIMIT_S = 180
CENTURY_MS = "3155760000000"
"""A retention that the broker, which looks every second, does not apply to the records of a test."""


def test_a_snapshot_says_where_every_log_begins_and_ends(lab: Lab) -> None:
    create(lab.old_bootstrap, NewTopic("reader-logs", 3, config={"retention.ms": CENTURY_MS}))
    fill(lab.old_bootstrap, "reader-logs", {0: 10, 1: 20})
    trim(lab.old_bootstrap, "reader-logs", 0, 4)
    snapshot = read(config(lab.old_bootstrap), "reader-logs")
    (topic,) = snapshot.topics
    assert [(p.log_start, p.lso, p.hw) for p in topic.partitions] == [(4, 10, 10), (0, 20, 20), (0, 0, 0)]
    assert {(p.leader, p.leader_epoch, p.error) for p in topic.partitions} == {(1, 0, None)}
    assert dict(topic.config)["retention.ms"] == CENTURY_MS
    assert [name for name, _ in topic.config] == list(CONFIGS)
    assert topic.id
    assert len(topic.id) == 22
    assert snapshot.cluster_id
    assert snapshot.problems == ()


def test_an_open_transaction_keeps_the_last_stable_offset_back(lab: Lab) -> None:
    create(lab.old_bootstrap, NewTopic("reader-open", 1))
    fill(lab.old_bootstrap, "reader-open", {0: 5})
    producer = Producer({"bootstrap.servers": lab.old_bootstrap, "transactional.id": "reader-open"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("reader-open", "x", partition=0)
    producer.flush()
    partition = read(config(lab.old_bootstrap), "reader-open").topics[0].partitions[0]
    assert (partition.lso, partition.hw) == (5, 6)
    producer.abort_transaction()


def test_groups_have_states_and_offsets_and_absent_ones_are_dead(lab: Lab) -> None:
    create(lab.old_bootstrap, NewTopic("reader-groups", 2))
    fill(lab.old_bootstrap, "reader-groups", {0: 5, 1: 5})
    commit(lab.old_bootstrap, "reader-done", "reader-groups", {0: 3, 1: 5})
    member = Consumer({"bootstrap.servers": lab.old_bootstrap, "group.id": "reader-live"})
    member.subscribe(["reader-groups"])
    end = time.monotonic() + 20
    while not member.assignment() and time.monotonic() < end:
        member.poll(0.1)
    snapshot = read(config(lab.old_bootstrap), "reader-groups", groups=("reader-live", "reader-done", "reader-never"))
    member.close()
    done, live, never = snapshot.groups
    assert (done.state, live.state, never.state) == ("Empty", "Stable", "Dead")
    assert [(o.topic, o.partition, o.offset) for o in done.offsets] == [
        ("reader-groups", 0, 3),
        ("reader-groups", 1, 5),
    ]
    assert never.offsets == ()


def test_one_group_of_each_coordinator_is_described_for_all(lab: Lab) -> None:
    create(lab.old_bootstrap, NewTopic("reader-many-groups", 1))
    commit(lab.old_bootstrap, "reader-g-0", "reader-many-groups", {0: 3})
    names = tuple(f"reader-g-{number}" for number in range(300))
    counted = []
    for _ in range(2):
        counter = RequestCounter()
        taken = take_snapshot(Cluster.OLD, config(lab.old_bootstrap), topics=(), groups=names, counter=counter)
        counted.append(counter.by_type)
    assert [group.name for group in taken.groups] == sorted(names)
    assert [(group.name, one.offset) for group in taken.groups for one in group.offsets] == [("reader-g-0", 3)]
    # The lab's brokers have one partition for all groups, and 300 are two shares.
    assert min(each["DescribeGroups"] for each in counted) == 2


def test_timestamps_give_the_first_offset_at_or_after_them(lab: Lab) -> None:
    create(lab.old_bootstrap, NewTopic("reader-times", 1))
    fill(lab.old_bootstrap, "reader-times", {0: 10})
    asked = TopicPartition(topic="reader-times", partition=0)
    unknown = TopicPartition(topic="reader-times", partition=7)
    cluster = config(lab.old_bootstrap)
    assert offsets_for_times(cluster, {asked: FIRST_MS + 3500, unknown: 0}) == {asked: 4, unknown: None}
    assert offsets_for_times(cluster, {asked: FIRST_MS + 999_000}) == {asked: None}


def test_requests_do_not_grow_with_partitions(lab: Lab) -> None:
    create(lab.old_bootstrap, NewTopic("reader-narrow", 1))
    create(lab.old_bootstrap, NewTopic("reader-wide", 60))
    assert requests(lab, "reader-narrow") == requests(lab, "reader-wide") == {"ListOffsets": 3, "DescribeConfigs": 1}


def test_shares_of_many_partitions_make_the_same_snapshot_with_a_bounded_number_of_requests(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(lab.old_bootstrap, NewTopic("reader-shared", 61))
    fill(lab.old_bootstrap, "reader-shared", {0: 3, 60: 4})
    whole = settled(lab, "reader-shared").topics
    monkeypatch.setattr(logs, "PARTITIONS_PER_CALL", 1)
    assert requests(lab, "reader-shared")["ListOffsets"] == 3 * logs.CALLS
    assert read(config(lab.old_bootstrap), "reader-shared").topics == whole
    assert (whole[0].partitions[0].hw, whole[0].partitions[60].hw) == (3, 4)


def settled(lab: Lab, topic: str) -> Snapshot:
    """Read a topic just made until all its leaders answer."""
    end = time.monotonic() + 20
    while (taken := read(config(lab.old_bootstrap), topic)).problems and time.monotonic() < end:
        time.sleep(0.1)
    return taken


def requests(lab: Lab, topic: str) -> dict[str, int]:
    """Count what one reading takes: the least of several, as librdkafka asks again where leaders still move."""
    settled(lab, topic)
    counted = []
    for _ in range(4):
        counter = RequestCounter()
        take_snapshot(Cluster.OLD, config(lab.old_bootstrap), topics=(topic,), groups=(), mirror=False, counter=counter)
        counted.append(counter.by_type)
    # Not counted: Metadata, which librdkafka also refreshes by the clock.
    return {name: min(each[name] for each in counted) for name in ("ListOffsets", "DescribeConfigs")}


def test_one_future_for_all_partitions_carries_what_the_librarys_many_do(lab: Lab) -> None:
    """Notices a confluent-kafka whose inner call has changed."""
    create(lab.old_bootstrap, NewTopic("reader-together", 3))
    fill(lab.old_bootstrap, "reader-together", {0: 10, 1: 20})
    trim(lab.old_bootstrap, "reader-together", 0, 4)
    producer = Producer({"bootstrap.servers": lab.old_bootstrap, "transactional.id": "reader-together"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("reader-together", "x", partition=2)
    producer.flush()
    places = [("reader-together", number) for number in (0, 1, 2, 9)]
    specs: list[tuple[int, Any]] = [
        (logs.EARLIEST, ANY_OFFSET.earliest()),
        (logs.LATEST, ANY_OFFSET.latest()),
        (FIRST_MS + 3_500, ANY_OFFSET.for_timestamp(FIRST_MS + 3_500)),
        (FIRST_MS * 2, ANY_OFFSET.for_timestamp(FIRST_MS * 2)),
    ]
    admin = Client(config(lab.old_bootstrap), timeout_s=20).admin
    said = {}
    for number, spec in specs:
        for isolation in IsolationLevel:
            committed = isolation is IsolationLevel.READ_COMMITTED
            parts = [KafkaPartition(*place, number) for place in places]
            ours = admin.list_offsets_together(parts, committed=committed, timeout_s=20).result()
            theirs = admin.list_offsets({KafkaPartition(*place): spec for place in places}, isolation_level=isolation)
            assert {(at.topic, at.partition) for at in ours} == set(places)
            for at, future in theirs.items():
                assert fields(ours[at]) == fields(future.exception() or future.result())
            said[number, committed] = [fields(ours[KafkaPartition(*place)])[0] for place in places]
    producer.abort_transaction()
    assert said[logs.EARLIEST, False][:3] == [4, 0, 0]
    assert said[logs.LATEST, False][:3] == [10, 20, 1]
    assert said[logs.LATEST, True][:3] == [10, 20, 0]
    assert said[FIRST_MS + 3_500, False][:2] == [4, 4]
    assert said[logs.LATEST, False][3] == KafkaError._UNKNOWN_PARTITION


def fields(told: Any) -> tuple[int | None, ...]:
    error = told.args[0] if isinstance(told, KafkaException) else told
    return (error.code(),) if isinstance(error, KafkaError) else (told.offset, told.timestamp, told.leader_epoch)


def flow_of(lab: Lab, topic: str) -> tuple[Flow, LogRange]:
    old = take_snapshot(Cluster.OLD, config(lab.old_bootstrap), topics=(topic,), groups=())
    new = take_snapshot(Cluster.NEW, config(lab.new_bootstrap), topics=(topic,), groups=())
    assert all(each.undecodable == 0 and each.error is None for each in (*old.mirror.topics, *new.mirror.topics))
    log = new.topics[0].partitions[0]
    flow = find_flow(old.mirror, new.mirror, source_alias="old", target_alias="new")
    return flow, LogRange(log_start=log.log_start, lso=log.lso, hw=log.hw)


def last_sync(lab: Lab, topic: str) -> int:
    return max((sync.upstream for sync in flow_of(lab, topic)[0].syncs if sync.topic == topic), default=-1)


def test_the_reader_agrees_with_a_running_mirrormaker(lab: Lab) -> None:
    topic, positions = "reader-mirrored", (100, 150, 500, 1000, 1050, 1199, 1200)
    create(lab.old_bootstrap, NewTopic(topic, 1))
    fill(lab.old_bootstrap, topic, {0: 1200})
    trim(lab.old_bootstrap, topic, 0, 100)
    name = lab.start_mirror("identity", topics=[topic], name="reader")
    try:
        lab.wait_until_mirrored([topic], mirror=name)
        end = time.monotonic() + MIRROR_LIMIT_S
        # The sync of the last record is written when MirrorMaker next stores its offsets, every second here.
        while last_sync(lab, topic) < 1199 and time.monotonic() < end:
            time.sleep(0.2)
        # MirrorMaker never lowers a checkpoint, so only groups that are new now get what its store says now.
        for position in positions:
            commit(lab.old_bootstrap, f"reader-at-{position}", topic, {0: position})
        end, theirs = time.monotonic() + MIRROR_LIMIT_S, dict[int, int]()
        while theirs.keys() != set(positions) and time.monotonic() < end:
            time.sleep(0.5)
            flow, new = flow_of(lab, topic)
            theirs = {c.upstream: c.downstream for c in flow.checkpoints if c.group.startswith("reader-at-")}
        ours = {position: mm2_answer(position, topic, 0, flow.syncs) for position in positions}
    finally:
        lab.stop_mirror(name)
    assert theirs == ours
    index = SyncIndex.of(flow.syncs)
    for position in positions:
        found = mirror_candidates(position, topic, 0, index, (), topic, new)
        bracket = next(candidate for candidate in found if not candidate.guess)
        assert bracket.lo is not None
        assert bracket.hi is not None
        assert (ours[position] or 0) <= bracket.lo <= position - 100 <= bracket.hi
