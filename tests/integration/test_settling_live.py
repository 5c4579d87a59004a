"""Transactions of a sink ended on real brokers under approved plans, and what the brokers answer to each request."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka import errors
from kafka.protocol.producer.produce import ProduceRequest
from kafka.protocol.producer.transaction import EndTxnRequest, InitProducerIdRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from offsetwise import files
from offsetwise.console.reader import Reader
from offsetwise.model import Target
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sinks import ending
from offsetwise.plugins.kafka.stream.client import Client, Deadline
from offsetwise.plugins.kafka.stream.wire import AGAIN, Wire
from offsetwise.plugins.kafka.targets import reviewed_cluster
from offsetwise.plugins.kafka.targets.reviewed_cluster import Responses
from offsetwise.plugins.kafka.targets.transactions import kafka as sink_of
from offsetwise.progress import no_progress
from offsetwise.transactions.observed import Described
from tests.commands import Ran, call
from tests.integration.clusters import config, create, fill
from tests.integration.secured_broker import TRIED_KAFKAS, USERS, SecuredCluster, secured_cluster
from tests.integration.test_transactions_live import (
    OF_ONE_RELEASE,
    PREFIX,
    RECORDED,
    TOPIC,
    hang,
    leave_open,
    producers,
)
from tests.integration.transaction_proxy import Fault, Proxy, proxied
from tests.subjects import checkpoint
from tests.transactions.recorded import recorded
from tests.transactions.savepoints import savepoint

pytestmark = pytest.mark.proof

HELD = (f"{PREFIX}-0-3", f"{PREFIX}-1-3")
LATER = f"{PREFIX}-0-4"
SWORN = "cannot be taken back"


@pytest.fixture(scope="module", params=TRIED_KAFKAS)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("settling"), request.param) as running:
        create(running.plain, NewTopic(TOPIC, 2, replica_assignment=[[1], [2]]))
        fill(running.plain, TOPIC, {0: 3, 1: 3})
        yield running


@pytest.fixture(scope="module")
def ports(cluster: SecuredCluster) -> tuple[int, ...]:
    """The plain ports of both brokers."""
    brokers = AdminClient({"bootstrap.servers": cluster.plain}).list_topics(timeout=20).brokers.values()
    return tuple(each.port for each in brokers)


class Case:
    """A job that was killed with transactions open: two that its savepoint holds, and a later one."""

    def __init__(self, cluster: SecuredCluster, folder: Path, **properties: str) -> None:
        leave_open(cluster.plain, *HELD, LATER)
        self.folder = folder
        self.bootstrap = cluster.plain
        self.checkpoint = savepoint(RECORDED, folder / "savepoint", producers(cluster.plain, *HELD))
        self.migration = folder / "migration.yaml"
        self.plan, self.receipt = folder / "plan.json", folder / "receipt.json"
        self.ask(**({"bootstrap.servers": cluster.plain} | properties))
        assert call("keygen", "--out", folder / "key", "--as", "bob").code == 0

    def ask(self, **properties: str) -> None:
        """Reach the sink's cluster with these properties from now on."""
        migration = {
            "name": "moving",
            "source": {"properties": properties},
            "target": {"properties": {"bootstrap.servers": "nowhere.invalid:9092"}},
            "checkpoint_roots": [str(self.folder)],
            "checkpoints": [{"name": "orders", "uri": str(self.checkpoint), "job": {"sink_cluster": "old"}}],
        }
        self.migration.write_text(yaml.safe_dump(migration), encoding="utf-8")

    def draft(self, *options: str, target: str = "sink-transactions") -> Ran:
        return call(
            "draft",
            "--migration",
            self.migration,
            *("--checkpoint", "orders", "--target", target, "--author", "amy", "--out"),
            self.plan,
            *options,
        )

    def sign(self, *options: str) -> Ran:
        key, out = self.folder / "key", self.folder / "approval.json"
        return call("sign", self.plan, "--key", key, "--as", "bob", "--out", out, *options)

    def apply(self, *, receipt: str = "receipt.json", execute: bool = True) -> Ran:
        approval, trust = self.folder / "approval.json", self.folder / "key.pub"
        given = ("--approval", approval, "--trust", trust, "--execute") if execute else ()
        return call("apply", self.plan, "--migration", self.migration, "--receipt", self.folder / receipt, *given)

    def verify(self) -> Any:
        ran = call("verify", self.receipt, "--migration", self.migration, "--json")
        return ran.code, {each["transactional_id"]: each["turnout"] for each in json.loads(ran.out)["transactions"]}

    def planned(self) -> Any:
        return json.loads(self.plan.read_text())["transactions"]

    def states(self) -> dict[str, str]:
        return states(self.bootstrap, *HELD, LATER)

    def signed(self) -> Case:
        assert self.draft().code == 0
        assert self.sign("--confirm", SWORN).code == 0
        return self


