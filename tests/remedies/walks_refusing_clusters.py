"""Remedies of what a snapshot states where a cluster refuses, and of what the sinks and the groups of a job show."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

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

import offsetwise as ow
from offsetwise.client_properties import ClientProperties
from offsetwise.config import JobTraits
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings import judge_migration
from offsetwise.lab.brokers import jvm
from offsetwise.model import Outcome, Problem
from offsetwise.plan.sinks.gate import RESTORE
from offsetwise.plugins.kafka.stream import reader
from offsetwise.plugins.kafka.stream.client import Client, Deadline
from offsetwise.plugins.kafka.stream.groups import read_groups
from offsetwise.plugins.kafka.stream.wire import Wire
from offsetwise.transactions.decisions import Decision
from tests.findings import test_committed as of_commits
from tests.findings.cases import migration, row
from tests.integration.clusters import config, create, fill, read
from tests.integration.groups import commit
from tests.integration.secured_broker import USERS, SecuredCluster
from tests.integration.test_cluster_refusals import sasl
from tests.plan import test_sinks as of_plans
from tests.plan.scene import ETL, comparison, drafted
from tests.plugins.flink.files import Folder, Op, integer, metadata, state, subtask, utf, versioned
from tests.plugins.spark.folders import SAMPLES
from tests.remedies.walk import Scene, Steps, walk
from tests.transactions import test_command as of_commands

COMMITS = "findings/committed.py::"
SINKS = "findings/sinks.py::"
READING = "findings/reading.py::"
PENDING = SAMPLES / "flink-2.3-pending-transaction"
TOPICS = "plugins/kafka/stream/snapshot.py::_topic_problems"


@walk(COMMITS + "group_behind", "write the translated ones to it")
def group_behind(_: Scene) -> Steps:
    case = migration(
        checkpoint=of_commits.savepoint(),
        rows=(row(), row(partition=1)),
        committed=of_commits.committed(1010, 1050),
    )
    return Steps(lambda: judge_migration(case), lambda: None, lambda: drafted(comparison(), ETL) and None)


@walk(COMMITS + "transaction_expired", "Ask the sink's cluster whether they were committed")
def transaction_expired(_: Scene) -> Steps:
    held = migration(checkpoint=of_commits.savepoint("v1", written_ms=0), rows=(row(),))
    asked = replace(held, sink=of_commits.answer(Decision.SETTLED))
    return Steps(lambda: judge_migration(held), lambda: None, lambda: judge_migration(asked))


@walk(COMMITS + "transaction_expired", "Ask whether they were committed", name="transaction_that_was_lost")
def _(_: Scene) -> Steps:
    held = migration(
        checkpoint=of_commits.savepoint("v1"), rows=(row(),), sink=of_commits.answer(Decision.LOST, timeout_ms=1)
    )
    earlier = replace(held, checkpoint=of_commits.savepoint())
    return Steps(lambda: judge_migration(held), lambda: None, lambda: judge_migration(earlier))


@walk("plugins/flink/engine/findings.py::transaction_pending", "Ask that cluster: kafka-transactions.sh", proof=True)
def transaction_asked_for(scene: Scene) -> Steps:
    bootstrap = cluster(scene).plain
    problems = read_checkpoint(str(PENDING)).problems
    (problem,) = (stated for stated in problems if "kafka-transactions.sh" in stated.fix)
    arguments = shlex.split(problem.fix.partition("kafka-transactions.sh ")[2].replace("HOST:PORT", bootstrap))
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": arguments[-1]})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("visible", b"pending")
    producer.flush(60)

    def ask() -> None:
        tool = jvm(scene.folder, "org.apache.kafka.tools.TransactionsCommand", *arguments, heap="128m")
        answer = subprocess.run(tool, check=True, capture_output=True, text=True).stdout
        producer.abort_transaction(60)
        assert "Ongoing" in answer, "the cluster knows the transaction by the name that the remedy gives"

    return Steps(lambda: read_checkpoint(str(PENDING)).problems, lambda: None, ask)


@walk(SINKS + "sink_moves_with_pending", "then draft the plan with --set mark_settled=true")
def sink_moves_with_pending(_: Scene) -> Steps:
    case = migration(
        checkpoint=of_commits.savepoint("v1"),
        rows=(row(),),
        job=JobTraits(sink_cluster="old", new_sink_cluster="new"),
    )

    def settled_and_marked() -> None:
        plan = of_plans.plan(of_plans.SETTLED, mark_settled=True)
        assert of_plans.outcome(RESTORE, plan) is Outcome.PASSED

    return Steps(lambda: judge_migration(case), lambda: None, settled_and_marked)


@walk(SINKS + "prefix_overlaps", "Give every sink a transactional id prefix of its own")
def prefix_overlaps(_: Scene) -> Steps:
    def pooled(prefix: str) -> Op:
        writer = versioned(utf(prefix) + integer(0) + integer(1) + integer(1) + integer(0), version=2)
        return Op(uid=f"sink {prefix}", subtasks=[subtask(0, state("writer_raw_states", [writer]))])

    def read_sinks(*prefixes: str) -> tuple[Problem, ...]:
        return Folder(data=metadata(*map(pooled, prefixes))).read().problems

    return Steps(lambda: read_sinks("orders", "orders-eu"), lambda: None, lambda: read_sinks("orders-us", "orders-eu"))


def refused_time_out(scene: Scene) -> tuple[Path, dict[str, str], Callable[[], object]]:
    """Return a migration file, the settings of the new cluster's brokers, and what is stated of its sink."""
    scene.request.getfixturevalue("asked")
    allowed = {"most": "900000"}
    scene.patch.setattr(reader, "transaction_facts", lambda config, **_: of_commands.facts(allowed["most"], config))
    stated = of_commands.entry("orders", of_commands.POOLED / "savepoint-3-pending", sink_cluster="old")
    path = of_commands.migration(scene.folder, stated)
    return path, allowed, lambda: ow.Migration.load(path).transactions("orders").findings


