"""The transactions of a sink on real brokers: what `offsetwise transactions` says of them, and what it leaves alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka.protocol.admin.acl import CreateAclsRequest
from kafka.protocol.producer.produce import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

import offsetwise
from offsetwise import Migration
from offsetwise.cli import documents
from offsetwise.lab.jars import KAFKA_VERSION
from offsetwise.plugins.kafka.stream import reader
from offsetwise.plugins.kafka.stream.client import Client, Deadline
from offsetwise.plugins.kafka.stream.transactions import STATE_TOPIC, _Looking, look_at_transactions
from offsetwise.plugins.kafka.stream.wire import AGAIN, Wire
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.observed import Described, Missing, TransactionLook
from tests.commands import Ran, call
from tests.integration.clusters import config, create, fill
from tests.integration.secured_broker import TRIED_KAFKAS, USERS, SecuredCluster, old_broker, secured_cluster
from tests.transactions.savepoints import savepoint

pytestmark = pytest.mark.proof

RECORDED = "c50-incrementing/savepoint-3-pending"
PREFIX = "tx-c50-incr"
TOPIC = "sink"
LEFT_OPEN = """
import os, sys
from confluent_kafka import Producer

bootstrap, topic, *names = sys.argv[1:]
for name in names:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "transaction.timeout.ms": 600000})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, name, partition=0)
    assert producer.flush(60) == 0
os._exit(0)
"""
"""A job that is killed: nobody ends its transactions."""

OF_ONE_RELEASE = pytest.mark.parametrize("cluster", [KAFKA_VERSION], indirect=True)
"""Of a test of this side of the wire, which another release of the broker would only repeat."""


def leave_open(bootstrap: str, *names: str) -> None:
    subprocess.run([sys.executable, "-c", LEFT_OPEN, bootstrap, TOPIC, *names], check=True, timeout=240)


def end(bootstrap: str, name: str, *, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(TOPIC, name, partition=1)
    producer.flush()
    producer.commit_transaction() if commit else producer.abort_transaction()


def producers(bootstrap: str, *names: str) -> dict[str, tuple[int, int]]:
    """Return producer id and epoch of each id, as its coordinator says."""
    cluster = config(bootstrap)
    with Wire(cluster, Client(cluster, timeout_s=60).properties, Deadline(60)) as wire:
        answers = wire.describe(names)
    return {
        name: (answer.producer_id, answer.epoch) for name, answer in answers.items() if isinstance(answer, Described)
    }


@pytest.fixture(scope="module", params=TRIED_KAFKAS)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    """A cluster on which nobody has made a transaction when the first test begins."""
    with secured_cluster(tmp_path_factory.mktemp("transactions"), request.param) as running:
        create(running.plain, NewTopic(TOPIC, 2, replica_assignment=[[1], [2]]))
        fill(running.plain, TOPIC, {0: 3, 1: 3})
        yield running


def _migration(folder: Path, checkpoint: Path, bootstrap: str) -> Path:
    ask(folder, checkpoint, "--apart", "0s", bootstrap_servers=bootstrap)
    return folder / "migration.yaml"


def ask(folder: Path, checkpoint: Path, *options: str, **properties: str) -> Ran:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    migration = {
        "name": "moving",
        "source": {"properties": named},
        "target": {"properties": {"bootstrap.servers": "nowhere.invalid:9092"}},
        "checkpoints": [{"name": "orders", "uri": str(checkpoint), "job": {"sink_cluster": "old"}}],
    }
    path = folder / "migration.yaml"
    path.write_text(yaml.safe_dump(migration), encoding="utf-8")
    return call("transactions", "orders", "--migration", path, "--json", *options)


def answered(ran: Ran) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ran.out)
    jsonschema.validate(body, documents.schema("transactions"))
    return body


def decisions(body: dict[str, Any]) -> dict[tuple[str, bool], tuple[str, str | None]]:
    return {
        (row["transactional_id"], row["held"]): (row["decision"], row["broker_state"]) for row in body["transactions"]
    }


def topics(bootstrap: str) -> set[str]:
    return set(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=20).topics)


def as_reader(cluster: SecuredCluster) -> dict[str, str]:
    return {
        "bootstrap_servers": f"127.0.0.1:{cluster.sasl_port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "reader",
        "sasl_password": "${READER_PASSWORD}",
    }


def test_35_a_cluster_that_never_had_a_transaction_is_left_without_the_topic_of_their_states(
    cluster: SecuredCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READER_PASSWORD", USERS["reader"])
    checkpoint = savepoint(RECORDED, tmp_path / "savepoint", {})
    before = topics(cluster.plain)

    ran = ask(tmp_path, checkpoint, bootstrap_servers=cluster.plain)
    denied = ask(tmp_path, checkpoint, **as_reader(cluster))

    assert (ran.code, denied.code) == (0, 1)
    assert decisions(answered(ran)) == {(f"{PREFIX}-{n}-3", True): ("UNKNOWN", None) for n in (0, 1)}
    assert all("No transaction was ever made" in row["reason"] for row in answered(ran)["transactions"])
    assert decisions(answered(denied)) == {(f"{PREFIX}-{n}-3", True): ("DENIED", None) for n in (0, 1)}
    assert topics(cluster.plain) == before
    assert STATE_TOPIC not in before


@pytest.fixture(scope="module")
def stopped(cluster: SecuredCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The savepoint of a job that was killed with transactions in every state, on two coordinated brokers."""
    for number, commit in ((2, True), (4, True), (1, False)):
        end(cluster.plain, f"{PREFIX}-1-{number}", commit=commit)
    opened = (f"{PREFIX}-0-3", f"{PREFIX}-0-4", f"{PREFIX}-0-2", f"{PREFIX}-eu-0-1", "unrelated-0-1")
    leave_open(cluster.plain, *opened)
    end(cluster.plain, f"{PREFIX}-1-3", commit=True)
    of = producers(cluster.plain, f"{PREFIX}-0-3", f"{PREFIX}-1-3")
    producer_id, epoch = of[f"{PREFIX}-1-3"]
    held = of | {f"{PREFIX}-1-3": (producer_id, max(epoch - 1, 0))}
    return savepoint(RECORDED, tmp_path_factory.mktemp("held") / "savepoint", held)


