"""The command line on a real lab: what automation reads, and what a person gets who is wrong about a live cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab import Lab
from tests.commands import call, run
from tests.integration.topics import copies
from tests.integration.topics import produce as produce_records
from tests.plugins.spark.folders import checkpoint, write

Row = dict[str, Any]
Change = Callable[..., Path]


def rows(body: Mapping[str, Any]) -> dict[tuple[str, int], Row]:
    return {(row["topic"], row["partition"]): row for row in body["partitions"]}


@pytest.fixture(scope="module")
def compared(sample: Path) -> dict[str, Any]:
    ran = run("compare", "--migration", sample, "--checkpoint", "orders", "--json")
    assert ran.err == "", "nothing of Spark's or Kafka's own talk reaches a person"
    return ran.answered()


@pytest.fixture(scope="module")
def claimed(sample: Path) -> dict[str, Any]:
    return call("compare", "--migration", sample, "--checkpoint", "orders", "--no-content", "--json").answered()


@pytest.fixture
def changed(sample: Path, tmp_path: Path) -> Change:
    """Write the sample's migration file again with other top-level keys."""

    def change(**keys: Any) -> Path:
        body = yaml.safe_load(sample.read_text(encoding="utf-8")) | {
            "checkpoint_roots": [str(sample.parent)],
            "checkpoints": [{"name": "orders", "uri": str(sample.parent / "checkpoints" / "orders")}],
        }
        path = tmp_path / "migration.yaml"
        path.write_text(yaml.safe_dump(body | keys), encoding="utf-8")
        return path

    return change


