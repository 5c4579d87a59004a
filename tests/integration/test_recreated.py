"""A target topic that was deleted and made again under a running mirror."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab, Policy
from offsetwise.model import Cluster, Exactness, TopicPartition
from offsetwise.translation.mirror import find_flow, mm2_answer
from tests.commands import call
from tests.integration.clusters import commit, take_snapshot
from tests.integration.test_content_live import check
from tests.integration.topics import copies, create, produce
from tests.integration.truth import Both, find, read_both

TOPIC = "again"
BEFORE, FIRST, ALL = 250, 300, 400


@pytest.fixture(scope="module")
def recreated(lab: Lab) -> Iterator[Both]:
    create(lab.old_bootstrap, TOPIC)
    produce(lab.old_bootstrap, {TOPIC: copies(0, FIRST)})
    name = lab.start_mirror(Policy.IDENTITY, topics=(TOPIC,), name="again")
    lab.wait_until_mirrored((TOPIC,), mirror=name)
    admin = AdminClient({"bootstrap.servers": lab.new_bootstrap, "log_level": 2})
    admin.delete_topics([TOPIC])[TOPIC].result(30)
    _make_again(lab)
    produce(lab.old_bootstrap, {TOPIC: copies(FIRST, ALL)})
    lab.wait_until_mirrored((TOPIC,), mirror=name)
    yield read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition(TOPIC, 0), TOPIC)
    lab.stop_mirror(name)


def _make_again(lab: Lab) -> None:
    """Create the topic unless the mirror did; the broker may still be deleting the old one."""
    for _ in range(150):
        try:
            return create(lab.new_bootstrap, TOPIC)
        except KafkaException as error:
            if "exists" in str(error):
                return None
            time.sleep(0.2)
    raise TimeoutError(TOPIC)


def _mirror_maker(lab: Lab, position: int) -> int | None:
    mirrors = [
        take_snapshot(
            side, ClusterConfig(name=side, properties={"bootstrap.servers": bootstrap}), topics=(TOPIC,), groups=()
        ).mirror
        for side, bootstrap in ((Cluster.OLD, lab.old_bootstrap), (Cluster.NEW, lab.new_bootstrap))
    ]
    flow = find_flow(*mirrors, source_alias="old", target_alias="new")
    return mm2_answer(position, TOPIC, 0, flow.syncs)


def test_records_decide_where_the_mirror_still_answers_for_the_topic_that_was_deleted(
    lab: Lab, recreated: Both
) -> None:
    assert (recreated.new.start, recreated.new.end) == (0, ALL - FIRST)
    theirs = _mirror_maker(lab, BEFORE)
    assert theirs is not None
    assert theirs > recreated.new.end, "the mirror itself is right, so this test shows nothing"

    found = find(lab.old_bootstrap, lab.new_bootstrap, {recreated: recreated.everywhere()})
    check(found)
    wanted = find(lab.old_bootstrap, lab.new_bootstrap, {recreated: [BEFORE, FIRST, 350]})
    lost = wanted[recreated, BEFORE].answer.cut
    assert lost is not None
    assert (lost.offset, lost.ahead.missing) == (0, FIRST - BEFORE)
    for position, place in ((FIRST, 0), (350, 50)):
        cut = wanted[recreated, position].answer.cut
        assert cut is not None
        assert (cut.offset, cut.exactness) == (place, Exactness.EXACT)


@pytest.mark.usefixtures("recreated")
def test_a_group_with_records_left_on_the_topic_that_was_deleted_is_told_so_without_reading_records(
    lab: Lab, tmp_path: Path
) -> None:
    commit(lab.old_bootstrap, "again-etl", TOPIC, {0: BEFORE})
    sides = {"source": ("old", lab.old_bootstrap), "target": ("new", lab.new_bootstrap)}
    clusters = {side: {"name": name, "properties": {"bootstrap.servers": at}} for side, (name, at) in sides.items()}
    migration = tmp_path / "migration.yaml"
    migration.write_text(yaml.safe_dump({"name": "again", **clusters}), encoding="utf-8")

    body = call("compare", "-m", migration, "--group", "again-etl", "--no-content", "--json").answered()

    (row,) = body["partitions"]
    assert "TOPIC_RECREATED" in row["findings"]
    (finding,) = [finding for finding in body["findings"] if finding["code"] == "TOPIC_RECREATED"]
    assert (finding["severity"], finding["topic"], finding["partition"]) == ("blocks", TOPIC, 0)
