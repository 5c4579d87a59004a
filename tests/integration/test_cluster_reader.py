"""The cluster reader against real brokers and a real MirrorMaker."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from offsetwise.config import ClusterConfig, java_properties
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.lab import Lab
from offsetwise.lab.processes import is_alive
from offsetwise.model import Cluster, LogRange, Snapshot, TopicPartition
from offsetwise.sources import kafka_logs
from offsetwise.sources.kafka import offsets_for_times, read_cluster
from offsetwise.sources.kafka_client import Client, RequestCounter
from offsetwise.translation.mirror import Flow, SyncIndex, find_flow, mm2_answer
from tests.integration.secured_broker import USERS, SecuredCluster, secured_cluster

FIRST_MS = 1_700_000_000_000
PROMPT_S = 12
"""Well below the 20 s after which the reader gives up, and far above what it needs on a busy machine."""
BUSY_S = 5
"""What a busy machine may add to a time-out."""
ANY_OFFSET: Any = OffsetSpec  # its constructors have no types


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("secured")) as cluster:
        create(cluster.plain, NewTopic("split", 4, replica_assignment=[[1], [2], [1], [2]]))
        create(cluster.plain, NewTopic("visible", 1, replica_assignment=[[1]]))
        create(cluster.plain, NewTopic("hidden", 1, replica_assignment=[[1]]))
        fill(cluster.plain, "visible", {0: 10})
        allow(cluster.plain, "visible", AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)
        yield cluster


def config(bootstrap: str, **properties: str) -> ClusterConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap, **named})


def create(bootstrap: str, topic: NewTopic) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([topic])[topic.topic].result()


def allow(bootstrap: str, topic: str, *operations: AclOperation) -> None:
    admin, user, literal = AdminClient({"bootstrap.servers": bootstrap}), "User:reader", ResourcePatternType.LITERAL
    for operation in operations:
        acl = AclBinding(ResourceType.TOPIC, topic, literal, user, "*", operation, AclPermissionType.ALLOW)
        for future in admin.create_acls([acl]).values():
            future.result()


def fill(bootstrap: str, topic: str, records: dict[int, int]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition, count in records.items():
        for number in range(count):
            producer.produce(topic, f"{number}", partition=partition, timestamp=FIRST_MS + number * 1000)
    producer.flush()


def trim(bootstrap: str, topic: str, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([KafkaPartition(topic, partition, offset)]).values():
        future.result()


def commit(bootstrap: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[KafkaPartition(topic, *entry) for entry in offsets.items()], asynchronous=False)
    consumer.close()


def read(cluster: ClusterConfig, *topics: str, groups: tuple[str, ...] = (), timeout_s: float = 20) -> Snapshot:
    return read_cluster(Cluster.OLD, cluster, topics=topics or None, groups=groups, timeout_s=timeout_s)


def codes(snapshot: Snapshot) -> list[str]:
    return [problem.code for problem in snapshot.problems]


def test_a_snapshot_says_where_every_log_begins_and_ends(lab: Lab) -> None:
    create(lab.old_bootstrap, NewTopic("reader-logs", 3, config={"retention.ms": "86400000"}))
    fill(lab.old_bootstrap, "reader-logs", {0: 10, 1: 20})
    trim(lab.old_bootstrap, "reader-logs", 0, 4)
    snapshot = read(config(lab.old_bootstrap), "reader-logs")
    (topic,) = snapshot.topics
    assert [(p.log_start, p.lso, p.hw) for p in topic.partitions] == [(4, 10, 10), (0, 20, 20), (0, 0, 0)]
    assert {(p.leader, p.leader_epoch, p.error) for p in topic.partitions} == {(1, 0, None)}
    assert dict(topic.config)["retention.ms"] == "86400000"
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


def test_a_topic_that_does_not_exist_is_a_problem_and_is_not_created(secured: SecuredCluster) -> None:
    snapshot = read(config(secured.plain), "visible", "nowhere")
    assert [topic.name for topic in snapshot.topics] == ["visible"]
    assert codes(snapshot) == ["TOPIC_MISSING"]
    assert "nowhere" in snapshot.problems[0].message
    assert "nowhere" not in AdminClient({"bootstrap.servers": secured.plain}).list_topics(timeout=5).topics


def test_without_names_every_topic_but_kafkas_own_is_read(secured: SecuredCluster) -> None:
    commit(secured.plain, "someone", "visible", {0: 1})
    names = {topic.name for topic in read(config(secured.plain)).topics}
    assert {"split", "visible", "hidden"} <= names
    assert not [name for name in names if name.startswith("__")]


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
    end = time.monotonic() + 20
    while (taken := read(config(lab.old_bootstrap), "reader-shared")).problems and time.monotonic() < end:
        time.sleep(0.1)  # the leaders of a topic just made are not all there
    whole = taken.topics
    monkeypatch.setattr(kafka_logs, "PARTITIONS_PER_CALL", 1)
    assert requests(lab, "reader-shared")["ListOffsets"] == 3 * kafka_logs.CALLS
    assert read(config(lab.old_bootstrap), "reader-shared").topics == whole
    assert (whole[0].partitions[0].hw, whole[0].partitions[60].hw) == (3, 4)


def requests(lab: Lab, topic: str) -> dict[str, int | None]:
    counter = RequestCounter()
    read_cluster(Cluster.OLD, config(lab.old_bootstrap), topics=(topic,), groups=(), counter=counter)
    # Not counted: Metadata, which librdkafka also refreshes by the clock.
    return {name: counter.by_type.get(name) for name in ("ListOffsets", "DescribeConfigs")}


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
        (kafka_logs.EARLIEST, ANY_OFFSET.earliest()),
        (kafka_logs.LATEST, ANY_OFFSET.latest()),
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
    assert said[kafka_logs.EARLIEST, False][:3] == [4, 0, 0]
    assert said[kafka_logs.LATEST, False][:3] == [10, 20, 1]
    assert said[kafka_logs.LATEST, True][:3] == [10, 20, 0]
    assert said[FIRST_MS + 3_500, False][:2] == [4, 4]
    assert said[kafka_logs.LATEST, False][3] == KafkaError._UNKNOWN_PARTITION


def fields(told: Any) -> tuple[int | None, ...]:
    error = told.args[0] if isinstance(told, KafkaException) else told
    return (error.code(),) if isinstance(error, KafkaError) else (told.offset, told.timestamp, told.leader_epoch)


def flow_of(lab: Lab, topic: str) -> tuple[Flow, LogRange]:
    old = read_cluster(Cluster.OLD, config(lab.old_bootstrap), topics=(topic,), groups=())
    new = read_cluster(Cluster.NEW, config(lab.new_bootstrap), topics=(topic,), groups=())
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
        end = time.monotonic() + 60
        # The sync of the last record is written when MirrorMaker next stores its offsets, every second here.
        while last_sync(lab, topic) < 1199 and time.monotonic() < end:
            time.sleep(0.2)
        # MirrorMaker never lowers a checkpoint, so only groups that are new now get what its store says now.
        for position in positions:
            commit(lab.old_bootstrap, f"reader-at-{position}", topic, {0: position})
        end, theirs = time.monotonic() + 60, dict[int, int]()
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
        bracket = index.bracket(topic, 0, position, new)
        assert bracket is not None
        assert bracket.lo is not None
        assert bracket.hi is not None
        assert (ours[position] or 0) <= bracket.lo <= position - 100 <= bracket.hi


def test_mirror_topics_are_read_to_their_end_even_where_it_is_a_marker(secured: SecuredCluster) -> None:
    name = "mm2-offset-syncs.marker.internal"
    create(secured.plain, NewTopic(name, 1, replica_assignment=[[1]]))
    producer = Producer({"bootstrap.servers": secured.plain, "transactional.id": "marker"})
    producer.init_transactions()
    producer.begin_transaction()
    key = bytes.fromhex("00066f726465727300000003")
    producer.produce(name, bytes.fromhex("000000000000041a00000000000003b6"), key)
    producer.produce(name, None, key)
    producer.produce(name, b"garbage", key)
    producer.commit_transaction()
    begun = time.monotonic()
    snapshot = read(config(secured.plain), "visible")
    admin = AdminClient({"bootstrap.servers": secured.plain})
    admin.delete_topics([name])[name].result()
    assert time.monotonic() - begun < PROMPT_S
    (topic,) = snapshot.mirror.topics
    assert (topic.alias, topic.records, topic.undecodable, topic.error) == ("marker", 1, 1, None)
    assert [(sync.upstream, sync.downstream) for sync in snapshot.mirror.syncs[0][1]] == [(1050, 950)]


@pytest.mark.parametrize(
    ("port", "properties", "error", "said"),
    [
        pytest.param("none", {}, ClusterUnreachableError, "Connection refused", id="broker-down"),
        pytest.param("tls_port", {}, ClusterAuthError, "expects TLS", id="plain-against-tls"),
        pytest.param(
            "plain_port", {"security.protocol": "ssl"}, ClusterAuthError, "expected TLS", id="tls-against-plain"
        ),
        pytest.param("tls_port", {"security.protocol": "ssl"}, ClusterAuthError, "not trusted", id="untrusted-ca"),
        pytest.param("sasl_port", {}, ClusterAuthError, "TLS or SASL", id="plain-against-sasl"),
        pytest.param(
            "sasl_port", {"sasl.password": "${WRONG}"}, ClusterAuthError, "refused to authenticate", id="password"
        ),
        pytest.param("sasl_port", {"sasl.mechanism": "SCRAM-SHA-512"}, ClusterAuthError, "refused", id="mechanism"),
    ],
)
def test_a_cluster_that_refuses_is_diagnosed_quickly(
    secured: SecuredCluster,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    port: str,
    properties: dict[str, str],
    error: type[ClusterError],
    said: str,
) -> None:
    monkeypatch.setenv("WRONG", "canary-wrong")
    if any(name.startswith("sasl") for name in properties):
        monkeypatch.setenv("RIGHT", USERS["reader"])
        properties = {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "reader",
            "sasl.password": "${RIGHT}",
        } | properties
    number = 1 if port == "none" else getattr(secured, port)
    cluster = ClusterConfig(name="old", properties={"bootstrap.servers": f"127.0.0.1:{number}", **properties})
    begun = time.monotonic()
    with pytest.raises(error, match=said) as raised:
        read(cluster)
    assert time.monotonic() - begun < PROMPT_S
    assert "canary" not in str(raised.value)
    assert raised.value.fix
    assert capfd.readouterr().err == ""


def sasl(cluster: SecuredCluster, user: str) -> ClusterConfig:
    return ClusterConfig(
        name="old",
        properties={
            "bootstrap.servers": f"127.0.0.1:{cluster.sasl_port}",
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": "${PASSWORD}",
        },
    )


def test_a_user_authorised_for_nothing_asked_is_an_error(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", USERS["stranger"])
    with pytest.raises(ClusterAuthError, match="authorised for none"):
        read(sasl(secured, "stranger"), "visible", "hidden")


def test_a_user_authorised_for_a_part_gets_that_part(secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", USERS["reader"])
    snapshot = read(sasl(secured, "reader"), "visible", "hidden", groups=("someone",))
    by_name = {topic.name: topic for topic in snapshot.topics}
    assert by_name["visible"].partitions[0].hw == 10
    assert "not authorised" in (by_name["hidden"].error or "")
    assert sorted(codes(snapshot)) == ["GROUP_UNREADABLE", "TOPIC_UNREADABLE"]
    assert snapshot.groups[0].state is None


def test_a_mirror_topic_that_the_user_may_not_read_is_a_problem(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", USERS["reader"])
    name = "mm2-offset-syncs.denied.internal"
    create(secured.plain, NewTopic(name, 1, replica_assignment=[[1]]))
    fill(secured.plain, name, {0: 3})
    allow(secured.plain, name, AclOperation.DESCRIBE)
    begun = time.monotonic()
    snapshot = read(sasl(secured, "reader"), "visible")
    admin = AdminClient({"bootstrap.servers": secured.plain})
    admin.delete_topics([name])[name].result()
    assert time.monotonic() - begun < PROMPT_S
    assert "not authorised" in (snapshot.mirror.topics[0].error or "")
    assert codes(snapshot) == ["MIRROR_UNREADABLE"]


def test_a_certificate_that_is_trusted_opens_the_tls_listener(secured: SecuredCluster) -> None:
    cluster = config(f"127.0.0.1:{secured.tls_port}", security_protocol="ssl", ssl_ca_location=secured.ca)
    assert read(cluster, "visible").topics[0].partitions[0].hw == 10


def test_spark_reads_through_both_listeners_with_the_mapped_properties(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", USERS["reader"])
    tls = config(f"127.0.0.1:{secured.tls_port}", security_protocol="ssl", ssl_ca_location=secured.ca)
    given = [dict(java_properties(cluster)) for cluster in (sasl(secured, "reader"), tls)]
    # A process of its own: a Spark session of this one may be another test's, without the connector.
    script = (
        "import json, sys\n"
        "from offsetwise.config import SparkSettings\n"
        "from offsetwise.pipeline.session import open_session\n"
        "spark = open_session(SparkSettings(master='local[1]'), kafka=True)\n"
        "for properties in json.load(sys.stdin):\n"
        "    options = {f'kafka.{name}': value for name, value in properties.items()}\n"
        "    frame = spark.read.format('kafka').options(**options).option('subscribe', 'visible').load()\n"
        "    print('records', frame.count())\n"
        "spark.stop()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert [line for line in ran.stdout.splitlines() if line.startswith("records")] == ["records 10"] * 2, ran.stderr


@pytest.mark.parametrize("per_call", [500, 1])
def test_a_broker_that_stands_still_leaves_its_partitions_out_by_name(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch, per_call: int
) -> None:
    monkeypatch.setattr(kafka_logs, "PARTITIONS_PER_CALL", per_call)
    begun = time.monotonic()
    with secured.paused(secured.second):
        snapshot = read(config(secured.plain), "split", timeout_s=3)
    assert time.monotonic() - begun < 3 + BUSY_S
    assert [partition.hw for partition in snapshot.topics[0].partitions] == [0, None, 0, None]
    (problem,) = [problem for problem in snapshot.problems if problem.code == "PARTITION_UNREADABLE"]
    assert "split-1, split-3" in problem.message
    assert "did not answer in time" in problem.message


def test_a_cluster_that_stands_still_is_unreachable_within_the_time_out(secured: SecuredCluster) -> None:
    begun = time.monotonic()
    with secured.paused(secured.first), secured.paused(secured.second), pytest.raises(ClusterUnreachableError):
        read(config(secured.plain), timeout_s=2)
    assert time.monotonic() - begun < 2 + BUSY_S


@pytest.mark.parametrize("delay_ms", [2, 5, 10, 20, 30, 50])
def test_a_cluster_that_stops_during_a_snapshot_never_passes_for_complete(
    secured: SecuredCluster, delay_ms: int
) -> None:
    whole = read(config(secured.plain), "split", "visible", groups=("someone",))
    timer = threading.Timer(delay_ms / 1000, os.kill, (secured.first.pid, signal.SIGSTOP))
    begun = time.monotonic()
    timer.start()
    try:
        snapshot = read(config(secured.plain), "split", "visible", groups=("someone",), timeout_s=1.5)
    except ClusterUnreachableError:
        snapshot = None
    finally:
        took = time.monotonic() - begun
        timer.join()
        os.kill(secured.first.pid, signal.SIGCONT)
    assert took < 1.5 + BUSY_S
    if snapshot is not None and not snapshot.problems:
        assert (snapshot.topics, snapshot.groups) == (whole.topics, whole.groups)


def test_partitions_without_a_leader_are_named_and_hold_nothing_up(secured: SecuredCluster) -> None:
    os.kill(secured.second.pid, signal.SIGKILL)
    while is_alive(secured.second):
        time.sleep(0.1)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if read(config(secured.plain), "split", timeout_s=3).topics[0].partitions[1].leader is None:
            break
    begun = time.monotonic()
    snapshot = read(config(secured.plain), "split")
    assert time.monotonic() - begun < PROMPT_S
    assert [p.error for p in snapshot.topics[0].partitions] == [None, "it has no leader at the moment"] * 2
    assert [p.hw for p in snapshot.topics[0].partitions] == [0, None, 0, None]
