"""A consumer group moved by a plan, on a real lab: drafted, signed, applied, verified, and taken back."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import TopicPartition as Partition

from offsetwise.lab import Lab
from offsetwise.lab.brokers import jvm
from tests.commands import call
from tests.integration.clusters import config, read
from tests.integration.groups import Job, commit, committed, member, read_on
from tests.integration.topics import copies, create, create_divided, produce

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


@pytest.fixture
def job(lab: Lab, topics: dict[str, int], tmp_path: Path) -> Callable[..., Job]:
    assert topics

    def make(group: str, *flags: str, before: dict[str, int], **migration: object) -> Job:
        made = Job(lab, group, tmp_path)
        made.write_migration(**migration)
        commit(lab.old_bootstrap, group, PLACES)
        if before:
            commit(lab.new_bootstrap, group, before, "by hand")
        made.drafted(*flags)
        return made

    return make


def test_metadata_of_any_length_is_read_as_it_was_committed(lab: Lab) -> None:
    """librdkafka copies it without its end: on some of these it returns what lies behind it, or cannot decode that."""
    create_divided(lab.new_bootstrap, "marked", 32)
    wanted = {number: "é" * number for number in range(32)}
    for number, text in wanted.items():
        commit(lab.new_bootstrap, "marks", {Partition("marked", number): number}, text)

    for _ in range(10):
        (group,) = read(config(lab.new_bootstrap), "marked", groups=("marks",)).groups
        assert {one.partition: one.metadata for one in group.offsets} == wanted
        assert all(one.offset == one.partition for one in group.offsets)


def test_a_real_consumer_goes_on_at_exactly_the_next_record(
    job: Callable[..., Job], topics: dict[str, int], figure: Callable[[str], None]
) -> None:
    moved = job("moved-whole", before={})

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
    found = read_on(moved.lab.new_bootstrap, moved.group, [CLICKS, VIEWS], sum(map(len, unread.values())))
    assert found == unread, "every record that was not read, once, in order"

    after = moved.receipt("verify").answered()
    assert {each["turnout"] for each in after["positions"]} == {"MOVED_ON"}
    assert after["started"] is True
    refused = moved.receipt("rollback", "--execute")
    assert refused.code == 1
    assert "somebody has committed since" in refused.out
    figure(f"apply --execute of a group on 2 topics, both neighbours re-read: {took_s:.1f} s")


def test_a_rollback_restores_what_was_committed(job: Callable[..., Job], topics: dict[str, int]) -> None:
    moved = job("moved-back", before=EARLIER)
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
    assert different.code == 5, "what is there is not what was approved any more"


def test_a_rollback_leaves_no_group_where_none_was(job: Callable[..., Job], topics: dict[str, int]) -> None:
    moved = job("moved-away", before={})
    moved.apply("--execute").answered()
    assert moved.now() == {topic: (place, "") for topic, place in topics.items()}

    assert moved.receipt("rollback", "--execute").code == 0

    assert moved.now() == {}
    admin = AdminClient({"bootstrap.servers": moved.lab.new_bootstrap, "log_level": 2})
    listed = admin.list_consumer_groups().result(30)
    assert not listed.errors
    assert moved.group not in {each.group_id for each in listed.valid or ()}
    assert moved.receipt("rollback", "--execute").code == 0, "twice is once"


def test_a_partition_without_commit_before_keeps_the_new_one_and_is_told(
    job: Callable[..., Job], topics: dict[str, int]
) -> None:
    moved = job("moved-kept", before={VIEWS: EARLIER[VIEWS]})
    moved.apply("--execute").answered()

    ran = moved.receipt("rollback", "--execute")

    assert ran.code == 1
    (step,) = json.loads(ran.out)["steps"]
    assert step["state"] == "failed"
    assert moved.now() == {CLICKS: (topics[CLICKS], ""), VIEWS: (EARLIER[VIEWS], "by hand")}
    assert f"HOST:PORT --delete-offsets --group {moved.group} --topic {CLICKS}:0" in step["told"]


def test_a_group_with_a_member_is_refused(job: Callable[..., Job]) -> None:
    moved = job("moved-busy", before=EARLIER)
    before = moved.now()
    with member(moved.lab.new_bootstrap, moved.group, [CLICKS, VIEWS]) as consumer:
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
    moved = job("moved-raced", before=EARLIER)
    commit(moved.lab.new_bootstrap, moved.group, {CLICKS: 6}, "another hand")
    before = moved.now()

    ran = moved.apply("--execute")

    assert ran.code == 3, ran.err
    assert f"{CLICKS}-0: reviewed 5, now 6" in ran.out
    assert moved.now() == before


def test_a_broker_refuses_a_member_that_joined_after_the_look(job: Callable[..., Job], lab: Lab) -> None:
    """The broker's own refusal comes for each partition, and without an exception."""
    from offsetwise.config import ClusterConfig  # noqa: PLC0415 - as above
    from offsetwise.model import GroupOffset  # noqa: PLC0415 - as above
    from offsetwise.plugins.kafka.targets.group.kafka import KafkaGroups  # noqa: PLC0415 - only this test talks to it alone

    moved = job("moved-joined", before=EARLIER)
    groups = KafkaGroups(ClusterConfig(name="new", properties={"bootstrap.servers": lab.new_bootstrap}))
    reviewed = json.loads((moved.folder / "plan.json").read_text())["requirements"]["new"]["cluster_id"]
    with member(lab.new_bootstrap, moved.group, [CLICKS, VIEWS]) as consumer:
        end = time.monotonic() + 30
        while not consumer.assignment() and time.monotonic() < end:
            consumer.poll(0.2)
        state = groups.read([moved.group], cluster_id=reviewed)[moved.group].state

        wanted = {moved.group: (GroupOffset(topic=CLICKS, partition=0, offset=9),)}
        refused = groups.commit(wanted, cluster_id=reviewed)[moved.group]

    assert state == "Stable"
    assert isinstance(refused, dict)
    assert len(refused) == 1
    assert moved.now() == {topic: (offset, "by hand") for topic, offset in EARLIER.items()}


