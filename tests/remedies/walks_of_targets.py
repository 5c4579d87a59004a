"""Remedies of targets that do not fit a job of Kinesis: its lease table, its savepoint or its Spark checkpoint."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from offsetwise.model import Plan
from offsetwise.plan.target import target_type
from tests.apply.plans import COPY
from tests.plugins.flink.targets.test_kinesis_state import LEGACY
from tests.plugins.kinesis.streams import lease
from tests.plugins.kinesis.targets.kinesis_plans import halves, on_another, shard_plan, with_child
from tests.plugins.kinesis.test_checkpoints import DATA, PENDING
from tests.plugins.spark.targets.test_kinesis_spark import laid
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_commands import run
from tests.remedies.walks_engines import query_behind_a_split
from tests.remedies.walks_streams import TRAITS, made, number
from tests.storage.test_dynamodb import put

Call = Callable[[], object]
TOLERANT = "{stream: chain, stateful: false, tolerates_replay: true}"
ARN = "arn:aws:kinesis:us-east-1:123456789012:stream/"


def draft(path: Path, target: str, *given: str, **settings: str) -> Call:
    """Return the draft of a plan from the clusters, each time to a new file."""
    values = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]

    def command() -> object:
        out = path.parent / f"plan-{len(list(path.parent.glob('plan-*')))}.json"
        named = ("--migration", path, "--checkpoint", "app", "--target", target, "--author", "ada", "--out", out)
        return run("draft", *named, *given, *values)()

    return command


def application(scene: Scene, job: str = TRAITS) -> Path:
    """Return a migration of an application of the KCL, at numbers as Kinesis writes them."""
    return made(scene).migration(scene.folder, lease(0, number(0)), lease(1, number(1)), job=job)


@walk(
    "plugins/kinesis/targets/at_timestamp/spec.py::AtTimestampTarget.objections",
    "or write the positions: --target starting-position",
)
def job_that_may_not_read_again(scene: Scene) -> Steps:
    path = application(scene)
    at_time, at_positions = draft(path, "at-timestamp"), draft(path, "starting-position")
    return Steps(
        at_time,
        lambda: path.write_text(path.read_text().replace(TRAITS, TOLERANT)),
        lambda: at_time() or at_positions(),
    )


@walk(
    "plugins/flink/targets/spec.py::against_savepoint",
    "For KinesisStreamsSource write to flink-savepoint-from-positions",
)
def savepoint_of_an_application(scene: Scene) -> Steps:
    path = application(scene)
    savepoint = {"uid": "src", "stream_arn": f"{ARN}chain", "parallelism": "1", "max_parallelism": "128"}
    for_source = draft(path, "flink-savepoint-from-positions", **savepoint)
    for_legacy = draft(path, "at-timestamp")
    return Steps(
        draft(path, "flink-savepoint"),
        lambda: path.write_text(path.read_text().replace(TRAITS, TOLERANT)),
        lambda: for_source() or for_legacy(),
    )


# Lease tables.
CREATED = {"create_table": "true", "kcl": "2"}


@walk(
    "plugins/kinesis/targets/kcl_leases/spec.py::_of_tables",
    "Leave out --set create_table and --set kcl to write to it",
)
def table_that_is_there_already(scene: Scene) -> Steps:
    client, name = scene.request.getfixturevalue("dynamodb"), "walk-there-already"
    path = application(scene)
    address = f'endpoint: "{made(scene).address}"'
    path.write_text(path.read_text().replace(address, f"{address}, dynamodb_{address}"))
    rows = (lease(0, number(0)), lease(1, number(1)))
    key = [{"AttributeName": "leaseKey", "KeyType": "HASH"}]
    put(client, name, {"KeySchema": key, "Items": rows})
    scene.request.addfinalizer(lambda: client.delete_table(TableName=name))
    written_to, another = draft(path, f"kcl-leases:{name}"), draft(path, f"kcl-leases:{name}-2", **CREATED)
    return Steps(draft(path, f"kcl-leases:{name}", **CREATED), lambda: None, lambda: written_to() or another())


def other_settings(words: str, name: str, before: Mapping[str, str], *after: Mapping[str, str]) -> None:
    """Add a walk whose remedy is the same draft of new leases with other settings."""

    @walk("plugins/kinesis/targets/kcl_leases/spec.py::_of_settings", words, name=name)
    def _(scene: Scene) -> Steps:
        path = application(scene)
        drafts = [draft(path, "kcl-leases:new", **settings) for settings in after]
        return Steps(
            draft(path, "kcl-leases:new", **before),
            lambda: None,
            lambda: [problem for command in drafts for problem in command()],  # type: ignore[attr-defined]
        )


other_settings("Add --set kcl=2", "table_for_no_version", {"create_table": "true"}, CREATED, {**CREATED, "kcl": "3"})
other_settings("or leave out --set kcl", "version_of_no_table", {"kcl": "3"}, {**CREATED, "kcl": "3"}, {})


# Savepoints.
def savepoint(scene: Scene, recorded: str, stream: str) -> Callable[..., Call]:
    """Return drafts for a recorded savepoint, whose stream is there and has lost the records of its time."""
    client = made(scene).client
    client.create_stream(StreamName=stream, ShardCount=2)
    scene.request.addfinalizer(lambda: client.delete_stream(StreamName=stream))
    shutil.copytree(DATA / "flink" / recorded, scene.folder / "savepoint")
    path = made(scene).migration(scene.folder, job="{stateful: false, sink: kafka}")
    path.write_text(path.read_text().replace("./dumps/app.json", "./savepoint"))
    oldest = [part for shard in (0, 1) for part in ("--override", f"{stream}:{shard}=TRIM_HORIZON")]

    def drafted(target: str, **settings: str) -> Call:
        return draft(path, target, *oldest, "--reason", "The records are gone.", **settings)

    return drafted


@walk("plugins/flink/targets/savepoint_converted/spec.py::_against_said", "Leave --set stream_arn out")
def another_arn_than_the_streams(scene: Scene) -> Steps:
    drafted = savepoint(scene, LEGACY, "lg")
    other = drafted("flink-savepoint-converted", stream_arn=f"{ARN}other")
    return Steps(other, lambda: None, drafted("flink-savepoint-converted"))


@walk(
    "plugins/flink/targets/savepoint_converted/spec.py::SavepointConvertedTarget.objections", "Write to flink-savepoint"
)
def savepoint_of_the_new_source_converted(scene: Scene) -> Steps:
    drafted = savepoint(scene, "streams-source-5.1.0-two-shards", "fl")
    return Steps(drafted("flink-savepoint-converted"), lambda: None, drafted("flink-savepoint"))


# Checkpoints of Spark.
SHARDS = "plugins/spark/targets/kinesis/spec.py::"


def pending(words: str, name: str, changed: Callable[[Plan], Plan]) -> None:
    """Add the walk of a plan for a query with a pending batch, which then commits it."""

    @walk(f"{SHARDS}against_shards", words, name=name)
    def _(scene: Scene) -> Steps:
        folder = laid(PENDING, scene.folder)

        def commit() -> None:
            """Complete batch 3, as the query does: the ends of its shards, and its commit."""
            ends = folder / "sources" / "0" / "shard-source"
            shutil.copytree(ends / "2", ends / "3", dirs_exist_ok=True)
            shutil.copy(folder / "commits" / "2", folder / "commits" / "3")

        return Steps(lambda: tuple(target_type(COPY.kind).unfit(changed(shard_plan(folder, COPY)))), commit)


COMMIT = "Let the pending batch commit first"
pending(COMMIT, "pending_batch_on_another_stream", lambda plan: on_another(plan, *halves(), *halves(first=2)))
pending(COMMIT, "pending_batch_without_a_shard", lambda plan: with_child(plan, 4))


@walk(f"{SHARDS}_closed", "or begin a query anew at a starting position")
def closed_shard_of_a_query(scene: Scene) -> Steps:
    path = query_behind_a_split(scene)
    return Steps(draft(path, "spark-checkpoint"), lambda: None, draft(path, "starting-position"))


@walk(f"{SHARDS}_closed", "or begin a query anew at a starting position")
def closed_shard_at_a_position_that_was_decided(scene: Scene) -> Steps:
    path = query_behind_a_split(scene)
    decided = ("--override", "chain:0=seq:3", "--reason", "looked up")
    return Steps(draft(path, "spark-checkpoint", *decided), lambda: None, draft(path, "starting-position", *decided))
