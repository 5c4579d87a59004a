"""Remedies about lease tables: the setting, the name or the state that is named."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from offsetwise.api.init import init
from offsetwise.apply.writing import Context
from offsetwise.client_properties import BY_HAND, given_cluster
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import ReceiptStep
from offsetwise.plan.refusals import no_state_to_copy
from offsetwise.plan.target import target_type
from offsetwise.plugins.kinesis.stream.tables import DynamoTable
from offsetwise.plugins.kinesis.targets.kcl.creation import create, require_none, require_own
from offsetwise.plugins.kinesis.targets.kcl.leases import require_stopped
from offsetwise.plugins.kinesis.targets.kcl.spec import read_leases
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseChange, LeaseTable
from offsetwise.plugins.kinesis.targets.kcl_leases.writer import LeaseWriter
from offsetwise.targets import StartingPosition
from tests.apply.plans import context, journal
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.targets.test_kcl_leases import config
from tests.plugins.kinesis.targets.test_kcl_tables import TARGET, creating
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.remedies.walk import Scene, Steps, walk

NOBODY = "http://127.0.0.1:9"
CREATION = "plugins/kinesis/targets/kcl/creation.py::"
TABLE = "plugins/kinesis/targets/kcl/table.py::LeaseTable."
ANY = "plugins/kinesis/stream/tables.py::DynamoTable."
ROW = {"leaseKey": {"S": "shardId-000000000000"}, "checkpoint": {"S": "1"}, "leaseCounter": {"N": "1"}}
_names = itertools.count()


@cache
def _server() -> str:
    """Run one server of DynamoDB for all walks; its thread ends with the process."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - loads boto3

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    return f"http://{host}:{port}"