@pytest.mark.parametrize("others", [(), ("csv-second",)], ids=["one group", "two groups"])
def test_kafkas_own_tool_takes_the_exported_csv_and_commits_what_was_planned(
    job: Callable[..., Job], topics: dict[str, int], others: tuple[str, ...]
) -> None:
    groups = (f"csv-{len(others)}", *others)
    flags = [flag for name in others for flag in ("--target", f"consumer-group:{name}")]
    moved = job(*groups[:1], *flags, before=EARLIER, groups=list(groups))
    exported = call("export", moved.folder / "plan.json", "--as", "consumer-groups-csv")
    assert exported.code == 0, exported.err
    lines = moved.folder / "offsets.csv"
    lines.write_text(exported.out, encoding="utf-8")

    named = [flag for group in groups for flag in ("--group", group)]
    tool = jvm(
        moved.folder,
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        *("--bootstrap-server", moved.lab.new_bootstrap, *named),
        *("--reset-offsets", "--from-file", str(lines), "--execute"),
    )
    ran = subprocess.run(tool, capture_output=True, text=True, check=False, timeout=120)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    wanted = {topic: (place, "") for topic, place in topics.items()}
    assert {group: committed(moved.lab.new_bootstrap, group) for group in groups} == dict.fromkeys(groups, wanted)


def test_a_place_that_the_link_kept_is_held_to_its_records_like_any_other(job: Callable[..., Job]) -> None:
    moved = job("moved-kept-link", before={}, link="preserving")
    plan = moved.folder / "plan.json"
    body = json.loads(plan.read_text())
    (kept,) = (each for each in body["positions"] if each["topic"] == VIEWS)
    assert (kept["exactness"], kept["new_offset"]) == ("PRESERVED", str(PLACES[VIEWS]))

    dry = moved.apply()
    read_again = [each["told"] for each in json.loads(dry.out)["held"] if each["topic"] == VIEWS]
    assert len(read_again) == 4, "both neighbours, on both clusters"
    assert all(told.endswith("is the one that was reviewed.") for told in read_again)

    kept["proof"]["after"]["identity"] = kept["proof"]["before"]["identity"]
    plan.write_text(json.dumps(body))
    assert "the record at 120 is another one than was reviewed" in moved.apply("--detailed-exitcode").out


def follow(bootstrap: str, group: str, topic: str, count: int, write: Callable[[], None]) -> list[tuple[int, str]]:
    """Let a client with `auto.offset.reset=latest` read what is written once it has both partitions, and commit."""
    found: list[tuple[int, str]] = []
    with member(bootstrap, group, [topic], reset="latest") as consumer:
        end = time.monotonic() + 60
        both = [TopicPartition(topic, partition) for partition in (0, 1)]
        while time.monotonic() < end and not all(
            consumer.get_watermark_offsets(at, cached=True)[1] >= 0 for at in both
        ):
            if (message := consumer.poll(0.2)) is not None:
                found.append((int(message.partition() or 0), json.loads(message.value() or b"{}")["serial"]))
        write()
        while len(found) < count and time.monotonic() < end:
            if (message := consumer.poll(0.5)) is not None:
                found.append((int(message.partition() or 0), json.loads(message.value() or b"{}")["serial"]))
        consumer.commit(asynchronous=False)
    return found


def test_a_client_with_latest_reads_nothing_that_it_never_asked_for(lab: Lab, tmp_path: Path) -> None:
    """It has read and committed one of two partitions; on the new cluster it begins in the other one by itself."""
    topic, group = "moved-quiet", "moved-latest"
    both = (lab.old_bootstrap, lab.new_bootstrap)
    for bootstrap in both:
        create_divided(bootstrap, topic, 2)
        for partition in (0, 1):
            produce(bootstrap, {topic: copies(0, 50)}, partition=partition)

    def more() -> None:
        for bootstrap in both:
            produce(bootstrap, {topic: copies(50, 60)})

    assert len(follow(lab.old_bootstrap, group, topic, 10, more)) == 10
    moved = Job(lab, group, tmp_path)
    moved.write_migration()
    named = ("--group", group, "--target", f"consumer-group:{group}", "--author", "ann")
    refused = moved.call("draft", *named, "--out", tmp_path / "refused.json")
    assert refused.code == 1
    assert f"NO_COMMIT: {topic}-1" in refused.out + refused.err
    drafted = moved.drafted("--unset", "leave")
    assert [each["partition"] for each in drafted["left_unset"]] == [1]
    moved.apply("--execute").answered()
    assert moved.now() == {topic: (60, "")}

    found = follow(
        lab.new_bootstrap,
        group,
        topic,
        5,
        lambda: produce(lab.new_bootstrap, {topic: copies(60, 65)}, partition=1),
    )

    assert found == [(1, f"r{number}") for number in range(60, 65)]