EXPECTED = {
    (f"{PREFIX}-0-2", False): ("UNEXPLAINED", "Ongoing"),
    (f"{PREFIX}-0-3", True): ("COMMIT", "Ongoing"),
    (f"{PREFIX}-0-4", False): ("ABORT", "Ongoing"),
    (f"{PREFIX}-1-1", False): ("NOTHING", "CompleteAbort"),
    (f"{PREFIX}-1-2", False): ("NOTHING", "CompleteCommit"),
    (f"{PREFIX}-1-3", True): ("SETTLED", "CompleteCommit"),
    (f"{PREFIX}-1-4", False): ("SINK_WENT_ON", "CompleteCommit"),
    (f"{PREFIX}-eu-0-1", False): ("OTHER_JOB", "Ongoing"),
}


def test_every_transaction_of_a_killed_job_is_decided_and_the_log_ends_say_who_waits(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path
) -> None:
    ran = ask(tmp_path, stopped, "--detailed-exitcode", bootstrap_servers=cluster.plain)
    body = answered(ran)

    assert (ran.code, body["complete"], body["problems"]) == (2, True, [])
    assert decisions(body) == EXPECTED
    left = {row["transactional_id"]: row["left_ms"] for row in body["transactions"] if row["held"]}
    assert 0 < int(left[f"{PREFIX}-0-3"]) <= 600_000
    assert left[f"{PREFIX}-1-3"] is None
    waiting = {row["partition"]: row for row in body["partitions"]}
    assert waiting[0]["last_stable_offset"] == "3" < waiting[0]["log_end_offset"]
    assert waiting[1]["last_stable_offset"] == waiting[1]["log_end_offset"]
    assert body["cluster_id"]


