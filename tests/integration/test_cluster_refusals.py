"""The cluster reader against a cluster that refuses, stands still, or loses a broker."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from offsetwise.config import ClusterConfig, java_properties
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.lab.processes import is_alive
from offsetwise.plugins.kafka.stream import logs
from tests.commands import call
from tests.integration.clusters import codes, commit, config, create, fill, read, read_apart
from tests.integration.secured_broker import USERS, SecuredCluster, secured_cluster

PROMPT_S = 12
"""Well below the 20 s after which the reader gives up, and far above what it needs on a busy machine."""
BUSY_S = 5
"""What a busy machine may add to a time-out."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("secured")) as cluster:
        create(cluster.plain, NewTopic("split", 4, replica_assignment=[[1], [2], [1], [2]]))
        create(cluster.plain, NewTopic("visible", 1, replica_assignment=[[1]]))
        create(cluster.plain, NewTopic("hidden", 1, replica_assignment=[[1]]))
        fill(cluster.plain, "visible", {0: 10})
        allow(cluster.plain, "visible", AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)
        yield cluster


def allow(bootstrap: str, topic: str, *operations: AclOperation) -> None:
    admin, user, literal = AdminClient({"bootstrap.servers": bootstrap}), "User:reader", ResourcePatternType.LITERAL
    for operation in operations:
        acl = AclBinding(ResourceType.TOPIC, topic, literal, user, "*", operation, AclPermissionType.ALLOW)
        for future in admin.create_acls([acl]).values():
            future.result()


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


REFUSED = "the broker refused to authenticate this user: .*"
"""What the broker says of it depends on its release."""


