"""The way back: a job that has committed on the new cluster goes on, on the old one, and counts every record once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab import Lab, Policy
from offsetwise.lab.mirrors import offsets_topic
from offsetwise.lab.progress import partitions_behind
from tests.commands import call
from tests.integration.moving import GONE, Job, Move, Moving, Orders, Scene, counted, create, key_of, tree

RETURNED: Final = "end-to-end-returned"
BACK: Final = "returned-back"
WRITTEN: Final = 250
"""How many records of each partition the old cluster holds, retained or not, when producers move to the new one."""
NEW_ONLY: Final = 40
"""How many of each partition the job then read that only the new cluster had."""

pytestmark = pytest.mark.timeout(1_800)


@pytest.fixture(scope="module")
def returned(lab: Lab, scene: Scene) -> Orders:
    """A topic whose mirror has ended, so that producers may write to the new cluster and be mirrored back."""
    orders = Orders(lab, topic=RETURNED)
    orders.begin()
    orders.write(WRITTEN - max(GONE.values()))
    create(lab.new_bootstrap, RETURNED)
    copy_records(lab.old_bootstrap, lab.new_bootstrap, WRITTEN)
    assert scene, "the session is there"
    return orders


def copy_records(origin: str, to: str, end: int) -> None:
    """Copy what is retained of every partition, as a mirror does."""
    consumer = Consumer({"bootstrap.servers": origin, "group.id": "unused", "enable.partition.eof": True})
    producer = Producer({"bootstrap.servers": to, "enable.idempotence": True, "log_level": 2})
    for partition in GONE:
        consumer.assign([TopicPartition(RETURNED, partition, OFFSET_BEGINNING)])
        copied = -1
        while copied < end - 1:
            message = consumer.poll(30)
            assert message is not None
            assert message.error() is None, message.error()
            copied = message.offset() or 0
            stamp = message.timestamp()[1]
            producer.produce(RETURNED, message.value(), message.key(), partition=partition, timestamp=stamp)
    assert producer.flush(30) == 0
    consumer.close()


def produce_to_new(lab: Lab, count: int, *, first: int) -> list[int]:
    """Let producers that have moved write records with serials that no other record has."""
    producer = Producer({"bootstrap.servers": lab.new_bootstrap, "enable.idempotence": True, "log_level": 2})
    serials = []
    for partition in GONE:
        for number in range(count):
            serials.append(100_000 + 2 * (first + number) + partition)
            key, value = key_of(serials[-1]), str(serials[-1])
            producer.produce(RETURNED, key=key, value=value, partition=partition)
    assert producer.flush(30) == 0
    return serials


@contextmanager
def mirrored_back(lab: Lab) -> Iterator[None]:
    """Run MirrorMaker from the new cluster to the old one, told by its stored offsets to begin behind the copies.

    It is what an operator does by altering the connector's offsets: from earliest it would copy the copies back.
    """
    create_compacted(lab.old_bootstrap, offsets_topic(BACK))
    producer = Producer({"bootstrap.servers": lab.old_bootstrap, "log_level": 2})
    for partition, gone in GONE.items():
        place = {"cluster": "new", "partition": partition, "topic": RETURNED}
        key = json.dumps(["MirrorSourceConnector", place], separators=(",", ":"))
        producer.produce(offsets_topic(BACK), key=key, value=json.dumps({"offset": WRITTEN - gone - 1}))
    assert producer.flush(30) == 0
    settings = {"old->new.enabled": "false", "new->old.enabled": "true", "new->old.topics": RETURNED}
    lab.start_mirror(Policy.IDENTITY, topics=["none"], name=BACK, settings=settings)
    try:
        yield
    finally:
        lab.stop_mirror(BACK)


def create_compacted(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    for made in admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})]).values():
        made.result(30)


def wait_until_mirrored_back(lab: Lab) -> None:
    end = time.monotonic() + 180
    sides = {"old": lab.new_bootstrap, "new": lab.old_bootstrap}
    while behind := partitions_behind([RETURNED], offsets_topic=offsets_topic(BACK), **sides):
        assert time.monotonic() < end, behind
        time.sleep(0.25)


def applied(move: Move) -> dict[str, Any]:
    """Draft, sign and apply a copy; give the plan."""
    plan = move.draft("spark-checkpoint")
    move.sign()
    move.apply("--output", str(move.copy), "--execute")
    assert move.verify() == (0, {"CONFIRMED"}, False)
    return plan


@pytest.mark.gates
def test_a_job_goes_back_to_the_old_cluster_and_counts_every_record_exactly_once(scene: Scene, moving: Moving) -> None:
    clean, checkpoint = scene.clean
    there, move = clean.restarted(), moving(checkpoint)
    used = move.copy
    applied(move)
    scene.orders.arrive(50)
    there.run(scene.orders.lab.new_bootstrap, used)
    left = tree(used)

    back, again = moving(used, back=True), there.restarted()
    positions = applied(back)["positions"]
    assert {each["partition"]: int(each["new_offset"]) - int(each["old_offset"]) for each in positions} == GONE
    scene.orders.arrive(50)
    again.run(scene.orders.lab.old_bootstrap, back.copy)

    assert again.counts == scene.orders.truth()
    assert again.seen[0] == there.seen[-1] + 1, "batch ids go on, so that the sink takes them"
    assert back.verify() == (0, {"MOVED_ON"}, True)
    assert tree(used) == left, "the new job's checkpoint is as it was"


def test_records_that_only_the_new_cluster_had_are_waited_for_and_counted_once(
    returned: Orders, scene: Scene, moving: Moving, tmp_path: Path
) -> None:
    lab, job = returned.lab, Job(spark=scene.clean[0].spark)
    job.run(lab.old_bootstrap, tmp_path / "orders", topic=RETURNED)
    move = moving(tmp_path / "orders")
    used = move.copy
    applied(move)
    only_new = produce_to_new(lab, NEW_ONLY, first=0)
    there = job.restarted()
    there.run(lab.new_bootstrap, used, topic=RETURNED)
    retained = [serial for (partition, at), serial in returned.by_offset.items() if at >= GONE[partition]]
    assert there.counts == counted([*retained, *only_new])

    back, again = moving(used, back=True), there.restarted()
    drafting = ("draft", "-m", back.migration, "--checkpoint", "orders", "--target", "spark-checkpoint")
    refused = call(*drafting, "--author", "ada", "--out", back.plan, "--json").refused()
    assert "The copy of the last record the job read is not on end-to-end-returned-0 yet" in refused["problem"]
    assert not back.plan.exists()

    with mirrored_back(lab):
        wait_until_mirrored_back(lab)
        applied(back)
        later = produce_to_new(lab, 10, first=NEW_ONLY)
        wait_until_mirrored_back(lab)
    again.run(lab.old_bootstrap, back.copy, topic=RETURNED)

    assert again.counts == counted([*retained, *only_new, *later])
    assert again.seen[0] == there.seen[-1] + 1