@pytest.fixture
def case(cluster: SecuredCluster, tmp_path: Path) -> Case:
    return Case(cluster, tmp_path)


def states(bootstrap: str, *names: str) -> dict[str, str]:
    here = config(bootstrap)
    with Wire(here, Client(here, timeout_s=60).properties, Deadline(60)) as wire:
        return {
            name: each.state if isinstance(each, Described) else str(each)
            for name, each in wire.describe(names).items()
        }


def committed(bootstrap: str, start: int, count: int) -> list[bytes | None]:
    """Read records of partition 0 as a read_committed consumer is given them."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed"})
    consumer.assign([KafkaPartition(TOPIC, 0, start)])
    try:
        found = [consumer.poll(5 if number < count else 1) for number in range(count + 1)]
        return [each.value() for each in found if each is not None and each.error() is None]
    finally:
        consumer.close()


def test_1_2_a_plan_commits_what_is_held_aborts_what_is_later_and_a_reader_sees_exactly_that(case: Case) -> None:
    assert case.draft().code == 0
    planned = case.planned()
    assert [(each["transactional_id"], each["decision"], each["version"]) for each in planned] == [
        (HELD[0], "COMMIT", 4),
        (HELD[1], "COMMIT", 4),
        (LATER, "ABORT", 5),
    ]
    assert {each["partitions"][0]["records"] for each in planned} == {"1"}
    start = min(int(each["partitions"][0]["start_offset"]) for each in planned)
    refused = case.sign()
    assert refused.code == 4
    assert SWORN in refused.err
    assert case.sign("--confirm", SWORN).code == 0

    dry = case.apply(execute=False)
    assert (dry.code, set(case.states().values())) == (0, {"Ongoing"})
    ran = case.apply()

    assert (ran.code, ran.err) == (0, ran.err)
    assert case.states() == {HELD[0]: "CompleteCommit", HELD[1]: "CompleteCommit", LATER: "CompleteAbort"}
    assert case.verify() == (0, dict.fromkeys((*HELD, LATER), "CONFIRMED"))
    assert sorted(filter(None, committed(case.bootstrap, start, 2))) == sorted(name.encode() for name in HELD)
    again = case.apply()
    assert (again.code, "applied before" in again.out) == (0, True)
    trust = ("--trust", case.folder / "key.pub")
    back = call("rollback", case.receipt, "--migration", case.migration, *trust, "--execute")
    assert (back.code, "A commit cannot be taken back" in back.err) == (1, True)


def test_3_of_a_name_that_is_used_again_the_log_says_how_the_held_one_ended(
    cluster: SecuredCluster, case: Case
) -> None:
    again, held = "tx-c50-pool-0-0", "tx-c50-pool-1-0"
    leave_open(cluster.plain, again, held)
    of = producers(cluster.plain, again, held)
    end_elsewhere(cluster.plain, again)
    leave_open(cluster.plain, again)
    assert producers(cluster.plain, again)[again][1] > of[again][1]
    case.checkpoint = savepoint("c50-pooling/savepoint-3-pending", case.folder / "pooling", of)
    case.ask(**{"bootstrap.servers": cluster.plain})

    ran = case.draft()

    assert ran.code == 0, ran.err
    plan = json.loads(case.plan.read_text(encoding="utf-8"))
    decided = {each["transactional_id"]: each["decision"] for each in plan["transactions"]}
    assert decided == {again: "ABORT", held: "COMMIT"}, "what the savepoint holds of the first is committed in the log"
    assert states(cluster.plain, again, held) == {again: "Ongoing", held: "Ongoing"}
    for name in (again, held, *HELD, LATER):
        end_elsewhere(cluster.plain, name)


def test_18_a_transaction_that_ended_since_the_draft_stops_everything(case: Case) -> None:
    case.signed()
    end_elsewhere(case.bootstrap, HELD[1])

    ran = case.apply()

    assert ran.code == 3
    assert f"{HELD[1]} " in ran.err
    assert case.states()[HELD[0]] == case.states()[LATER] == "Ongoing"
    assert not (case.folder / "receipt.json.journal").exists()
    assert call("drift", case.plan, "--migration", case.migration).code == 3


@OF_ONE_RELEASE
def test_10_a_commit_whose_time_runs_out_before_it_can_be_sent_is_refused_as_the_broker_tells_it(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.signed()
    monkeypatch.setattr(ending, "APPLY_MS", 86_400_000)

    ran = case.apply()

    assert ran.code == 3
    assert ran.err.count("so that it would be too late to commit it") == len(HELD)
    assert set(case.states().values()) == {"Ongoing"}
    assert not (case.folder / "receipt.json.journal").exists()


@OF_ONE_RELEASE
def test_the_console_drafts_what_the_command_line_drafts(case: Case) -> None:
    assert case.draft().code == 0
    reader, orders = Reader((case.migration,)), checkpoint("orders")
    request = DraftRequest(targets=(Target(kind="sink-transactions"),), author="amy")

    drafted = reader.settled("moving", orders, request, no_progress)

    of_console, of_command = (
        [each | {"reason": ""} for each in body]  # it names the time that was left
        for body in (json.loads(files.dump(drafted))["transactions"], case.planned())
    )
    assert of_console == of_command
    assert [each["transactional_id"] for each in of_console] == [*HELD, LATER]
    (live,) = (each for each in reader.offered() if not each.recorded)
    assert dict(live.sinks) == {orders: read_plan(case.plan.read_bytes(), subject="the plan").moves}
    assert set(case.states().values()) == {"Ongoing"}


@OF_ONE_RELEASE
@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("fault", Fault)
def test_22_a_lost_reply_is_looked_for_and_a_swallowed_request_is_sent_again_by_the_same_command(
    fault: Fault, number: int, case: Case, ports: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_of, "TIMEOUT_S", 4.0)
    case.signed()
    with proxied(ports) as proxy:
        case.ask(**{"bootstrap.servers": proxy.bootstrap})
        armed = _arm(proxy, number, fault, monkeypatch)
        ran = case.apply()
        assert armed == [fault]
        if fault is Fault.SWALLOW:
            assert ran.code == 1
            assert "may still arrive" in ran.err
            assert list(case.states().values()).count("Ongoing") == 3 - number
            ran = case.apply()
        assert ran.code == 0, ran.err
    case.ask(**{"bootstrap.servers": case.bootstrap})
    again = number + 1 if fault is Fault.SWALLOW else 0
    versions = [4, 4, 5]
    assert proxy.ended == ([*versions[:again], *versions[number:]] if again else versions)
    assert case.verify() == (0, dict.fromkeys((*HELD, LATER), "CONFIRMED"))


def _arm(proxy: Proxy, number: int, fault: Fault, monkeypatch: pytest.MonkeyPatch) -> list[Fault]:
    """Let the proxy fail at the number-th request to end a transaction, once."""
    ended, sent, armed = sink_of.KafkaSink.end, [0], list[Fault]()

    def end(sink: Any, planned: Any) -> Any:
        if sent[0] == number:
            proxy.fault = fault
            armed.append(fault)
        sent[0] += 1
        return ended(sink, planned)

    monkeypatch.setattr(sink_of.KafkaSink, "end", end)
    return armed


@OF_ONE_RELEASE
@pytest.mark.parametrize("code", AGAIN)
def test_21_a_coordinator_that_is_not_ready_is_asked_again_until_the_deadline(
    code: int, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_of, "TIMEOUT_S", 2.0)
    case.signed()
    sent, left = reviewed_cluster.send, [1_000_000]

    def send(wire: Wire, node: int, requests: Any, cluster_id: str) -> Responses:
        if left[0] and any(isinstance(each, EndTxnRequest) for each in requests):
            left[0] -= 1
            return Responses(responses=tuple(_Answer(code) for _ in requests), after=cluster_id)
        return sent(wire, node, requests, cluster_id)

    monkeypatch.setattr(sink_of, "send", send)
    refused = case.apply()
    assert refused.code == 1
    assert "UNKNOWN" in refused.err
    assert set(case.states().values()) == {"Ongoing"}
    left[0] = 2
    assert case.apply().code == 0
    assert "Ongoing" not in case.states().values()


class _Answer:
    def __init__(self, code: int) -> None:
        self.error_code = code


def test_20_a_user_who_may_describe_and_not_write_is_told_by_the_dry_run(
    cluster: SecuredCluster, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READER_PASSWORD", USERS["reader"])
    admin = AdminClient({"bootstrap.servers": cluster.plain})
    rights = [
        (ResourceType.TRANSACTIONAL_ID, f"{PREFIX}-", ResourcePatternType.PREFIXED, AclOperation.DESCRIBE),
        (ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL, AclOperation.READ),
    ]
    for future in admin.create_acls(
        [
            AclBinding(kind, name, how, "User:reader", "*", what, AclPermissionType.ALLOW)
            for kind, name, how, what in rights
        ]
    ).values():
        future.result()
    case.ask(
        **{
            "bootstrap.servers": f"127.0.0.1:{cluster.sasl_port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "reader",
            "sasl.password": "${READER_PASSWORD}",
        }
    )
    time.sleep(1)
    assert case.draft().code == 0

    ran = case.apply(execute=False)

    assert ran.code == 1
    assert f"Grant WRITE on TransactionalId '{PREFIX}-', prefixed" in ran.err
    assert set(case.states().values()) == {"Ongoing"}


def test_16_what_a_newer_retained_checkpoint_may_hold_is_aborted_only_where_the_job_is_said_to_be_taken_back(
    cluster: SecuredCluster, case: Case
) -> None:
    earlier = (f"{PREFIX}-0-2", f"{PREFIX}-1-2")
    leave_open(cluster.plain, *earlier)
    retained = case.folder / "job"
    case.checkpoint = savepoint("c50-incrementing/chk-2", retained / "chk-2", producers(cluster.plain, *earlier))
    shutil.copytree(case.folder / "savepoint", retained / "chk-3")
    case.ask(**{"bootstrap.servers": cluster.plain})

    refused = case.draft()
    assert f"NOT_NEWEST: {HELD[0]} " in refused.err
    assert not case.plan.exists()
    assert case.draft("--sink-rewound").code == 0
    planned = {each["transactional_id"]: each["decision"] for each in case.planned()}
    assert planned == dict.fromkeys(earlier, "COMMIT") | dict.fromkeys((*HELD, LATER), "ABORT")
    assert case.sign("--confirm", SWORN).code == 0
    assert case.apply().code == 0
    assert case.verify()[0] == 0


@OF_ONE_RELEASE
def test_37_of_appliers_at_once_one_with_the_same_journal_is_refused_and_one_with_its_own_ends_nothing_otherwise(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.signed()
    ended, others = sink_of.KafkaSink.end, list[Ran]()

    def end(sink: Any, planned: Any) -> Any:
        if not others:
            others.append(Ran(code=-1, out="", err=""))  # while it is replaced, the others end theirs undisturbed
            others[:] = [case.apply(), case.apply(receipt="other.json")]
        return ended(sink, planned)

    monkeypatch.setattr(sink_of.KafkaSink, "end", end)
    first = case.apply()

    same, own = others
    assert (same.code, "held by another process" in same.err) == (1, True)
    assert own.code == 0, own.err
    assert (first.code, "expected it open as it was reviewed" in first.err) == (3, True)
    assert case.states() == {HELD[0]: "CompleteCommit", HELD[1]: "CompleteCommit", LATER: "CompleteAbort"}
    case.receipt = case.folder / "other.json"
    assert case.verify() == (0, dict.fromkeys((*HELD, LATER), "CONFIRMED"))


def test_24_the_first_refusal_stops_and_says_what_is_ended_and_what_did_not_begin(
    cluster: SecuredCluster, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READER_PASSWORD", USERS["reader"])
    allow, deny, literal = AclPermissionType.ALLOW, AclPermissionType.DENY, ResourcePatternType.LITERAL
    ids, prefixed = ResourceType.TRANSACTIONAL_ID, ResourcePatternType.PREFIXED
    denied = (ids, HELD[1], literal, AclOperation.WRITE, deny)
    rights = [
        (ids, f"{PREFIX}-", prefixed, AclOperation.DESCRIBE, allow),
        (ids, f"{PREFIX}-", prefixed, AclOperation.WRITE, allow),
        (ResourceType.TOPIC, TOPIC, literal, AclOperation.READ, allow),
        denied,
    ]
    admin = AdminClient({"bootstrap.servers": cluster.plain})
    bindings = {
        right: AclBinding(kind, name, how, "User:reader", "*", what, whether)
        for right in rights
        for kind, name, how, what, whether in (right,)
    }
    for future in admin.create_acls([*bindings.values()]).values():
        future.result()
    case.signed()
    case.ask(
        **{
            "bootstrap.servers": f"127.0.0.1:{cluster.sasl_port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "reader",
            "sasl.password": "${READER_PASSWORD}",
        }
    )
    time.sleep(1)
    try:
        ran = case.apply()

        assert ran.code == 1
        assert f"{HELD[1]} " in ran.err
        assert (
            "It is number 2 of 3. The 1 before it are ended as planned. The 1 after it, to number 3, did not" in ran.err
        )
        assert case.states() == {HELD[0]: "CompleteCommit", HELD[1]: "Ongoing", LATER: "Ongoing"}
    finally:
        for removed in admin.delete_acls([_filter(bindings[denied]), _filter(bindings[rights[1]])]).values():
            removed.result()
    case.ask(**{"bootstrap.servers": cluster.plain})
    assert case.apply().code == 0
    assert case.verify() == (0, dict.fromkeys((*HELD, LATER), "CONFIRMED"))


def _filter(one: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        one.restype, one.name, one.resource_pattern_type, one.principal, one.host, one.operation, one.permission_type
    )


@OF_ONE_RELEASE
def test_37_another_applier_with_a_receipt_of_its_own_finds_the_plan_stale(case: Case) -> None:
    case.signed()

    assert case.apply().code == 0
    assert case.apply(receipt="other.json").code == 3


def test_26_a_hanging_transaction_is_aborted_by_markers_under_a_plan_of_its_own(
    cluster: SecuredCluster, case: Case
) -> None:
    create(cluster.plain, NewTopic("hung", 1, replica_assignment=[[1]]))
    fill(cluster.plain, "hung", {0: 2})
    hang(cluster.plain, "hung")
    assert "plan of their own" in case.draft("--target", "hanging-transactions").err
    assert case.draft("--topic", "hung", target="hanging-transactions").code == 0
    (planned,) = case.planned()
    assert (planned["producer_id"], planned["epoch"], planned["version"]) == ("987654", 3, None)
    assert case.sign("--confirm", SWORN).code == 4
    assert case.sign("--confirm", "abort hanging transactions").code == 0

    assert case.apply(execute=False).code == 0
    ran = case.apply()

    assert ran.code == 0, ran.err
    code, turnouts = case.verify()
    assert (code, [*turnouts.values()]) == (0, ["CONFIRMED"])
    assert set(case.states().values()) == {"Ongoing"}
    ends = call("transactions", "orders", "--migration", case.migration, "--topic", "hung", "--json")
    (of,) = [each for each in json.loads(ends.out)["partitions"] if each["topic"] == "hung"]
    assert of["last_stable_offset"] == of["log_end_offset"] == "4"
    assert case.apply(receipt="other.json").code == 3


# --------------------------------------------------------------------------- every recorded answer


class Raw:
    """A producer of transactions by single requests."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def init(self, name: str, timeout_ms: int = 600_000) -> tuple[int, int]:
        while True:
            node = self.wire.coordinator(name)
            assert node is not None
            answer = self.wire.ask(
                node,
                InitProducerIdRequest(
                    transactional_id=name, transaction_timeout_ms=timeout_ms, producer_id=-1, producer_epoch=-1
                ),
            )
            if answer is not None and answer.error_code == 0:
                return answer.producer_id, answer.producer_epoch
            assert self.wire.may_go_on(), answer

    def begin(self, name: str, timeout_ms: int = 600_000) -> tuple[int, int]:
        producer_id, epoch = self.init(name, timeout_ms)
        batch = DefaultRecordBatchBuilder(2, 0, True, producer_id, epoch, 0, 65_536)
        batch.append(0, int(time.time() * 1000), None, name.encode(), [])
        data = ProduceRequest.TopicProduceData
        part = data.PartitionProduceData(index=0, records=bytes(batch.build()))
        request_ = ProduceRequest(
            transactional_id=name,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[data(name=TOPIC, partition_data=[part])],
            min_version=12,
            max_version=12,
        )
        while True:
            answer = self.wire.ask(1, request_)
            codes = [0] if answer is None else [p.error_code for t in answer.responses for p in t.partition_responses]
            if answer is not None and codes == [0]:
                return producer_id, epoch
            assert self.wire.may_go_on(), codes

    def end(self, name: str, producer_id: int, epoch: int, *, version: int, commit: bool) -> str:
        asked = EndTxnRequest(
            transactional_id=name,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=commit,
            min_version=version,
            max_version=version,
        )
        while True:
            node = self.wire.coordinator(name)
            answer = None if node is None else self.wire.ask(node, asked)
            if answer is not None and answer.error_code not in AGAIN:
                code = int(answer.error_code)
                return "NONE" if code == 0 else _NAMES[errors.for_code(code).__name__]
            assert self.wire.may_go_on()

    def state(self, name: str) -> tuple[str, int] | None:
        while True:
            answer = self.wire.describe([name])[name]
            if not isinstance(answer, Described):
                return None
            if not answer.state.startswith("Prepare"):
                return answer.state, answer.epoch
            assert self.wire.may_go_on()


