"""A consumer group moved by a plan, on a real lab: drafted, signed, applied, verified, and taken back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from offsetwise.lab import Lab
from tests.commands import Ran, call
from tests.integration.topics import copies, create, produce

CLICKS, VIEWS = "moved-clicks", "moved-views"
N = 300
PLACES = {CLICKS: 250, VIEWS: 120}
"""The next record to read on the old cluster."""
SHIFTS = {CLICKS: -100, VIEWS: 0}
"""What the mirror's copy of the old log begins without."""
EARLIER = {CLICKS: 5, VIEWS: 7}
"""What somebody had committed on the new cluster before."""


@pytest.fixture(scope="module")
def topics(lab: Lab) -> dict[str, int]:
    create(lab.old_bootstrap, CLICKS, VIEWS)
    create(lab.new_bootstrap, CLICKS, VIEWS)
    produce(lab.old_bootstrap, {CLICKS: copies(0, N), VIEWS: copies(0, N)})
    produce(lab.new_bootstrap, {CLICKS: copies(100, N), VIEWS: copies(0, N)})
    return {topic: place + SHIFTS[topic] for topic, place in PLACES.items()}


def commit(bootstrap: str, group: str, offsets: dict[str, int], metadata: str = "") -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(t, 0, o, metadata) for t, o in offsets.items()], asynchronous=False)
    consumer.close()


def committed(bootstrap: str, group: str) -> dict[str, tuple[int, str]]:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    request = [ConsumerGroupTopicPartitions(group)]
    answer = admin.list_consumer_group_offsets(request)[group].result(30)
    return {one.topic: (one.offset, one.metadata or "") for one in answer.topic_partitions if one.offset >= 0}