@pytest.mark.parametrize(
    ("port", "properties", "error", "said", "fix"),
    [
        pytest.param(
            "none",
            {},
            ClusterUnreachableError,
            "expected a Kafka broker, found none: .*Connection refused.*",
            "bootstrap.servers",
            id="broker-down",
        ),
        pytest.param(
            "tls_port",
            {},
            ClusterAuthError,
            "the broker closes connections of plaintext, it probably expects TLS or SASL: .*",
            "Set security.protocol",
            id="plain-against-tls",
        ),
        pytest.param(
            "plain_port",
            {"security.protocol": "ssl"},
            ClusterAuthError,
            r"expected TLS \(security.protocol is ssl\), but the handshake failed: .*",
            "set security.protocol to plaintext",
            id="tls-against-plain",
        ),
        pytest.param(
            "tls_port",
            {"security.protocol": "ssl"},
            ClusterAuthError,
            "the broker's certificate is not trusted: .*",
            "ssl.ca.location",
            id="untrusted-ca",
        ),
        pytest.param(
            "sasl_port",
            {},
            ClusterAuthError,
            "the broker closes connections of plaintext, it probably expects TLS or SASL: .*",
            "Set security.protocol",
            id="plain-against-sasl",
        ),
        pytest.param(
            "sasl_port", {"sasl.password": "${WRONG}"}, ClusterAuthError, REFUSED, "sasl.password", id="password"
        ),
        pytest.param(
            "sasl_port",
            {"sasl.mechanism": "SCRAM-SHA-512"},
            ClusterAuthError,
            REFUSED,
            "sasl.mechanism",
            id="mechanism",
        ),
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
    fix: str,
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
    with pytest.raises(error) as raised:
        read(cluster)
    assert time.monotonic() - begun < PROMPT_S
    assert "canary" not in str(raised.value)
    told = f"Cluster 'old' at 127.0.0.1:{number}: {said} Nothing was read from it."
    assert re.fullmatch(told, raised.value.problem), raised.value.problem
    assert fix in raised.value.fix
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


def test_a_wrong_password_is_said_on_the_command_line_without_a_traceback(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PASSWORD", "canary-wrong")
    migration = {
        "name": "refused",
        "source": {"name": "old", "properties": dict(sasl(secured, "reader").properties)},
        "target": {"name": "new", "properties": {"bootstrap.servers": secured.plain}},
        "groups": ["someone"],
    }
    path = tmp_path / "migration.yaml"
    path.write_text(yaml.safe_dump(migration), encoding="utf-8")
    ran = call("compare", "--migration", path, "--group", "someone", "--no-content", "--json")
    error = ran.refused()
    assert "Cluster 'old'" in error["problem"]
    assert re.search(f"{REFUSED} Nothing was read from it.", error["problem"])
    assert "sasl.password" in error["fix"]
    assert "canary" not in ran.out + ran.err
    assert capfd.readouterr() == ("", "")


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


def test_init_reads_with_javas_properties_and_says_what_the_user_may_not_see(
    secured: SecuredCluster, tmp_path: Path
) -> None:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    for user in ("reader", "stranger"):
        password = USERS[user].replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
        (tmp_path / f"{user}.properties").write_text(
            f"bootstrap.servers={sasl(secured, user).properties['bootstrap.servers']}\n"
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={login} required username="{user}" password="{password}";\n',
            encoding="utf-8",
        )
    commit(secured.plain, "someone", "visible", {0: 5})
    told = {}
    for user in ("reader", "stranger"):
        given = ("--old", tmp_path / f"{user}.properties", "--new", secured.plain, "--checkpoints", tmp_path)
        ran = call("init", *given, "--out", tmp_path / f"{user}.yaml", "--json")
        assert ran.code == 1
        told[user] = json.loads(ran.out)
        assert told[user]["written"]
        text = (tmp_path / f"{user}.yaml").read_text(encoding="utf-8")
        assert "The old cluster lists none: there is none, or the user may not DESCRIBE any." in " ".join(
            text.replace("\n# ", " ").split()
        )
        assert not any(secret in ran.out + ran.err + text for secret in USERS.values())
    problems = {user: " ".join(each["problem"] for each in body["problems"]) for user, body in told.items()}

    assert told["reader"]["old"]["topics"] == 1
    assert "Cluster 'old' shows no topic: it is empty, or the user may not see any." in problems["stranger"]
    for said in problems.values():
        assert "--old and --new: expected two clusters, found the cluster id" in said
        assert "expected checkpoints in it, found none" in said


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
    monkeypatch.setattr(logs, "PARTITIONS_PER_CALL", per_call)
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
        read_apart(config(secured.plain), timeout_s=2)
    assert time.monotonic() - begun < 2 + BUSY_S


@pytest.mark.parametrize("delay_ms", [2, 5, 10, 20, 30, 50])
def test_a_cluster_that_stops_during_a_snapshot_never_passes_for_complete(
    secured: SecuredCluster, delay_ms: int
) -> None:
    whole = read_apart(config(secured.plain), "split", "visible", groups=("someone",))
    timer = threading.Timer(delay_ms / 1000, os.kill, (secured.first.pid, signal.SIGSTOP))
    begun = time.monotonic()
    timer.start()
    try:
        snapshot = read_apart(config(secured.plain), "split", "visible", groups=("someone",), timeout_s=1.5)
    except ClusterUnreachableError:
        snapshot = None
    finally:
        took = time.monotonic() - begun
        timer.join()
        os.kill(secured.first.pid, signal.SIGCONT)
    assert took < 1.5 + BUSY_S
    if snapshot is not None and not snapshot.problems:
        assert (snapshot.topics, snapshot.groups) == (whole.topics, whole.groups)


def test_a_cluster_that_answers_as_the_time_runs_out_does_not_abort_the_process(secured: SecuredCluster) -> None:
    command = [sys.executable, "-m", "tests.integration.thawing", secured.plain, str(secured.first.pid)]
    try:
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    finally:
        os.kill(secured.first.pid, signal.SIGCONT)
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.gates
@pytest.mark.proof
def test_a_coordinator_that_is_not_ready_yet_does_not_crash_the_process(tmp_path: Path) -> None:
    with secured_cluster(tmp_path) as fresh:
        command = [sys.executable, "-m", "tests.integration.unready", fresh.plain]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout) == (0, "5\n"), ran.stderr[-2000:]


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