_NAMES = {
    "InvalidProducerEpochError": "INVALID_PRODUCER_EPOCH",
    "ProducerFencedError": "PRODUCER_FENCED",
    "InvalidProducerIdMappingError": "INVALID_PRODUCER_ID_MAPPING",
    "InvalidTxnStateError": "INVALID_TXN_STATE",
}


@pytest.fixture(scope="module")
def raw(cluster: SecuredCluster) -> Iterator[Raw]:
    here = config(cluster.plain)
    with Wire(here, Client(here, timeout_s=240).properties, Deadline(240)) as wire:
        yield Raw(wire)


def end_elsewhere(bootstrap: str, name: str) -> None:
    """Commit a transaction as somebody else would."""
    ((producer_id, epoch),) = producers(bootstrap, name).values()
    here = config(bootstrap)
    with Wire(here, Client(here, timeout_s=60).properties, Deadline(60)) as wire:
        assert Raw(wire).end(name, producer_id, epoch, version=4, commit=True) == "NONE"
        Raw(wire).state(name)


ROWS = [tuple(row) for row in recorded("endtxn_answers")["rows"]]


@pytest.fixture(scope="module")
def timed_out(raw: Raw) -> dict[str, tuple[int, int]]:
    """Transactions that their coordinator has aborted."""
    names = [f"row-{number}" for number, row in enumerate(ROWS) if row[0].startswith("timed out")]
    made = {name: raw.begin(name, 1_000) for name in names}
    for name, (_, epoch) in made.items():
        while raw.state(name) != ("CompleteAbort", epoch + 1):
            assert raw.wire.may_go_on()
    return made


