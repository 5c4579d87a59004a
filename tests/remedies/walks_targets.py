"""Remedies of what is written to each target: the place, the plan or the savepoint that is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from botocore.client import BaseClient

from offsetwise.apply.disk import Disk
from offsetwise.apply.run import apply
from offsetwise.apply.writers import TargetWriters
from offsetwise.apply.writing import Writer
from offsetwise.model import Plan, PlannedTransaction, Target
from offsetwise.plan.target import target_type
from offsetwise.plugins.flink.targets.edit import edit_savepoint
from offsetwise.plugins.kinesis.targets.kcl.spec import read_leases
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseTable
from offsetwise.targets import (
    AtTimestamp,
    FlinkSavepointFromPositions,
    StartingPosition,
)
from offsetwise.transactions.ended import ShownTransaction, TransactionPlace
from tests.apply.plans import (
    COPY,
    IN_PLACE,
    MIGRATION,
    PENDING,
    SAVEPOINT,
    SEEDED,
    STARTING,
    STATE,
    aged,
    context,
    drafted,
    flink_savepoint,
    in_place,
    journal,
    recorded,
    seeded,
    spark_checkpoint,
)
from tests.plan.scene import ETL, comparison
from tests.plan.scene import drafted as draft
from tests.plugins.flink import files as flink
from tests.plugins.flink.targets.test_flink_edit import _moves, _read
from tests.plugins.flink.targets.test_flink_savepoint import SHARED
from tests.plugins.flink.test_ways import WITHOUT, savepoint, with_legacy_consumer
from tests.plugins.kinesis.targets import test_kcl_leases as kcl
from tests.plugins.kinesis.targets.kinesis_plans import ASKED, CHAIN, shard_plan
from tests.plugins.kinesis.targets.test_kcl_tables import TARGET as NEW_TABLE
from tests.plugins.kinesis.targets.test_kcl_tables import creating
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.plugins.spark.folders import checkpoint, orders, write
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.remedies.walks_sinks import OPEN, application
from tests.remedies.walks_sinks import written as leases
from tests.transactions import settling

Call = Callable[[], object]
WRITERS = TargetWriters(MIGRATION)


def written(scene: Scene, writer: Writer, plan: Plan, *, output: str | None = None, receipt: str = "receipt") -> Call:
    """Return the writing of a plan's one target, to a place of the scene or to a store."""

    def command() -> None:
        with journal(scene.folder, name=receipt) as made:
            given = context(scene.folder, output=output, journal=made)
            given = replace(given, write_roots=(str(scene.folder), "s3://b/x"))
            writer.write(plan, plan.targets[0], given)

    return command


# Places that are not local.
def of_spark(scene: Scene, target: Target) -> Plan:
    return replace(drafted(str(recorded(PENDING, scene.folder))), targets=(target,))


def of_kinesis(_: Scene, target: Target) -> Plan:
    return shard_plan(DATA / CHAIN, target, stream="chain", savepoint=ASKED)


def local(target: Target, function: str, words: str, plan: Callable[[Scene, Target], Plan]) -> None:
    """Add the walk of a target that is given a place in a store, and then one on a disk."""
    folder = target.kind.replace("-", "_").replace("seeded_checkpoint", "seeded")
    folder = folder.removeprefix("flink_")

    package = type(target_type(target.kind)).__module__.removeprefix("offsetwise.").rpartition(".")[0]

    @walk(f"{package.replace('.', '/')}/writer.py::{function}", words, name=f"{folder}_in_a_store")
    def _(scene: Scene) -> Steps:
        made, writer = plan(scene, target), WRITERS[target.kind]
        return Steps(written(scene, writer, made, output="s3://b/x/y"), lambda: None, written(scene, writer, made))


local(AtTimestamp(), "", "Write it locally", of_kinesis)
local(StartingPosition(), "", "Write it locally", of_kinesis)
local(FlinkSavepointFromPositions(), "_local_path", "Make it locally", of_kinesis)
local(STARTING, "", "Write it locally", of_spark)
local(SEEDED, "_local_path", "Make it locally", of_spark)


@walk("plugins/spark/targets/in_place/writer.py::_local_path", "Use the target spark-checkpoint")
def checkpoint_in_a_store_edited_in_place(scene: Scene) -> Steps:
    bucket = scene.request.getfixturevalue("s3")
    states = {f"state/0/0/{version}.delta": b"x" for version in (1, 2)}
    plan = drafted(bucket.put("source", checkpoint({0: orders(10), 1: orders(20)}, (0, 1)) | states))

    def command(writer: Writer, target: Target) -> Call:
        def write_it() -> None:
            with journal(scene.folder, name=target.kind) as made:
                output = f"{bucket.root}/out/copy"
                given = context(scene.folder, output=output, journal=made)
                writer.write(plan, target, replace(given, write_roots=(bucket.root,), young_s=0))

        return write_it

    return Steps(command(in_place, IN_PLACE), lambda: None, command(spark_checkpoint, COPY))


