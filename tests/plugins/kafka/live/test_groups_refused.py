"""A plan for two groups whose applier may write only one: told what stands where, taken back, applied at last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from offsetwise.lab import Lab
from tests.integration import clusters
from tests.integration.groups import Job, commit, committed
from tests.integration.secured_broker import USERS, SecuredCluster, secured_cluster
from tests.integration.topics import copies, create, produce

TOPIC, FIRST, SECOND = "refused-orders", "refused-first", "refused-second"
GONE, N, READ = 20, 100, 60
BEFORE = {FIRST: 3, SECOND: 4}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("secured")) as cluster:
        yield cluster


def allow(cluster: SecuredCluster, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    literal, allowed = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    made = [AclBinding(kind, name, literal, "User:reader", "*", each, allowed) for each in operations]
    admin = AdminClient({"bootstrap.servers": cluster.plain})
    for future in admin.create_acls(made).values():
        future.result(30)


def test_an_applier_that_may_write_half_of_a_plan_is_told_what_stands_where_and_can_take_it_back(
    lab: Lab, secured: SecuredCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", USERS["reader"])
    create(lab.old_bootstrap, TOPIC)
    clusters.create(secured.plain, NewTopic(TOPIC, 1, replica_assignment=[[1]]))
    produce(lab.old_bootstrap, {TOPIC: copies(0, N)})
    produce(secured.plain, {TOPIC: copies(GONE, N)})
    allow(secured, ResourceType.TOPIC, TOPIC, AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)
    allow(secured, ResourceType.GROUP, FIRST, AclOperation.READ)
    allow(secured, ResourceType.GROUP, SECOND, AclOperation.DESCRIBE)
    for group, offset in BEFORE.items():
        commit(secured.plain, group, {TOPIC: offset}, "by hand")
    job = Job(lab, FIRST, tmp_path)
    commit(lab.old_bootstrap, FIRST, {TOPIC: READ})
    job.write_migration(target={"properties": {"bootstrap.servers": secured.plain}})
    job.drafted("--target", f"consumer-group:{SECOND}")
    sasl = {
        "bootstrap.servers": f"127.0.0.1:{secured.sasl_port}",
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "reader",
        "sasl.password": "${PASSWORD}",
    }
    job.write_migration(target={"properties": sasl})

    ran = job.apply("--execute")

    assert ran.code == 1, ran.err
    error = json.loads(ran.out)
    assert f"consumer-group:{SECOND}" in error["problem"]
    assert "not authorised" in error["problem"]
    assert f"1 offset of group '{FIRST}' are committed on the new cluster as planned" in error["problem"]
    assert "offsetwise rollback" in error["fix"]
    assert stands(secured) == {FIRST: (READ - GONE, ""), SECOND: (BEFORE[SECOND], "by hand")}
    assert not (tmp_path / "receipt.json").exists()

    back = job.call(
        "rollback", tmp_path / "receipt.json.journal", "--plan", tmp_path / "plan.json", *job.signed, "--execute"
    )
    assert back.code == 0, back.err + back.out
    assert stands(secured) == {group: (offset, "by hand") for group, offset in BEFORE.items()}

    allow(secured, ResourceType.GROUP, SECOND, AclOperation.READ)
    again = job.apply("--execute", "--receipt", str(tmp_path / "again.json"))
    assert again.code == 0, again.err
    assert stands(secured) == dict.fromkeys(BEFORE, (READ - GONE, ""))


def stands(cluster: SecuredCluster) -> dict[str, tuple[int, str]]:
    """Return what each group has committed."""
    return {group: committed(cluster.plain, group)[TOPIC] for group in BEFORE}