def _table(scene: Scene, *, there: bool = False, endpoint: str | None = None) -> LeaseTable:
    """Return a table of a name of its own."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        scene.patch.setenv(name, "test")
    table = LeaseTable(config(endpoint or _server()), f"walk-{next(_names)}")
    if there:
        create(table, "2", None, lambda _: None)
    return table


def _elsewhere(table: LeaseTable) -> LeaseTable:
    """Return the same table at an address that nobody answers at."""
    return LeaseTable(config(NOBODY), table.name)


def _refusing(table: LeaseTable, code: str) -> Iterator[None]:
    """Let the client refuse once; what it does is done from the second `next` on."""
    real = table._client

    class Refusing:
        def __getattr__(self, name: str) -> Any:
            def refused(**_: Any) -> Any:
                raise table._of.ClientError({"Error": {"Code": code, "Message": "not now"}}, name)

            return refused

    table._client = Refusing()
    yield
    table._client = real
    yield


def _write(table: LeaseTable, scene: Scene) -> Callable[[], object]:
    """Apply a plan that creates the table."""
    return lambda: _run(table, scene, lambda writer, given: writer.write(creating(), TARGET, given))


def _run(table: LeaseTable, scene: Scene, action: Callable[[LeaseWriter, Context], ReceiptStep]) -> ReceiptStep:
    writer = LeaseWriter(connect=lambda _: table, wait=lambda _: None)
    with journal(scene.folder) as one:
        return action(writer, context(scene.folder, journal=one))


@walk(CREATION + "require_none", "draft the plan again without --set create_table=true")
def table_that_is_there(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    return Steps(lambda: require_none(table), lambda: None, lambda: read_leases(table))


@walk(CREATION + "require_own", "draft the plan again without --set create_table=true")
def table_of_somebody_else(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    state = table.state()
    assert state is not None
    return Steps(lambda: require_own(table, state, 1), lambda: None, lambda: read_leases(table))


@walk(TABLE + "_ask", "Once it is at rest, compare again, and draft the plan from what is there")
def table_in_use(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    return Steps(lambda: table.create("2"), lambda: None, lambda: read_leases(table))


@walk(TABLE + "_ask", "Try again: the same command continues from here")
def creation_refused_for_now(scene: Scene) -> Steps:
    table = _table(scene)
    switch = _refusing(table, "LimitExceededException")
    next(switch)
    return Steps(lambda: table.create("2"), lambda: next(switch))


@walk(TABLE + "_ask", "Check network, endpoint and credentials, then run the same command again")
def creation_that_nobody_hears(scene: Scene) -> Steps:
    table = _table(scene)
    return Steps(lambda: _elsewhere(table).create("2"), lambda: None, lambda: table.create("2"))


@walk(TABLE + "_unanswered", "it looks at the table first, and continues from there")
def reply_to_creation_lost(scene: Scene) -> Steps:
    table = _table(scene)
    switch = _refusing(table, "InternalServerError")
    next(switch)
    return Steps(lambda: table.create("2"), lambda: next(switch), lambda: create(table, "2", None, lambda _: None))


@walk(TABLE + "_slow", "it continues from here")
def table_that_takes_long(scene: Scene) -> Steps:
    table = _table(scene)
    scene.patch.setattr("offsetwise.plugins.kinesis.targets.kcl.table.LOOKS", 1)
    state = table.state
    table.state = lambda: (found := state()) and replace(found, status="CREATING")  # type: ignore[method-assign]
    run = _write(table, scene)
    return Steps(run, lambda: setattr(table, "state", state))


@walk(CREATION + "require_only", "aws dynamodb delete-table")
def application_has_begun(scene: Scene) -> Steps:
    table = _table(scene)
    step = _write(table, scene)()
    table._client.put_item(TableName=table.name, Item={"leaseKey": {"S": "Leader"}, "entityType": {"S": "LEADER"}})
    return Steps(
        lambda: _run(table, scene, lambda writer, given: writer.undo(creating(), step, given)),  # type: ignore[arg-type]
        lambda: table._client.delete_table(TableName=table.name),
    )


@walk("plugins/kinesis/targets/kcl/spec.py::read_leases", "draft with --set create_table=true --set kcl=2")
def application_without_a_table(scene: Scene) -> Steps:
    table = _table(scene)
    return Steps(lambda: read_leases(table), lambda: None, _write(table, scene))


@walk("plugins/kinesis/targets/kcl/spec.py::_require_lease_table", "or a new one, whose table the plan creates")
def table_of_something_else(scene: Scene) -> Steps:
    other, new = _table(scene), _table(scene)
    other._client.create_table(
        TableName=other.name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return Steps(lambda: read_leases(other), lambda: None, _write(new, scene))


@walk("plugins/kinesis/targets/kcl/spec.py::read_leases", "Correct the row.")
def lease_without_a_counter(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    row = {name: value for name, value in ROW.items() if name != "leaseCounter"}
    table._client.put_item(TableName=table.name, Item=row)
    return Steps(lambda: read_leases(table), lambda: table._client.put_item(TableName=table.name, Item=ROW))


@walk("plugins/kinesis/targets/kcl/leases.py::require_stopped", "Stop every worker, then run the same command again")
def worker_that_lives(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    table._client.put_item(TableName=table.name, Item=ROW)
    alive = [True]

    def wait(_: float) -> None:
        if alive:
            counter = {"leaseCounter": {"N": str(next(_names) + 2)}}
            table._client.put_item(TableName=table.name, Item=ROW | counter)

    return Steps(lambda: require_stopped(table, read_leases(table), wait), alive.clear)


@walk(TABLE + "_refused", "Try again: the same command continues from here")
def leases_refused_for_now(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    switch = _refusing(table, "ThrottlingException")
    next(switch)
    change = LeaseChange(key=ROW["leaseKey"]["S"], before=None, after=ROW)
    return Steps(lambda: table.write([change]), lambda: next(switch))


@walk(TABLE + "_lost", "it reads the table first, and continues from there")
def reply_to_leases_lost(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    switch = _refusing(table, "InternalServerError")
    next(switch)
    change = LeaseChange(key=ROW["leaseKey"]["S"], before=None, after=ROW)
    return Steps(lambda: table.write([change]), lambda: next(switch), lambda: read_leases(table))


@walk(TABLE + "write", "Check network, endpoint and credentials, then run the same command again")
def leases_that_nobody_hears(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    change = LeaseChange(key=ROW["leaseKey"]["S"], before=None, after=ROW)
    return Steps(lambda: _elsewhere(table).write([change]), lambda: None, lambda: table.write([change]))


@walk(ANY + "_read", "Try again.")
def table_not_read_for_now(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    switch = _refusing(table, "ThrottlingException")
    next(switch)
    return Steps(lambda: read_leases(table), lambda: next(switch))


@walk(ANY + "_read", "Check region, endpoint, network and the credentials in the environment")
def table_that_nobody_answers_for(scene: Scene) -> Steps:
    table = _table(scene, there=True)
    return Steps(lambda: read_leases(_elsewhere(table)), lambda: None, lambda: read_leases(table))


@walk(ANY + "__init__", "Correct `region`, `profile` or `role_arn`")
def profile_that_nobody_has(_: Scene) -> Steps:
    right = config(_server())
    wrong = right.model_copy(update={"properties": {**right.properties, "profile": "no-such-profile"}})
    return Steps(lambda: DynamoTable(wrong, "walk"), lambda: None, lambda: DynamoTable(right, "walk"))


@walk("client_properties/property_files.py::_given_address", "write the migration file yourself, for example")
def region_of_aws(scene: Scene) -> Steps:
    example = BY_HAND.partition("for example: ")[2].partition(". docs/")[0]
    path = scene.folder / "m.yaml"
    return Steps(
        lambda: given_cluster("us-east-1", prefix="OLD", option="--old"),
        lambda: scene.write("m.yaml", example),
        lambda: load_migration(path),
    )


@walk("api/init.py::_to_update", "Add by hand what is missing")
def update_of_a_migration_of_kinesis(scene: Scene) -> Steps:
    example = BY_HAND.partition("for example: ")[2].partition(". docs/")[0]
    path = scene.write("m.yaml", example)
    added = example.replace("checkpoints: [", "checkpoints: [{name: more, uri: ./more.json, job: {stream: STREAM}}, ")
    return Steps(lambda: init(path, update=True), lambda: scene.write("m.yaml", added), lambda: load_migration(path))


@walk("plan/refusals.py::no_state_to_copy", "starting-position or flink-savepoint-from-positions")
def lease_table_to_copy(_: Scene) -> Steps:
    plan = shard_plan(DATA / CHAIN, StartingPosition(), stream="chain")
    read = read_checkpoint(str(DATA / CHAIN))
    return Steps(
        lambda: tuple(no_state_to_copy(read, "savepoint of Flink")),
        lambda: None,
        lambda: tuple(target_type("starting-position").unfit(plan)),
    )
