"""The connection test, the permissions and the ACL commands against a real broker with TLS, SASL and ACLs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
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

from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab
from offsetwise.model import Cluster, TopicPartition
from offsetwise.plugins.kafka.stream.connection import try_connection
from offsetwise.plugins.kafka.stream.permissions import minimum_acls, read_permissions
from offsetwise.plugins.kafka.stream.record_times import timestamps_at
from offsetwise.streams.access import Resource, Step, StepName, StepResult
from tests.integration.clusters import take_snapshot
from tests.integration.secured_broker import USERS, SecuredCluster, secured_cluster

FIRST_MS = 1_700_000_000_000
TOPICS = ("granted", "writable")
GROUPS = ("named group", "it's-or\u202eders")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("secured")) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.plain})
        for future in admin.create_topics([NewTopic(name, 1) for name in (*TOPICS, "hidden")]).values():
            future.result()
        writing = AclBinding(
            ResourceType.TOPIC,
            "writable",
            ResourcePatternType.LITERAL,
            "User:reader",
            "*",
            AclOperation.WRITE,
            AclPermissionType.ALLOW,
        )
        for future in admin.create_acls([writing]).values():
            future.result()
        yield cluster


def config(bootstrap: str, **properties: str) -> ClusterConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap, **named})


def sasl(cluster: SecuredCluster, monkeypatch: pytest.MonkeyPatch, secret: str = USERS["reader"]) -> ClusterConfig:
    monkeypatch.setenv("SECURED_PASSWORD", secret)
    return config(
        f"127.0.0.1:{cluster.sasl_port}",
        security_protocol="sasl_plaintext",
        sasl_mechanism="PLAIN",
        sasl_username="reader",
        sasl_password="${SECURED_PASSWORD}",  # a reference
    )


def states(steps: tuple[Step, ...]) -> dict[StepName, StepResult]:
    return {step.name: step.state for step in steps}


def failed(steps: tuple[Step, ...]) -> Step:
    (found,) = [step for step in steps if step.state is StepResult.FAILED]
    return found


def test_a_plain_broker_passes_every_step_that_applies(secured: SecuredCluster) -> None:
    steps = try_connection(config(secured.plain), topic="granted")
    assert states(steps) == {
        StepName.RESOLVE: StepResult.OK,
        StepName.CONNECT: StepResult.OK,
        StepName.TLS: StepResult.SKIPPED,
        StepName.AUTHENTICATE: StepResult.SKIPPED,
        StepName.METADATA: StepResult.OK,
        StepName.OFFSETS: StepResult.OK,
        StepName.GROUPS: StepResult.OK,
    }
    assert "2 brokers, 3 topics" in steps[4].said
    assert "granted-0 begins at 0 and ends at 0" in steps[5].said


def test_tls_shows_the_certificate_and_warns_before_it_expires(secured: SecuredCluster) -> None:
    steps = try_connection(config(f"127.0.0.1:{secured.tls_port}", security_protocol="ssl", ssl_ca_location=secured.ca))
    tls = steps[2]
    assert tls.state is StepResult.OK
    assert "certificate of CN=localhost for 127.0.0.1, localhost" in tls.said
    assert "Renew" in tls.fix
    assert states(steps)[StepName.GROUPS] is StepResult.OK


def test_a_wrong_password_fails_to_authenticate_within_seconds(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    found = failed(try_connection(sasl(secured, monkeypatch, "wrong-canary")))
    assert time.monotonic() - began < 5
    assert found.name is StepName.AUTHENTICATE
    assert "Authentication failed" in found.said
    assert "sasl.password" in found.fix
    assert "canary" not in str(found)


def test_plaintext_to_a_tls_listener_names_the_protocol(secured: SecuredCluster) -> None:
    found = failed(try_connection(config(f"127.0.0.1:{secured.tls_port}")))
    assert found.name is StepName.METADATA
    assert "closes connections of plaintext" in found.said
    assert "security.protocol" in found.fix


def test_tls_to_a_plain_listener_names_the_protocol(secured: SecuredCluster) -> None:
    found = failed(try_connection(config(secured.plain, security_protocol="ssl", ssl_ca_location=secured.ca)))
    assert found.name is StepName.TLS
    assert "plain listener" in found.fix


def test_a_broker_that_stands_still_ends_the_test_in_time(secured: SecuredCluster) -> None:
    with secured.paused(secured.first):
        began = time.monotonic()
        found = failed(try_connection(config(secured.plain), timeout_s=2))
        assert time.monotonic() - began < 5
    assert found.name is StepName.METADATA
    assert "did not answer within 2 s" in found.said


def test_writing_is_told_as_the_broker_authorises_it_and_never_tried(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read_permissions(
        Cluster.OLD, sasl(secured, monkeypatch), topics=(*TOPICS, "hidden"), groups=("never-made",)
    )
    of = {(each.resource, each.name): each for each in found.granted}
    assert found.user == "reader"
    assert [(each.name, each.writing) for each in found.writable] == [("writable", ("WRITE",))]
    assert "READ" in of[Resource.TOPIC, "hidden"].missing
    assert of[Resource.GROUP, "never-made"].missing == ("DESCRIBE",)
    ends = take_snapshot(Cluster.OLD, config(secured.plain), topics=TOPICS, groups=())
    assert {partition.hw for topic in ends.topics for partition in topic.partitions} == {0}


def test_a_super_user_is_shown_with_everything_it_may_do(secured: SecuredCluster) -> None:
    found = read_permissions(Cluster.OLD, config(secured.plain), topics=("granted",), groups=())
    assert found.authorizer is True
    (topic,) = [each for each in found.granted if each.resource is Resource.TOPIC]
    assert topic.writing == ("ALTER", "ALTER_CONFIGS", "CREATE", "DELETE", "WRITE")
    assert topic.missing == ()


def test_the_commands_to_copy_grant_exactly_what_reading_takes(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = sasl(secured, monkeypatch)
    before = failed(try_connection(user, groups=GROUPS))
    assert before.name is StepName.GROUPS
    for each in minimum_acls(user, topics=("granted",), mirror_topics=(), groups=GROUPS):
        grant(secured, each.command)
    end = time.monotonic() + 120
    read = take_snapshot(Cluster.OLD, user, topics=("granted",), groups=GROUPS)
    while read.problems and time.monotonic() < end:  # the coordinator's partition is made by the first question
        time.sleep(0.2)
        read = take_snapshot(Cluster.OLD, user, topics=("granted",), groups=GROUPS)
    assert read.problems == ()
    assert [group.name for group in read.groups] == sorted(GROUPS)
    assert failed_or_none(try_connection(user, topic="granted", groups=GROUPS)) is None
    found = read_permissions(Cluster.OLD, user, topics=("granted",), groups=GROUPS)
    assert all(not each.missing and not each.writing for each in found.granted)


def failed_or_none(steps: tuple[Step, ...]) -> Step | None:
    return next((step for step in steps if step.state is StepResult.FAILED), None)


def grant(cluster: SecuredCluster, command: str) -> None:
    """Read a command as a shell would, and do what `kafka-acls.sh` does with it, as a super user."""
    read = subprocess.run(["bash", "-c", f'printf "%s\\0" {command}'], capture_output=True, text=True, check=True)
    words = read.stdout.split("\0")[:-1]
    principal = words[words.index("--allow-principal") + 1]
    pattern = ResourcePatternType.PREFIXED if "prefixed" in words else ResourcePatternType.LITERAL
    operations = [words[at + 1] for at, word in enumerate(words) if word == "--operation"]
    resources = [
        (kind, word.removeprefix(option))
        for word in words
        for option, kind in (("--topic=", ResourceType.TOPIC), ("--group=", ResourceType.GROUP))
        if word.startswith(option)
    ]
    assert words[:2] == ["kafka-acls.sh", "--bootstrap-server"]
    named = {
        "Read": AclOperation.READ,
        "Describe": AclOperation.DESCRIBE,
        "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
    }
    made = [
        AclBinding(kind, name, pattern, principal, "*", named[operation], AclPermissionType.ALLOW)
        for kind, name in resources
        for operation in operations
    ]
    admin = AdminClient({"bootstrap.servers": cluster.plain})
    for future in admin.create_acls(made).values():
        future.result()


def test_a_cluster_without_an_authorizer_is_told_as_such(lab: Lab) -> None:
    found = read_permissions(Cluster.OLD, config(lab.old_bootstrap), topics=(), groups=())
    assert found.authorizer is False


def test_the_time_of_the_record_at_a_position_is_read(lab: Lab) -> None:
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    admin.create_topics([NewTopic("record-times", 2)])["record-times"].result()
    producer = Producer({"bootstrap.servers": lab.old_bootstrap})
    for number in range(10):
        producer.produce("record-times", f"{number}", partition=0, timestamp=FIRST_MS + number * 1000)
    producer.flush()
    first, second = (TopicPartition("record-times", number) for number in (0, 1))
    places = [(first, 3), (first, 9), (first, 10), (first, 99), (second, 0)]
    began = time.monotonic()
    found = timestamps_at(config(lab.old_bootstrap), places)
    assert time.monotonic() - began < 10
    assert found == {
        (first, 3): FIRST_MS + 3000,
        (first, 9): FIRST_MS + 9000,
        (first, 10): None,
        (first, 99): None,
        (second, 0): None,
    }


def test_the_time_of_the_last_sync_comes_with_the_snapshot(sample: Path, lab: Lab) -> None:
    assert sample.is_file()
    mirror = take_snapshot(Cluster.OLD, config(lab.old_bootstrap), topics=(), groups=()).mirror
    syncs = [topic for topic in mirror.topics if topic.kind == "offset-syncs" and topic.records]
    assert syncs
    assert all(topic.newest_ms is not None and topic.newest_ms > FIRST_MS for topic in syncs)


def test_the_newest_heartbeat_of_each_flow_comes_with_the_snapshot(sample: Path, lab: Lab) -> None:
    assert sample.is_file()
    mirror = take_snapshot(Cluster.NEW, config(lab.new_bootstrap), topics=(), groups=()).mirror
    newest = max(topic.newest_ms or 0 for topic in mirror.topics if topic.kind == "heartbeats")
    (beat,) = [beat for beat in mirror.heartbeats if (beat.source, beat.target) == ("old", "new")]
    assert FIRST_MS < beat.timestamp_ms <= newest