# Edits in place.
class Meanwhile(Disk):
    """Does something, once, as a file of this name is linked into its place."""

    def __init__(self, name: str, action: Callable[[], object]) -> None:
        self.name, self.action = name, action

    def link(self, original: str, path: str) -> bool:
        if path.endswith(self.name):
            self.action()
        return super().link(original, path)


def in_place_while(scene: Scene, disk: Callable[[Any], Disk]) -> Steps:
    """Edit a checkpoint in place while somebody else writes to it, and then draft anew from what is there."""
    source = recorded(STATE, scene.folder)
    plan = replace(drafted(str(source)), targets=(IN_PLACE,))

    def command() -> None:
        with journal(scene.folder) as made:
            in_place.write(plan, IN_PLACE, context(scene.folder, journal=made, disk=disk(source)))

    def anew() -> None:
        now = replace(drafted(str(aged(source))), targets=(IN_PLACE,))
        with journal(scene.folder, name="another") as made:
            in_place.write(now, IN_PLACE, context(scene.folder, journal=made))

    return Steps(command, lambda: None, anew)


@walk("plugins/spark/targets/in_place/writer.py::_swap", "Compare again, and draft a new plan")
def file_that_somebody_else_changed(scene: Scene) -> Steps:
    def changed(source: Any) -> None:
        newest = source / "offsets" / "6"
        data = newest.read_bytes()
        newest.unlink()
        newest.write_bytes(data + b"\n")

    return in_place_while(scene, lambda source: Meanwhile("offsets/7", lambda: changed(source)))


@walk("plugins/spark/targets/in_place/writer.py::_put_guard", "Stop the query")
def query_that_plans_a_batch(scene: Scene) -> Steps:
    def planned(source: Any) -> None:
        (source / "offsets" / "7").write_bytes((source / "offsets" / "6").read_bytes())

    return in_place_while(scene, lambda source: Meanwhile("offsets/7", lambda: planned(source)))


# Savepoints.
HOLDS = flink.kafka_source({0: 1050})


def edited(*operators: flink.Op) -> Call:
    held = {"_metadata": flink.metadata(*operators)}
    return lambda: edit_savepoint(held, _moves(_read(held)), uri="savepoint-1") and None


EDIT = "plugins/flink/targets/edit.py::"
corrected(
    EDIT + "require_editable",
    "in the canonical format",
    "savepoint_with_state_of_the_job",
    edited(HOLDS, SHARED),
    edited(HOLDS),
)


@walk(EDIT + "refused", "Take a savepoint, compare again")
def partition_that_the_plan_lacks(_: Scene) -> Steps:
    held = {"_metadata": flink.metadata(flink.kafka_source({0: 5, 1: 6}))}
    moves = _moves(_read(held))
    lacking = {source: given[:1] for source, given in moves.items()}
    return Steps(
        lambda: edit_savepoint(held, lacking, uri="savepoint-1") and None,
        lambda: None,
        lambda: edit_savepoint(held, moves, uri="savepoint-1") and None,
    )


@walk("plugins/flink/targets/reviewed.py::reviewed_files", "Take a new savepoint")
def savepoint_that_is_gone(scene: Scene) -> Steps:
    def plan(name: str) -> Plan:
        folder = write({"_metadata": flink.metadata(HOLDS)}, scene.folder / name)
        return replace(drafted(str(aged(folder))), targets=(SAVEPOINT,))

    first, second = plan("savepoint-1"), plan("savepoint-2")
    (scene.folder / "savepoint-1" / "_metadata").unlink()
    return Steps(
        written(scene, flink_savepoint, first), lambda: None, written(scene, flink_savepoint, second, receipt="another")
    )


corrected(
    "plugins/flink/targets/spec.py::no_savepoint",
    "Write to spark-checkpoint",
    "savepoint_of_a_spark_job",
    lambda: draft(comparison(), SAVEPOINT),
    lambda: draft(comparison(), COPY),
)