@walk(SINKS + "transaction_timeout_refused", "Raise transaction.max.timeout.ms", name="brokers_allow_longer")
def _(scene: Scene) -> Steps:
    _, allowed, command = refused_time_out(scene)
    return Steps(command, lambda: allowed.update(most="3600000"))


@walk(SINKS + "transaction_timeout_refused", "or shorten transaction.timeout.ms", name="producer_asks_for_less")
def _(scene: Scene) -> Steps:
    path, _, command = refused_time_out(scene)

    def shorten() -> None:
        body = yaml.safe_load(path.read_text())
        body["checkpoints"][0]["job"]["transaction_timeout_ms"] = 900_000
        path.write_text(yaml.safe_dump(body))

    return Steps(command, shorten)


# A cluster that refuses.
def cluster(scene: Scene, *topics: str) -> SecuredCluster:
    """Return the cluster, with topics of these names of which its user may see nothing."""
    found: SecuredCluster = scene.request.getfixturevalue("secured")
    scene.patch.setenv("PASSWORD", USERS["reader"])
    for name in topics:
        create(found.plain, NewTopic(name, 1, replica_assignment=[[1]]))
    return found


def grant(
    found: SecuredCluster, kind: ResourceType, name: str, *operations: AclOperation, user: str = "reader"
) -> None:
    admin = AdminClient({"bootstrap.servers": found.plain})
    for operation in operations:
        to = (kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for future in admin.create_acls([AclBinding(*to)]).values():
            future.result()


for kind, words in (("code", "Grant DESCRIBE on the topic"), ("problem", "Grant DESCRIBE on it.")):

    @walk(READING + "topic_unreadable", words, name=f"topic_unreadable_by_{kind}", proof=True)
    def _(scene: Scene, topic: str = f"topic-unread-{kind}") -> Steps:
        found = cluster(scene, topic)
        return Steps(
            lambda: read(sasl(found, "reader"), "visible", topic).problems,
            lambda: grant(found, ResourceType.TOPIC, topic, AclOperation.DESCRIBE),
        )


for kind, words in (
    ("code", "Grant DESCRIBE_CONFIGS on the topics"),
    ("problem", "Grant DESCRIBE_CONFIGS on them."),
):

    @walk(READING + "config_unreadable", words, name=f"config_unreadable_by_{kind}", proof=True)
    def _(scene: Scene, topic: str = f"config-unread-{kind}") -> Steps:
        found = cluster(scene, topic)
        grant(found, ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
        return Steps(
            lambda: read(sasl(found, "reader"), topic).problems,
            lambda: grant(found, ResourceType.TOPIC, topic, AclOperation.DESCRIBE_CONFIGS),
        )


@walk(TOPICS, "or check that this is the right cluster", proof=True)
def no_topic_to_be_seen(scene: Scene) -> Steps:
    found = cluster(scene, "shown-to-the-stranger")
    scene.patch.setenv("PASSWORD", USERS["stranger"])
    return Steps(
        lambda: read(sasl(found, "stranger")).problems,
        lambda: grant(found, ResourceType.TOPIC, "shown-to-the-stranger", AclOperation.DESCRIBE, user="stranger"),
    )


@walk(TOPICS, "Create or mirror it", name="topic_created", proof=True)
def _(scene: Scene) -> Steps:
    found = cluster(scene)
    return Steps(
        lambda: read(config(found.plain), "visible", "made-later").problems,
        lambda: create(found.plain, NewTopic("made-later", 1, replica_assignment=[[1]])),
    )


@walk("plugins/kafka/stream/groups.py::_unlisted", "when all brokers answer", proof=True)
def groups_unlisted(scene: Scene) -> Steps:
    found, standing = cluster(scene), ExitStack()
    scene.request.addfinalizer(standing.close)
    standing.enter_context(found.paused(found.second))
    return Steps(lambda: read(config(found.plain), "visible", groups=("walked",), timeout_s=3).problems, standing.close)


@walk("plugins/kafka/stream/groups.py::_without_metadata", "in place of a key store", proof=True)
def metadata_unread(scene: Scene) -> Steps:
    found = cluster(scene)
    commit(found.plain, "marked", {"visible": 0}, "by hand")
    store = {"ssl.keystore.location": "client.p12"}

    def read_marked() -> tuple[Problem, ...]:
        client = Client(config(found.plain), timeout_s=20)
        client.contact()
        client.properties = ClientProperties({**client.properties, **store})
        return tuple(problem for _, problem in read_groups(client, ("marked",))[1])

    return Steps(read_marked, store.clear)


for usual, words in (
    ("walked", "Grant DESCRIBE on the group and its topics."),
    ("taken", "or take the snapshot again"),
):

    @walk(READING + "group_unreadable", words, name=f"group_unreadable_{usual}", proof=True)
    def _(scene: Scene, group: str = usual) -> Steps:
        found = cluster(scene)
        return Steps(
            lambda: read(sasl(found, "reader"), "visible", groups=(group,)).problems,
            lambda: grant(found, ResourceType.GROUP, group, AclOperation.DESCRIBE),
        )


for kind, words in (("code", "Grant READ on the topic"), ("problem", "Grant READ on it.")):

    @walk(READING + "mirror_unreadable", words, name=f"mirror_unreadable_by_{kind}", proof=True)
    def _(scene: Scene, topic: str = f"mm2-offset-syncs.{kind}.internal") -> Steps:
        found = cluster(scene, topic)
        fill(found.plain, topic, {0: 3})
        grant(found, ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
        return Steps(
            lambda: read(sasl(found, "reader"), "visible").problems,
            lambda: grant(found, ResourceType.TOPIC, topic, AclOperation.READ),
        )


@walk(READING + "partition_unreadable", "Check the brokers that lead them", proof=True)
def partition_unreadable(scene: Scene) -> Steps:
    found, standing = cluster(scene), ExitStack()
    scene.request.addfinalizer(standing.close)
    standing.enter_context(found.paused(found.second))
    return Steps(lambda: read(config(found.plain), "split", timeout_s=3).problems, standing.close)


@walk(
    "plugins/kafka/stream/snapshot.py::ClusterReading._not_authorised",
    "Grant DESCRIBE and DESCRIBE_CONFIGS",
    proof=True,
)
def nothing_readable(scene: Scene) -> Steps:
    found = cluster(scene, "none-readable")
    return Steps(
        lambda: read(sasl(found, "reader"), "none-readable") and None,
        lambda: grant(found, ResourceType.TOPIC, "none-readable", AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS),
    )


@walk("plugins/kafka/stream/wire.py::Wire.__init__", "Check the certificates and sasl.mechanism", proof=True)
def second_client_with_another_mechanism(scene: Scene) -> Steps:
    to = sasl(cluster(scene), "reader")
    right = {**to.properties, "sasl.password": USERS["reader"]}
    given = {**right, "sasl.mechanism": "SCRAM-SHA-256"}

    def connect() -> None:
        Wire(to, ClientProperties(given), Deadline(5)).__exit__(None, None, None)

    return Steps(connect, lambda: given.update(right))