def topics(bootstrap: str, **partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    for created in admin.create_topics([NewTopic(name, count, 1) for name, count in partitions.items()]).values():
        created.result(30)


def produce(bootstrap: str, topic: str, values: Iterable[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
    for number, value in enumerate(values):
        producer.produce(topic, value.encode(), partition=0, timestamp=1_767_225_600_000 + number)
    assert producer.flush(30) == 0


def commit(bootstrap: str, group: str, **offsets: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(topic, 0, at) for topic, at in offsets.items()], asynchronous=False)
    consumer.close()


def test_1050_is_950_with_everything_that_automation_reads(compared: dict[str, Any]) -> None:
    row = rows(compared)["orders", 0]

    evidence = row["evidence"]
    assert row == {
        "source": "0",
        "topic": "orders",
        "partition": 0,
        "old_offset": "1050",
        "new_topic": "orders",
        "new_offset": "950",
        "exactness": "EXACT",
        "method": "content",
        "restart": [{"batch": 6, "old": "1050", "new": "950"}, {"batch": 7, "old": "1100", "new": "1000"}],
        "bounds": ["950", "950"],
        "replay": "0",
        "skip": "0",
        "foreign_below": "0",
        "counted": True,
        "ahead": {"examined": True, "missing": "0", "duplicated": "0", "foreign": "0"},
        "old": {"log_start": "100", "lso": "1200", "hw": "1200"},
        "new": {"log_start": "0", "lso": "1100", "hw": "1100"},
        "lag_old": "150",
        "lag_new": "150",
        "mirror_maker": row["mirror_maker"],
        "pending_equal": True,
        "raw": {"verdict": "LOSS", "skip": "100", "replay": "0"},
        "findings": ["LOSS_INSIDE_LOG"],
        "evidence": evidence,
        "end_evidence": row["end_evidence"],
    }
    assert int(row["mirror_maker"]) <= 950, "which of its syncs MirrorMaker wrote is a matter of time"
    assert evidence["reason"]
    assert evidence["anchors_before"] >= 3
    assert row["end_evidence"]["anchors_before"] >= 3


def test_the_comparison_names_the_checkpoint_the_clusters_and_the_sums(compared: dict[str, Any]) -> None:
    checkpoint = compared["checkpoint"]
    assert (checkpoint["format"], checkpoint["reruns_batch"], checkpoint["last_committed_batch"]) == (
        "offsetwise/checkpoint",
        7,
        6,
    )
    assert compared["belongs_to"]["cluster"] == "old"
    assert compared["old"]["cluster_id"] != compared["new"]["cluster_id"]
    summary = compared["summary"]
    assert (summary["partitions"], summary["exact"], summary["raw_wrong"], summary["raw_skip"]) == (8, 8, 5, "200")


def test_every_partition_of_the_sample_is_exact(compared: dict[str, Any]) -> None:
    assert {key: row["exactness"] for key, row in rows(compared).items()} == dict.fromkeys(rows(compared), "EXACT")
    assert {row["skip"] for row in compared["partitions"]} == {"0"}


def test_of_two_sources_that_read_one_topic_each_has_its_own_pending_batch(
    lab: Lab, changed: Change, tmp_path: Path
) -> None:
    records = copies(0, 40)
    for bootstrap, held in ((lab.old_bootstrap, records), (lab.new_bootstrap, [*records[:12], *records[13:]])):
        topics(bootstrap, twice=1)
        produce_records(bootstrap, {"twice": held})
    lines = ('{"twice":{"0":5}}\n{"value":1}\n{"twice":{"0":5}}', '{"twice":{"0":10}}\n{"value":2}\n{"twice":{"0":20}}')
    folder = write(checkpoint(dict(enumerate(lines)), (0,), initial={}), tmp_path / "twice")
    path = changed(checkpoint_roots=[str(folder)], checkpoints=[{"name": "twice", "uri": str(folder)}])

    made = call("compare", "--migration", path, "--checkpoint", "twice", "--json").answered()

    assert [(row["source"], row["old_offset"], row["new_offset"], row["restart"][1]) for row in made["partitions"]] == [
        ("0", "5", "5", {"batch": 1, "old": "10", "new": "10"}),
        ("2", "5", "5", {"batch": 1, "old": "20", "new": "19"}),
    ]
    assert [row["pending_equal"] for row in made["partitions"]] == [True, False]
    assert ["PENDING_BATCH_DIFFERS" in row["findings"] for row in made["partitions"]] == [False, True]


def test_a_renamed_topic_is_not_missing_under_its_old_name(compared: dict[str, Any]) -> None:
    assert rows(compared)["clicks", 0]["new_topic"] == "old.clicks"
    assert "TOPIC_MISSING" not in {finding["code"] for finding in compared["findings"]}


def test_a_groups_positions_are_translated_too(sample: Path) -> None:
    body = call("compare", "--migration", sample, "--group", "orders-etl", "--json").answered()

    assert {key: (row["old_offset"], row["new_offset"], row["exactness"]) for key, row in rows(body).items()} == {
        ("orders", 0): ("1000", "900", "EXACT"),
        ("orders", 1): ("975", "875", "EXACT"),
    }
    assert (body["checkpoint"], body["group"]) == (None, "orders-etl")


def test_without_reading_records_nothing_is_better_than_claimed_and_nothing_is_skipped(
    compared: dict[str, Any], claimed: dict[str, Any]
) -> None:
    assert {row["exactness"] for row in claimed["partitions"]} <= {"CLAIMED", "UNKNOWN"}
    assert not any(row["counted"] for row in claimed["partitions"])
    for key, row in rows(claimed).items():
        assert int(row["new_offset"]) <= int(rows(compared)[key]["new_offset"]), key


def test_snapshots_say_what_the_clusters_said(sample: Path, claimed: dict[str, Any], tmp_path: Path) -> None:
    for side in ("old", "new"):
        ran = call("snapshot", "-m", sample, "--cluster", side, "--out", tmp_path / f"{side}.json", "--json")
        taken = ran.answered()
        assert f"(cluster id {taken['cluster_id']}) written to {tmp_path / side}.json." in ran.err
        assert json.loads((tmp_path / f"{side}.json").read_text(encoding="utf-8")) == taken

    old = json.loads((tmp_path / "old.json").read_text(encoding="utf-8"))
    (group,) = [group for group in old["groups"] if group["name"] == "orders-etl"]
    assert [(at["topic"], at["partition"], at["offset"]) for at in group["offsets"]] == [
        ("orders", 0, "1000"),
        ("orders", 1, "975"),
    ]

    again = call(
        *("compare", "--migration", sample, "--checkpoint", "orders", "--json"),
        *("--snapshots", tmp_path / "old.json", tmp_path / "new.json"),
    ).answered()

    assert again["partitions"] == claimed["partitions"]


def test_differences_have_an_exit_code_of_their_own(sample: Path) -> None:
    ran = call("compare", "-m", sample, "--checkpoint", "orders", "--no-content", "--detailed-exitcode")

    assert ran.code == 2
    assert ran.out.startswith("3 of 8 partitions would go wrong if the job restarted")


def test_a_link_that_keeps_offsets_is_believed_only_where_records_agree(lab: Lab, changed: Change) -> None:
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        topics(bootstrap, **{"cli-kept": 1, "cli-other": 1})
        produce(bootstrap, "cli-kept", [f"kept {n}" for n in range(200)])
        produce(bootstrap, "cli-other", [f"{bootstrap} {n}" for n in range(200)])
    commit(lab.old_bootstrap, "cli-preserving", **{"cli-kept": 120, "cli-other": 120})
    commit(lab.old_bootstrap, "cli-in-order", **{"cli-kept": 120})

    found = rows(call("compare", "-m", changed(link="preserving"), "--group", "cli-preserving", "--json").answered())

    kept, other = found["cli-kept", 0], found["cli-other", 0]
    assert (kept["exactness"], kept["new_offset"], kept["raw"]["verdict"]) == ("PRESERVED", "120", "SAME")
    assert (other["exactness"], other["new_offset"], other["raw"]["verdict"]) == ("UNKNOWN", None, "CONFUSION")
    assert "differ at the same offset" in " ".join(other["evidence"]["statements"])
    in_order = call("compare", "-m", changed(link="preserving"), "--group", "cli-in-order", "--detailed-exitcode")
    assert in_order.code == 0, in_order.out


def test_a_topic_that_the_new_cluster_lacks_or_has_narrower_is_told_by_partition(lab: Lab, changed: Change) -> None:
    topics(lab.old_bootstrap, **{"cli-absent": 1, "cli-narrow": 2})
    topics(lab.new_bootstrap, **{"cli-narrow": 1})
    for topic in ("cli-absent", "cli-narrow"):
        produce(lab.old_bootstrap, topic, [f"{topic} {n}" for n in range(20)])
    produce(lab.new_bootstrap, "cli-narrow", [f"cli-narrow {n}" for n in range(20)])
    commit(lab.old_bootstrap, "cli-partly", **{"cli-absent": 10, "cli-narrow": 10})

    body = call("compare", "--migration", changed(), "--group", "cli-partly", "--json").answered()

    found = rows(body)
    assert (found["cli-absent", 0]["new_offset"], found["cli-absent", 0]["exactness"]) == (None, "UNKNOWN")
    assert (found["cli-narrow", 0]["new_offset"], found["cli-narrow", 0]["exactness"]) in {
        ("10", "EXACT"),
        ("10", "POSITION_EXACT"),
    }
    assert found["cli-narrow", 1]["new_offset"] is None
    told = {(finding["code"], finding["topic"]) for finding in body["findings"]}
    assert {("TOPIC_MISSING", "cli-absent"), ("PARTITIONS_FEWER", "cli-narrow")} <= told


def test_a_topic_is_reconciled_under_both_its_names(sample: Path) -> None:
    body = call("reconcile", "--migration", sample, "--topic", "clicks", "--json").answered()

    assert (body["old_topic"], body["new_topic"], body["differences"]) == ("clicks", "old.clicks", [])
    (partition,) = body["partitions"]
    assert partition["old_records"] == partition["new_records"] == partition["both"] == "600"


def test_a_reconciliation_of_a_topic_that_is_not_there_is_refused(sample: Path) -> None:
    error = call("reconcile", "-m", sample, "--topic", "cli-nowhere", "--json").refused()

    assert error["error"] == "ClusterError"
    assert "'cli-nowhere' on 'old'" in error["problem"]
    assert "Nothing was compared." in error["problem"]


def test_one_cluster_under_two_addresses_is_refused(lab: Lab, changed: Change) -> None:
    port = lab.old_bootstrap.rpartition(":")[2]
    twice = changed(target={"name": "new", "properties": {"bootstrap.servers": f"localhost:{port}"}})

    error = call("compare", "-m", twice, "--checkpoint", "orders", "--no-content", "--json").refused()

    assert error["error"] == "SameClusterError"
    assert "Nothing was compared." in error["problem"]


def test_a_group_that_committed_nothing_is_refused(sample: Path) -> None:
    error = call("compare", "-m", sample, "--group", "cli-nobody", "--json").refused()

    assert error["error"] == "ClusterError"
    assert "Group 'cli-nobody' on 'old': expected committed offsets" in error["problem"]


def test_a_checkpoint_of_the_new_cluster_is_not_translated(changed: Change, sample: Path) -> None:
    body = yaml.safe_load(sample.read_text(encoding="utf-8"))
    back = changed(source=body["target"], target=body["source"], topics={"map": {"old.clicks": "clicks"}})

    error = call("compare", "-m", back, "--checkpoint", "orders", "--no-content", "--json").refused()

    assert error["error"] == "CheckpointError"
    assert "found positions of the new one" in error["problem"]
    assert "belongs_to: old" in error["fix"]


def test_a_connector_that_cannot_be_resolved_is_named(sample: Path, tmp_path: Path) -> None:
    own = tmp_path / "spark.conf"
    own.write_text("spark.jars.packages org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.0\n", encoding="utf-8")

    error = run("compare", "-m", sample, "--checkpoint", "orders", "--json", OFFSETWISE_SPARK_CONF=str(own)).refused()

    assert error["error"] == "ConnectorError"
    assert "spark-sql-kafka-0-10_2.13:0.0.0" in error["problem"]
    assert "No record was read." in error["problem"]


def test_without_java_no_record_is_read_and_it_is_said(sample: Path, tmp_path: Path) -> None:
    error = run("compare", "-m", sample, "--checkpoint", "orders", "--json", PATH=str(tmp_path), JAVA_HOME="").refused()

    assert error["error"] == "SparkError"
    assert "Java 17" in error["problem"]
    assert "No record was read." in error["problem"]