@pytest.mark.parametrize(("number", "row"), [*enumerate(ROWS)], ids=[f"{row[0]}, {row[1]}" for row in ROWS])
def test_a_broker_answers_a_request_to_end_a_transaction_as_recorded(
    number: int, row: tuple[str, str, str, str], raw: Raw, request: pytest.FixtureRequest
) -> None:
    before, asked, answer, after = row
    raw.wire.deadline = Deadline(60)
    versions = [int(asked[1])] if asked.startswith("v") else [4, 5]
    for version in versions:
        for commit in [True, False] if " or " in asked else ["commit" in asked]:
            name = f"row-{number}" if len(versions) == 1 else f"row-{number}-{version}-{commit}"
            producer_id, epoch = _in(before, name, raw, request)
            was = raw.state(name)
            found = raw.end(
                name,
                producer_id + (10_000 if "other p" in asked else 0),
                epoch + ("e+1" in asked),
                version=version,
                commit=commit,
            )

            assert found == answer
            if after == "unchanged":
                assert raw.state(name) == was
            else:
                bumped = epoch + (2 if "e+2" in after else 1 if "e+1" in after else 0)
                assert raw.state(name) == (after.partition("(")[0], bumped)


def _in(before: str, name: str, raw: Raw, request: pytest.FixtureRequest) -> tuple[int, int]:
    """Bring a transaction into a state; give the producer id and the epoch that it was begun with."""
    if before == "no such id":
        return 1, 0
    if before.startswith("timed out"):
        made: dict[str, tuple[int, int]] = request.getfixturevalue("timed_out")
        return made[name]
    if before.startswith("Empty(p,e)"):
        return raw.init(name)
    producer_id, epoch = raw.begin(name)
    if before.startswith("Empty(p,e+2)"):
        raw.init(name)
    if before.startswith("CompleteCommit"):
        assert raw.end(name, producer_id, epoch, version=int(before[-1]), commit=True) == "NONE"
    raw.state(name)
    return producer_id, epoch