def test_what_the_cluster_said_is_kept_in_a_file_and_decided_from_when_it_is_gone(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "sink.json"
    assert decisions(answered(ask(tmp_path, stopped, "--out", str(kept), bootstrap_servers=cluster.plain))) == EXPECTED
    gone = answered(ask(tmp_path, stopped, "--snapshot", str(kept), "--upgrade", bootstrap_servers="gone.invalid:9092"))
    again = ask(tmp_path, stopped, "--out", str(kept), bootstrap_servers=cluster.plain)

    assert decisions(gone) == EXPECTED
    assert {each.records for each in offsetwise.load_sink_snapshot(kept).records} == {1}
    assert "all 2 brokers take InitProducerId" in gone["upgrade"]["steps"][0]["told"]
    assert "sink.json" in again.refused()["problem"], "it is there"


def test_5_6_7_8_what_the_cluster_has_otherwise_than_the_savepoint_is_lost_unknown_or_foreign(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path
) -> None:
    assert stopped, "its transactions are those of another job here"
    held = ("tx-c50-pool-0-0", "tx-c50-pool-1-0")
    end(cluster.plain, held[0], commit=False)
    end(cluster.plain, held[1], commit=True)
    (lost, lost_epoch), (used, used_epoch) = producers(cluster.plain, *held).values()
    recorded = "c50-pooling/savepoint-3-pending"

    def decided(name: str, of: dict[str, tuple[int, int]], recorded: str = recorded) -> list[str]:
        checkpoint = savepoint(recorded, tmp_path / name, of)
        rows = answered(ask(tmp_path, checkpoint, bootstrap_servers=cluster.plain))["transactions"]
        return [row["decision"] for row in rows if row["held"]]

    aborted = {held[0]: (lost, max(lost_epoch - 1, 0)), held[1]: (used + 1_000, 0)}
    assert decided("aborted", aborted) == ["LOST", "FOREIGN"]
    for _ in range(3):
        end(cluster.plain, held[1], commit=True)
    assert decided("gone on", aborted | {held[1]: (used, used_epoch)}) == ["LOST", "UNKNOWN"]
    assert decided("expired", {}, "c40-incrementing/savepoint-2-pending") == ["UNKNOWN"] * 2


class Way(StrEnum):
    """How a held transaction ends before its name is used again."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    FENCED = "fenced"
    """Its job failed over to an earlier checkpoint, which takes the name and so aborts what is open."""


POOL = ("tx-c50-pool-0-0", "tx-c50-pool-1-0")


def leave_held(bootstrap: str, topic: str, folder: Path, ways: Sequence[Way]) -> Path:
    """Write transactions, a savepoint that holds them, and end them; their names are used again and left open."""
    held: dict[str, tuple[int, int]] = {}
    opened: list[Producer] = []
    for number, name in enumerate(POOL):
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
        producer.init_transactions()
        producer.begin_transaction()
        for record in range(3 + number):
            producer.produce(topic, str(record), partition=record % 2)
        assert producer.flush(60) == 0
        opened.append(producer)
        held |= producers(bootstrap, name)
    checkpoint = savepoint("c50-pooling/savepoint-3-pending", folder / "savepoint", held)
    for producer, name, way in zip(opened, POOL, ways, strict=True):
        if way is Way.COMMITTED:
            producer.commit_transaction()
        elif way is Way.ABORTED:
            producer.abort_transaction()
        for _ in range(2):  # one that goes on as if nothing had been, and ends otherwise
            again = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
            again.init_transactions()
            again.begin_transaction()
            again.produce(topic, "again", partition=0)
            assert again.flush(60) == 0
            again.abort_transaction() if way is Way.COMMITTED else again.commit_transaction()
    return checkpoint


@pytest.mark.parametrize("used", [False, True], ids=["over", "open"])
@pytest.mark.parametrize("way", Way)
def test_3_of_a_name_in_use_again_the_control_records_in_the_log_decide(
    way: Way, used: bool, cluster: SecuredCluster, tmp_path: Path
) -> None:
    topic = f"pooled-{way}-{used}"
    create(cluster.plain, NewTopic(topic, 2, replica_assignment=[[1], [2]]))
    other = Way.ABORTED if way is Way.COMMITTED else Way.COMMITTED
    checkpoint = leave_held(cluster.plain, topic, tmp_path, [way, other])
    if used:
        subprocess.run([sys.executable, "-c", LEFT_OPEN, cluster.plain, topic, *POOL], check=True, timeout=240)

    def held(*options: str) -> dict[str, tuple[str, str, list[str]]]:
        rows = answered(ask(tmp_path, checkpoint, *options, bootstrap_servers=cluster.plain))["transactions"]
        return {
            row["transactional_id"]: (
                row["decision"],
                row["reason"],
                [f"{at['partition']}: {at['records']}" for at in row["partitions"]],
            )
            for row in rows
            if row["held"]
        }

    kept = tmp_path / "sink.json"
    found = held("--topic", topic, "--out", str(kept))

    expected = {
        name: "SETTLED" if each is Way.COMMITTED else "LOST" for name, each in zip(POOL, [way, other], strict=True)
    }
    assert {name: decision for name, (decision, _, _) in found.items()} == expected
    assert [records for _, _, records in found.values()] == [["0: 2", "1: 1"], ["0: 2", "1: 2"]]
    assert f"3 records of it are in {topic}-0, {topic}-1" in found[POOL[0]][1]
    assert held("--snapshot", str(kept)) == found
    without = {decision for decision, _, _ in held().values()}
    assert without == (set(expected.values()) if used else {"UNKNOWN"}), "an open one names its topic"


def test_a_topic_that_is_not_there_is_named_and_the_answer_not_complete(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path
) -> None:
    ran = ask(tmp_path, stopped, "--topic", "no-such", "--topic", TOPIC, bootstrap_servers=cluster.plain)

    assert (ran.code, answered(ran)["complete"]) == (1, False)
    assert "Topic 'no-such': the cluster has none of this name" in answered(ran)["problems"][0]
    assert decisions(answered(ran)) == EXPECTED
    assert "no-such" not in topics(cluster.plain)


@OF_ONE_RELEASE
def test_tls_is_spoken_as_the_first_client_speaks_it(cluster: SecuredCluster, stopped: Path, tmp_path: Path) -> None:
    tls = {"bootstrap_servers": f"127.0.0.1:{cluster.tls_port}", "security_protocol": "SSL"}

    assert decisions(answered(ask(tmp_path, stopped, **tls, ssl_ca_location=cluster.ca))) == EXPECTED
    assert "certificate" in ask(tmp_path, stopped, **tls).refused()["problem"]


def test_19_an_empty_list_without_rights_is_denied_a_right_on_the_prefix_decides_without_the_topics_it_lacks(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READER_PASSWORD", USERS["reader"])
    denied = ask(tmp_path, stopped, **as_reader(cluster))
    right = AclBinding(
        ResourceType.TRANSACTIONAL_ID,
        f"{PREFIX}-",
        ResourcePatternType.PREFIXED,
        "User:reader",
        "*",
        AclOperation.DESCRIBE,
        AclPermissionType.ALLOW,
    )
    granted = []
    for each in (
        right,
        allowed(ResourceType.TOPIC, TOPIC, AclOperation.DESCRIBE),
        allowed(ResourceType.TOPIC, TOPIC, AclOperation.READ),
    ):
        grant(cluster, each)
        granted.append(ask(tmp_path, stopped, **as_reader(cluster)))

    assert denied.code == 1
    assert answered(denied)["complete"] is False
    assert {row["decision"] for row in answered(denied)["transactions"]} == {"DENIED"}
    assert {(ran.code, answered(ran)["complete"]) for ran in granted} == {(1, False)}
    hidden, unread, seen = map(answered, granted)
    assert decisions(hidden) == decisions(unread) == EXPECTED
    assert "open, and its partitions are not shown" in hidden["problems"][0]
    assert f"which transactions it holds open on {TOPIC}: READ on the topics is needed" in unread["problems"][0]
    # Who sees the topic sees what others have open there, and may not know whether that hangs.
    assert decisions(seen) == EXPECTED | {(None, False): ("DENIED", None)}
    assert seen["problems"] == []


def upgrade(ran: Ran) -> dict[str, tuple[str, str]]:
    """Return outcome and sentence of each step, by its number."""
    made: dict[str, Any] = answered(ran)["upgrade"]
    assert made["blocked_by"] == "1. brokers with KIP-939"
    return {step["name"][0]: (step["outcome"], step["told"]) for step in made["steps"]}


def test_32_the_steps_to_two_phase_commit_are_read_from_every_broker(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READER_PASSWORD", USERS["reader"])
    before = ask(tmp_path, stopped, "--upgrade", bootstrap_servers=cluster.plain)
    here = config(cluster.plain)
    with Wire(here, Client(here, timeout_s=60).properties, Deadline(60)) as wire:
        creation = CreateAclsRequest.AclCreation
        wanted = [
            creation(
                resource_type=5,
                resource_name=f"{PREFIX}-",
                resource_pattern_type=4,
                principal="User:etl",
                host="*",
                operation=operation,
                permission_type=3,
            )
            for operation in (4, 15)
        ]
        response = wire.manager.run(wire.manager.send, CreateAclsRequest(creations=wanted))
        assert [each.error_code for each in response.results] == [0, 0]
    after = upgrade(ask(tmp_path, stopped, "--upgrade", bootstrap_servers=cluster.plain))
    denied = upgrade(ask(tmp_path, stopped, "--upgrade", **as_reader(cluster)))

    first = upgrade(before)
    assert first["1"] == after["1"]
    assert first["1"][0] == "failed"
    assert "all 2 brokers take InitProducerId up to version 5" in first["1"][1]
    assert (first["2"][0], after["2"]) == ("failed", ("passed", "Cluster 'old': User:etl may."))
    assert (first["3"][0], first["4"][0]) == ("passed", "failed")
    assert first["5"] == ("passed", "Cluster 'old': 2 brokers of one release.")
    assert denied["2"] == ("unknown", "Cluster 'old': this user may not read ACLs (DESCRIBE on the cluster).")
    told = answered(before)["upgrade"]["until_then"]
    assert "transaction.timeout.ms is 10 min (as its transactions have it)" in told[0]
    assert told[1] == "Cluster 'old' allows up to 15 min (transaction.max.timeout.ms)."
    assert (
        "did not tell"
        in answered(ask(tmp_path, stopped, "--upgrade", **as_reader(cluster)))["upgrade"]["until_then"][1]
    )
    assert answered(ask(tmp_path, stopped, bootstrap_servers=cluster.plain))["upgrade"] is None


@pytest.fixture
def looked_at_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test's own process look at transactions, so that the test can do something between two looks."""
    monkeypatch.setattr(reader, "look_at_transactions", look_at_transactions)


@OF_ONE_RELEASE
@pytest.mark.usefixtures("looked_at_here")
def test_a_job_that_goes_on_between_two_looks_is_live(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Wire.list_transactions
    begun: list[bool] = []

    def list_transactions(wire: Wire) -> Any:
        made = looked(wire)
        if not begun:
            begun.append(True)
            leave_open(cluster.plain, f"{PREFIX}-0-5")
        return made

    monkeypatch.setattr(Wire, "list_transactions", list_transactions)
    body = answered(ask(tmp_path, stopped, bootstrap_servers=cluster.plain))

    now = {name: decision for (name, _), (decision, _) in decisions(body).items()}
    assert now[f"{PREFIX}-0-3"] == now[f"{PREFIX}-0-4"] == now[f"{PREFIX}-0-5"] == "LIVE"
    assert f"{PREFIX}-0-5 appeared between two looks" in body["transactions"][0]["reason"]


@OF_ONE_RELEASE
@pytest.mark.usefixtures("looked_at_here")
@pytest.mark.parametrize("number", [0, 1], ids=["in the first look", "in the second"])
def test_a_broker_that_does_not_answer_in_one_look_is_no_job_that_runs_and_lets_nothing_hang(
    number: int, cluster: SecuredCluster, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, looked, looks = Migration.load(_migration(tmp_path, stopped, cluster.plain)), _Looking.observe, [0]

    def look(looking: _Looking) -> TransactionLook:
        looking.wire.deadline = Deadline(5)
        looks[0] += 1
        if looks[0] != number + 1:
            return looked(looking)
        with cluster.paused(cluster.second):
            return looked(looking)

    monkeypatch.setattr(_Looking, "observe", look)
    made = of.transactions("orders")

    assert looks == [2]
    found = {row.decision for row in made.transactions}
    assert found.isdisjoint({Decision.LIVE, Decision.HANGING}), [row.reason for row in made.transactions]
    assert number == 0 or not made.complete


@OF_ONE_RELEASE
def test_errors_are_kept_by_id_where_the_clients_own_verb_refuses_all(cluster: SecuredCluster, stopped: Path) -> None:
    assert stopped
    here = config(cluster.plain)
    with Wire(here, Client(here, timeout_s=60).properties, Deadline(60)) as wire:
        answers = wire.describe([f"{PREFIX}-0-3", "nobody-has-this-0-0"])
    assert isinstance(answers[f"{PREFIX}-0-3"], Described)
    assert answers["nobody-has-this-0-0"] is Missing.ABSENT


@OF_ONE_RELEASE
@pytest.mark.parametrize("code", AGAIN)
def test_21_a_coordinator_that_loads_or_moves_is_asked_again_until_the_deadline(
    code: int, cluster: SecuredCluster, stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stopped
    asked, here, left = Wire._ask, config(cluster.plain), [2]

    def ask(wire: Wire, requests: Any) -> dict[int, Any]:
        made = asked(wire, requests)
        for response in made.values():
            if left[0] and hasattr(response, "transaction_states") and not hasattr(response, "unknown_state_filters"):
                left[0] -= 1
                for each in response.transaction_states:
                    each.error_code = code
        return made

    monkeypatch.setattr(Wire, "_ask", ask)
    with Wire(here, Client(here, timeout_s=60).properties, Deadline(60)) as wire:
        answers = wire.describe([f"{PREFIX}-0-3"])
        left[0] = 1_000_000
        wire.deadline = Deadline(0.5)
        refused = wire.describe([f"{PREFIX}-0-3"])
    assert isinstance(answers[f"{PREFIX}-0-3"], Described)
    assert refused == {f"{PREFIX}-0-3": Missing.UNAVAILABLE}


def test_34_brokers_that_do_not_know_the_question_leave_everything_unknown(tmp_path: Path) -> None:
    checkpoint = savepoint(RECORDED, tmp_path / "savepoint", {})
    with old_broker(tmp_path) as address:
        ran = ask(tmp_path, checkpoint, "--upgrade", bootstrap_servers=address)
        drafted = call(
            *("draft", "--migration", tmp_path / "migration.yaml", "--checkpoint", "orders", "--author", "amy"),
            *("--target", "sink-transactions", "--out", tmp_path / "plan.json", "--json"),
        )
        left = topics(address)

    assert ran.code == 1
    assert decisions(answered(ran)) == {(f"{PREFIX}-{n}-3", True): ("UNKNOWN", None) for n in (0, 1)}
    assert "older than Kafka 3.0" in answered(ran)["problems"][0]
    assert upgrade(ran)["1"][0] == "failed"
    assert "older than Kafka 3.0" in drafted.refused()["problem"]
    assert left == set(), "to look creates no topic"


UNVERIFIED = 49
"""INVALID_PRODUCER_ID_MAPPING: the broker asked the coordinator, which does not know the transaction."""


def hang(bootstrap: str, topic: str) -> None:
    """Leave a transaction open on a partition that no coordinator knows, as an old client with KAFKA-14402 does."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    entry = ConfigEntry(
        "transaction.partition.verification.enable", "false", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()
    batch = DefaultRecordBatchBuilder(2, 0, True, 987_654, 3, 0, 65_536)
    batch.append(0, 1_700_000_000_000, None, b"left", [])
    data = ProduceRequest.TopicProduceData
    part = data.PartitionProduceData(index=0, records=bytes(batch.build()))
    request = ProduceRequest(
        transactional_id="nobody-ends-this-0-1",
        acks=-1,
        timeout_ms=10_000,
        topic_data=[data(name=topic, partition_data=[part])],
        min_version=11,
        max_version=11,
    )
    here = config(bootstrap)
    with Wire(here, Client(here, timeout_s=60).properties, Deadline(60)) as wire:
        codes = [UNVERIFIED]
        while codes == [UNVERIFIED] and not wire.deadline.passed:  # the broker takes the setting up a moment later
            (answer,) = wire._ask({1: request})[1].responses
            codes = [each.error_code for each in answer.partition_responses]
    assert codes == [0]


def allowed(kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    literal = ResourcePatternType.LITERAL
    return AclBinding(kind, name, literal, "User:reader", "*", operation, AclPermissionType.ALLOW)


def grant(cluster: SecuredCluster, right: AclBinding) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.plain})
    for future in admin.create_acls([right]).values():
        future.result()
    time.sleep(1)  # brokers take rights up a moment later


def test_26_a_transaction_that_only_its_partition_knows_hangs_for_whoever_may_describe_all_ids(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(cluster.plain, NewTopic("hung", 1, replica_assignment=[[1]]))
    fill(cluster.plain, "hung", {0: 2})
    hang(cluster.plain, "hung")
    body = answered(ask(tmp_path, stopped, "--topic", "hung", bootstrap_servers=cluster.plain))

    (row,) = (each for each in body["transactions"] if each["decision"] == "HANGING")
    assert (row["transactional_id"], row["producer_id"], row["epoch"]) == (None, "987654", 3)
    assert "hung-0" in row["reason"]
    monkeypatch.setenv("READER_PASSWORD", USERS["reader"])
    grant(cluster, allowed(ResourceType.TOPIC, TOPIC, AclOperation.READ))
    for right, decision in (
        (allowed(ResourceType.TOPIC, "hung", AclOperation.READ), "DENIED"),
        (allowed(ResourceType.TRANSACTIONAL_ID, "*", AclOperation.DESCRIBE), "HANGING"),
    ):
        grant(cluster, right)
        of_reader = ask(tmp_path, stopped, "--topic", "hung", **as_reader(cluster))
        (row,) = (each for each in answered(of_reader)["transactions"] if "hung-0" in each["reason"])
        assert (row["decision"], of_reader.code) == (decision, 0 if decision == "HANGING" else 1), row["reason"]
    (ends,) = (each for each in body["partitions"] if each["topic"] == "hung")
    assert (ends["last_stable_offset"], ends["log_end_offset"]) == ("2", "3")


def test_17_38_another_cluster_decides_nothing_and_hostile_ids_are_shown_escaped(
    cluster: SecuredCluster, stopped: Path, tmp_path: Path
) -> None:
    hostile = f"{PREFIX}-<b>\x1b[2J{'x' * 200}-0-1"
    leave_open(cluster.plain, hostile)
    asked = answered(ask(tmp_path, stopped, bootstrap_servers=cluster.plain))
    path = tmp_path / "migration.yaml"
    shown = call("transactions", "orders", "--migration", path)
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    body["checkpoints"][0]["job"]["sink_servers"] = "elsewhere.invalid:9092"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    elsewhere = answered(call("transactions", "orders", "--migration", path, "--json"))

    assert decisions(asked)[hostile, False] == ("OTHER_JOB", "Ongoing")
    assert "\x1b" not in shown.out
    assert {row["decision"] for row in elsewhere["transactions"]} == {"WRONG_CLUSTER", "OTHER_JOB"}
