from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.config import load_migration
from offsetwise.errors import LabError
from offsetwise.lab import Lab, Policy
from offsetwise.lab.sample import TOPICS
from tests.lab.reading import Log, read_log

Positions = dict[str, dict[str, int]]


def _offsets(checkpoint: Path, batch: int) -> Positions:
    """Read the only source's positions from a version 1 offset log, line by line."""
    version, _, positions = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    assert version == "v1"
    found: Positions = json.loads(positions)
    return found


def _ids(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


@pytest.fixture(scope="session")
def checkpoint(sample: Path) -> Path:
    return sample.parent / "checkpoints" / "orders"


def _old(lab: Lab, topic: str, partition: int = 0) -> Log:
    return read_log(lab.old_bootstrap, topic, partition)


def _new(lab: Lab, topic: str, partition: int = 0) -> Log:
    return read_log(lab.new_bootstrap, topic, partition)


def test_the_migration_file_loads_and_names_both_clusters(lab: Lab, sample: Path) -> None:
    migration = load_migration(sample)
    assert migration.source.properties["bootstrap.servers"] == lab.old_bootstrap
    assert migration.target.properties["bootstrap.servers"] == lab.new_bootstrap
    assert [checkpoint.name for checkpoint in migration.checkpoints] == ["orders", "payments"]
    assert migration.new_topic("clicks") == "old.clicks"
    assert migration.new_topic("orders") == "orders"


def test_making_the_sample_again_finds_it_made(lab: Lab, sample: Path) -> None:
    written = sample.stat().st_mtime_ns
    assert lab.sample() == sample
    assert sample.stat().st_mtime_ns == written


@pytest.mark.usefixtures("sample")
def test_what_was_read_to_1050_on_the_old_cluster_is_read_to_950_on_the_new_one(lab: Lab, checkpoint: Path) -> None:
    old, new = _old(lab, "orders"), _new(lab, "orders")
    assert (old.start, old.end) == (100, 1200)
    assert (new.start, new.end) == (0, 1100)
    assert _offsets(checkpoint, 6)["orders"]["0"] == 1050
    assert new.offset_of(old.serial_at(1050)) == 950
    assert new.offset_of(old.serial_at(1049)) == 949


def test_offsets_of_orders_differ_by_exactly_100_everywhere(lab: Lab, sample: Path) -> None:
    assert sample.is_file()
    for partition in (0, 1):
        old, new = _old(lab, "orders", partition), _new(lab, "orders", partition)
        moved = [(record.offset - 100, record.serial) for record in old.records]
        assert moved == [(record.offset, record.serial) for record in new.records]


def test_the_job_stopped_inside_a_batch_that_it_had_planned(checkpoint: Path) -> None:
    assert _ids(checkpoint / "offsets") == list(range(8))
    assert _ids(checkpoint / "commits") == list(range(7))
    assert _offsets(checkpoint, 7)["orders"] == {"0": 1100, "1": 1080}
    assert sorted(_offsets(checkpoint, 7)) == sorted(TOPICS)


def test_the_job_has_state(checkpoint: Path) -> None:
    stores = [path for path in (checkpoint / "state" / "0").iterdir() if path.name.isdigit()]
    assert len(stores) == 2
    assert all(any(store.iterdir()) for store in stores)


def test_the_second_checkpoint_is_committed_and_caught_up(lab: Lab, sample: Path) -> None:
    folder = sample.parent / "checkpoints" / "payments"
    assert _ids(folder / "offsets") == _ids(folder / "commits") == [0]
    ends = {str(partition): _old(lab, "payments", partition).end for partition in (0, 1)}
    assert _offsets(folder, 0) == {"payments": ends}


def test_the_distance_of_payments_changes_and_aborted_records_are_visible_there(lab: Lab, sample: Path) -> None:
    assert sample.is_file()
    old, new = _old(lab, "payments"), _new(lab, "payments")
    committed = read_log(lab.old_bootstrap, "payments", 0, isolation="read_committed")
    assert [record.serial for record in old.records] == [record.serial for record in new.records]
    assert len(committed.records) < len(new.records)
    distances = {one.offset - other.offset for one, other in zip(old.records, new.records, strict=True)}
    assert len(distances) > 100


def test_profiles_are_compacted_around_the_position(lab: Lab, checkpoint: Path) -> None:
    old, new = _old(lab, "profiles"), _new(lab, "profiles")
    assert len(old.records) < old.end
    assert {record.serial for record in new.records} >= {record.serial for record in old.records}
    position = _offsets(checkpoint, 6)["profiles"]["0"]
    assert sum(record.offset < position for record in old.records) > 100
    assert sum(record.offset >= position for record in old.records) > 20


def test_clicks_are_renamed(lab: Lab, sample: Path) -> None:
    assert sample.is_file()
    assert [each.serial for each in _old(lab, "clicks").records] == [
        each.serial for each in _new(lab, "old.clicks").records
    ]
    assert "clicks" not in AdminClient({"bootstrap.servers": lab.new_bootstrap}).list_topics(timeout=20).topics


def test_audit_gets_other_timestamps_on_the_new_cluster(lab: Lab, sample: Path) -> None:
    assert sample.is_file()
    assert not any(record.log_append for record in _old(lab, "audit").records)
    assert all(record.log_append for record in _new(lab, "audit").records)


def test_the_position_in_beats_lies_inside_a_run_of_identical_records(lab: Lab, checkpoint: Path) -> None:
    old = _old(lab, "beats")
    position = _offsets(checkpoint, 6)["beats"]["0"]
    around = {(each.value, each.timestamp_ms) for each in old.records if abs(each.offset - position) < 20}
    assert len(around) == 1
    assert [each.timestamp_ms for each in old.records] == [each.timestamp_ms for each in _new(lab, "beats").records]


def test_the_group_has_committed_on_the_old_cluster(lab: Lab, sample: Path) -> None:
    assert sample.is_file()
    consumer = Consumer({"bootstrap.servers": lab.old_bootstrap, "group.id": "orders-etl"})
    committed = consumer.committed([TopicPartition("orders", 0), TopicPartition("orders", 1)], timeout=20)
    consumer.close()
    assert [each.offset for each in committed] == [1000, 975]


def test_a_sample_that_was_interrupted_is_not_taken_for_a_whole_one(lab: Lab, sample: Path) -> None:
    aside = sample.rename(sample.with_suffix(".aside"))
    try:
        with pytest.raises(LabError, match="an earlier run was interrupted"):
            lab.sample()
    finally:
        aside.rename(sample)


@pytest.mark.gates
@pytest.mark.usefixtures("sample")
def test_a_mirror_goes_on_under_its_name_and_copies_again_under_another(lab: Lab) -> None:
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    admin.create_topics([NewTopic("lab-again", 1, 1)])["lab-again"].result(20)
    _produce(lab, "lab-again", range(5))
    lab.start_mirror(Policy.IDENTITY, topics=["lab-again"], name="again")
    lab.wait_until_mirrored(["lab-again"], mirror="again")
    lab.stop_mirror("again")
    _produce(lab, "lab-again", range(5, 8))
    assert len(_new(lab, "lab-again").records) == 5

    lab.start_mirror(Policy.IDENTITY, topics=["lab-again"], name="again")
    lab.wait_until_mirrored(["lab-again"], mirror="again")
    lab.stop_mirror("again")
    assert [each.serial for each in _new(lab, "lab-again").records] == [str(number) for number in range(8)]

    lab.start_mirror(Policy.IDENTITY, topics=["lab-again"], name="once-more")
    lab.wait_until_mirrored(["lab-again"], mirror="once-more")
    lab.stop_mirror("once-more")
    assert [each.serial for each in _new(lab, "lab-again").records] == [*map(str, range(8))] * 2


@pytest.mark.usefixtures("sample")
def test_waiting_for_a_mirror_that_ended_names_what_is_behind(lab: Lab) -> None:
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    admin.create_topics([NewTopic("lab-behind", 1, 1)])["lab-behind"].result(20)
    _produce(lab, "lab-behind", range(3))
    lab.start_mirror(Policy.IDENTITY, topics=["lab-behind"], name="killed")
    time.sleep(0.1)
    lab.stop_mirror("killed", kill=True)
    with pytest.raises(LabError, match=r"'killed' has ended while it was behind on lab-behind-0.*mirror-killed\.log"):
        lab.wait_until_mirrored(["lab-behind"], mirror="killed")


def _produce(lab: Lab, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": lab.old_bootstrap})
    for number in numbers:
        producer.produce(topic, json.dumps({"serial": str(number)}).encode())
    assert producer.flush(20) == 0