@contextmanager
def member(bootstrap: str, group: str) -> Iterator[Consumer]:
    """Join a group on both topics; on leaving, commit where it stands."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "session.timeout.ms": 6000,
            "log_level": 2,
        }
    )
    consumer.subscribe([CLICKS, VIEWS])
    try:
        yield consumer
    finally:
        consumer.close()


def read_on(bootstrap: str, group: str, count: int) -> dict[str, list[str]]:
    """Let a real consumer of the group read so many records and commit."""
    found: dict[str, list[str]] = {CLICKS: [], VIEWS: []}
    end = time.monotonic() + 60
    with member(bootstrap, group) as consumer:
        while sum(map(len, found.values())) < count and time.monotonic() < end:
            message = consumer.poll(0.5)
            if message is None:
                continue
            assert message.error() is None, message.error()
            found[str(message.topic())].append(json.loads(message.value() or b"{}")["serial"])
        consumer.commit(asynchronous=False)
    return found


@dataclass
class Job:
    """One group, its migration file, and the commands on its plan."""

    lab: Lab
    group: str
    folder: Path

    def call(self, *arguments: str | Path) -> Ran:
        return call(*arguments, "--migration", self.folder / "m.yaml", "--json")

    def drafted(self) -> Path:
        """Draft a plan for the group and sign it."""
        plan = self.folder / "plan.json"
        made = self.call(
            "draft", "--group", self.group, "--target", f"consumer-group:{self.group}", "--out", plan, "--author", "ann"
        )
        assert made.code == 0, made.err
        assert call("keygen", "--out", self.folder / "rea", "--as", "rea").code == 0
        signing = ("--key", self.folder / "rea", "--as", "rea", "--out", self.folder / "approval.json")
        signed = call("sign", plan, *signing)
        assert signed.code == 0, signed.err
        return plan

    def apply(self, *more: str) -> Ran:
        return self.call(
            "apply",
            self.folder / "plan.json",
            *("--approval", self.folder / "approval.json", "--trust", self.folder / "rea.pub"),
            *("--receipt", self.folder / "receipt.json"),
            *more,
        )

    def receipt(self, command: str, *more: str) -> Ran:
        return self.call(command, self.folder / "receipt.json", *more)

    def now(self) -> dict[str, tuple[int, str]]:
        return committed(self.lab.new_bootstrap, self.group)


@pytest.fixture
def job(lab: Lab, topics: dict[str, int], tmp_path: Path) -> Callable[..., Job]:
    assert topics

    def make(group: str, *, before: bool) -> Job:
        body: dict[str, Any] = {
            "name": "moved",
            "source": {"properties": {"bootstrap.servers": lab.old_bootstrap}},
            "target": {"properties": {"bootstrap.servers": lab.new_bootstrap}},
            "topics": {"policy": "identity"},
            "link": "other",
            "writers": "mirror-only",
            "groups": [group],
            "spark": {"master": "local[2]"},
        }
        (tmp_path / "m.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
        commit(lab.old_bootstrap, group, PLACES)
        if before:
            commit(lab.new_bootstrap, group, EARLIER, "by hand")
        made = Job(lab, group, tmp_path)
        made.drafted()
        return made

    return make


def test_a_real_consumer_goes_on_at_exactly_the_next_record(
    job: Callable[..., Job], topics: dict[str, int], figure: Callable[[str], None]
) -> None:
    moved = job("moved-whole", before=False)

    dry = moved.apply("--detailed-exitcode")
    assert dry.code == 2, dry.err
    assert moved.now() == {}, "a dry run writes nothing"
    began = time.monotonic()
    written = moved.apply("--execute").answered()
    took_s = time.monotonic() - began
    assert moved.now() == {topic: (place, "") for topic, place in topics.items()}
    assert {step["state"] for step in written["steps"]} == {"done"}
    before_start = moved.receipt("verify").answered()
    assert {each["turnout"] for each in before_start["positions"]} == {"CONFIRMED"}

    unread = {topic: [f"r{number}" for number in range(place, N)] for topic, place in PLACES.items()}
    found = read_on(moved.lab.new_bootstrap, moved.group, sum(map(len, unread.values())))
    assert found == unread, "every record that was not read, once, in order"

    after = moved.receipt("verify").answered()
    assert {each["turnout"] for each in after["positions"]} == {"MOVED_ON"}
    assert after["started"] is True
    refused = moved.receipt("rollback", "--execute")
    assert refused.code == 1
    assert "somebody has committed since" in refused.out
    figure(f"apply --execute of a group on 2 topics, both neighbours re-read: {took_s:.1f} s")


def test_a_rollback_restores_what_was_committed(job: Callable[..., Job], topics: dict[str, int]) -> None:
    moved = job("moved-back", before=True)
    before = moved.now()
    assert before == {topic: (offset, "by hand") for topic, offset in EARLIER.items()}

    moved.apply("--execute").answered()
    assert moved.now() == {topic: (place, "") for topic, place in topics.items()}
    again = moved.apply("--execute").answered()
    assert again == json.loads((moved.folder / "receipt.json").read_text()), "the same call again writes nothing"

    assert moved.receipt("rollback", "--execute").code == 0
    assert moved.now() == before
    assert moved.receipt("rollback", "--execute").code == 0, "twice is once"
    different = moved.receipt("verify")
    assert different.code == 5, "what stands there is not what was approved any more"


def test_a_partition_without_commit_before_keeps_the_new_one_and_is_told(job: Callable[..., Job]) -> None:
    moved = job("moved-kept", before=False)
    moved.apply("--execute").answered()

    ran = moved.receipt("rollback", "--execute")

    assert ran.code == 1
    (step,) = json.loads(ran.out)["steps"]
    assert step["state"] == "failed"
    assert f"kafka-consumer-groups.sh --delete-offsets --group {moved.group} --topic {CLICKS}:0" in step["told"]


def test_a_group_with_a_member_is_refused(job: Callable[..., Job]) -> None:
    moved = job("moved-busy", before=True)
    before = moved.now()
    with member(moved.lab.new_bootstrap, moved.group) as consumer:
        end = time.monotonic() + 30
        while not consumer.assignment() and time.monotonic() < end:
            consumer.poll(0.2)
        assert consumer.assignment()

        ran = moved.apply("--execute")

    assert ran.code == 3
    assert "reviewed Empty, now Stable" in ran.out
    assert moved.now() == before
    assert not (moved.folder / "receipt.json").exists()


def test_a_group_that_somebody_wrote_in_between_is_refused(job: Callable[..., Job]) -> None:
    moved = job("moved-raced", before=True)
    commit(moved.lab.new_bootstrap, moved.group, {CLICKS: 6}, "another hand")
    before = moved.now()

    ran = moved.apply("--execute")

    assert ran.code == 3, ran.err
    assert f"{CLICKS}-0: reviewed 5, now 6" in ran.out
    assert moved.now() == before


def test_a_broker_refuses_a_member_that_joined_after_the_look(job: Callable[..., Job], lab: Lab) -> None:
    """The broker's own refusal comes for each partition, and without an exception."""
    from offsetwise.apply.kafka_groups import KafkaGroups  # noqa: PLC0415 - only this test talks to it alone
    from offsetwise.config import ClusterConfig  # noqa: PLC0415 - as above
    from offsetwise.errors import ApplyError  # noqa: PLC0415 - as above
    from offsetwise.model import GroupOffset  # noqa: PLC0415 - as above

    moved = job("moved-joined", before=True)
    groups = KafkaGroups(ClusterConfig(name="new", properties={"bootstrap.servers": lab.new_bootstrap}))
    with member(lab.new_bootstrap, moved.group) as consumer:
        end = time.monotonic() + 30
        while not consumer.assignment() and time.monotonic() < end:
            consumer.poll(0.2)
        state = groups.read([moved.group])[moved.group].state

        refused = groups.commit({moved.group: (GroupOffset(topic=CLICKS, partition=0, offset=9),)})[moved.group]

    assert state == "Stable"
    assert not isinstance(refused, ApplyError)
    assert len(refused) == 1
    assert moved.now() == {topic: (offset, "by hand") for topic, offset in EARLIER.items()}