corrected(
    "plugins/flink/targets/savepoint_without_sources/spec.py::source_keeps_more",
    "Edit the savepoint instead",
    "legacy_consumer_without_its_state",
    lambda: draft(with_legacy_consumer(savepoint()), WITHOUT, ETL),
    lambda: draft(with_legacy_consumer(savepoint()), SAVEPOINT),
)


def asked(**changes: Any) -> Call:
    plan = shard_plan(DATA / CHAIN, stream="chain", savepoint=replace(ASKED, **changes))
    return lambda: tuple(target_type(FlinkSavepointFromPositions().kind).unfit(plan))


corrected(
    "plugins/flink/targets/kinesis/spec.py::new_savepoint",
    "Say it as in the job's code",
    "savepoint_for_nobody",
    asked(uid=None, parallelism=None),
    asked(),
)


# Leases.
@walk("plugins/kinesis/targets/kcl/spec.py::_require_one_stream", "whose table the plan creates")
def table_of_several_streams(scene: Scene) -> Steps:
    app = application(scene)
    name = "123456789012:chain:1693685827"
    for row in app.client.scan(TableName=app.name)["Items"]:
        app.client.delete_item(TableName=app.name, Key={"leaseKey": row["leaseKey"]})
        shard = row["leaseKey"]
        key = {"leaseKey": {"S": f"{name}:{shard['S']}"}, "streamName": {"S": name}, "shardId": shard}
        app.client.put_item(TableName=app.name, Item=row | key)
    table = LeaseTable(kcl.config(app.endpoint), app.name)
    (scene.folder / "created").mkdir()

    def created() -> object:
        try:
            return kcl.apply(app, creating(), scene.folder / "created") and None
        finally:
            app.client.delete_table(TableName=NEW_TABLE.group)

    return Steps(lambda: read_leases(table) and None, lambda: None, created)


def twice(changed: Callable[[Plan], Plan], target: Target, words: str, scope: str, name: str) -> None:
    """Add the walk of a plan that somebody changed, and then the one that was drafted."""

    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        plan, writer = of_spark(scene, target), WRITERS[target.kind]
        return Steps(written(scene, writer, changed(plan)), lambda: None, written(scene, writer, plan))


def of_one_topic(plan: Plan) -> Plan:
    first = plan.positions[0]
    return replace(plan, positions=(*plan.positions, replace(first, topic="other")))


twice(of_one_topic, COPY, "Take a new comparison", "targets/moves.py::refused", "two_topics_with_one_new_name")


@walk("plugins/spark/targets/seeded/writer.py::_initial", "Copy the checkpoint")
def seed_beside_another_source(scene: Scene) -> Steps:
    states = {f"state/0/0/{version}.delta": b"x" for version in (1, 2)}
    source = aged(
        write(checkpoint({0: f"{orders(7)}\n6", 1: f"{orders(9)}\n8"}, (0, 1)) | states, scene.folder / "source")
    )
    plan = replace(drafted(str(source)), targets=(SEEDED,))
    copied = replace(plan, targets=(COPY,))
    return Steps(written(scene, seeded, plan), lambda: None, written(scene, spark_checkpoint, copied, receipt="copy"))


@walk(
    "plugins/kinesis/targets/kcl_leases/writer.py::_written_to",
    "apply the plan with another --receipt",
    name="renewed_after_the_write",
)
def lease_renewed_after_the_write(scene: Scene) -> Steps:
    app, ran = application(scene), list[int]()
    send = BaseClient._make_api_call

    def sent(self: Any, name: str, given: Any) -> Any:
        """Let a worker renew a lease right after it was written, once."""
        made = send(self, name, given)
        if name == "TransactWriteItems" and not ran:
            ran.append(1)
            app.renew(OPEN)
        return made

    scene.patch.setattr(BaseClient, "_make_api_call", sent)
    (scene.folder / "other").mkdir()
    return Steps(leases(app, scene.folder), lambda: None, leases(app, scene.folder / "other"))


# Transactions.
@walk("plugins/kafka/targets/transactions/writer.py::_verify", "it looks first, and continues from there")
def log_that_cannot_be_read(scene: Scene) -> Steps:
    staged = settling.stage(scene.folder)
    read = staged.sink.logs

    def unread(transactions: Sequence[PlannedTransaction]) -> Mapping[TransactionPlace, ShownTransaction]:
        return {
            place: ShownTransaction(last_stable_offset=None, problem="its leader did not answer")
            for place in read(transactions)
        }

    scene.patch.setattr(staged.sink, "logs", unread)
    return Steps(
        lambda: apply(staged.order(), staged.receipt, staged.tools()),
        lambda: scene.patch.setattr(staged.sink, "logs", read),
    )
