"""Remedies of plans that end transactions, and of plans that write the leases of an application."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from botocore.client import BaseClient
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from offsetwise.apply import reversal
from offsetwise.apply.reversal import BackOrder
from offsetwise.apply.run import dry_run
from offsetwise.approval import ApprovalPolicy
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import OffsetwiseError
from offsetwise.plugins.kafka.targets.transactions.verification import verify
from offsetwise.plugins.kafka.targets.transactions.writer import _sink
from offsetwise.plugins.kinesis.targets.kcl.spec import read_leases
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseTable
from offsetwise.transactions.ended import Ends
from tests.apply.worlds import REVIEWER, approval
from tests.plan.scene import drafted
from tests.plugins.kinesis.targets import test_kcl_leases as kcl
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.remedies.walk import Scene, Steps, walk
from tests.transactions.coordinator import DENIED
from tests.transactions.settling import Staged, stage
from tests.transactions.test_settling import applied

Call = Callable[[], object]
WRITER = "plugins/kafka/targets/transactions/writer.py::"
AGAIN = "Run the same command again: it looks first"


def ending(scene: Scene) -> tuple[Staged, Call]:
    made = stage(scene.folder)
    return made, lambda: applied(made) and None


@walk(WRITER + "SinkWriter._require_ended", AGAIN, name="request_that_is_swallowed")
def _(scene: Scene) -> Steps:
    made, command = ending(scene)
    made.sink.lose = {2: "request"}
    return Steps(command, made.sink.lose.clear)


@walk(WRITER + "SinkWriter._require_ended", "Grant WRITE on the TransactionalId", name="right_is_missing")
def _(scene: Scene) -> Steps:
    made, command = ending(scene)
    made.sink.refuse = {str(made.plan.transactions[1].transactional_id): DENIED}
    return Steps(command, made.sink.refuse.clear)


@walk(WRITER + "_require_rights", "prefixed, then try again")
def user_who_may_not_write(scene: Scene) -> Steps:
    made, _ = ending(scene)
    made.sink.denied = True
    return Steps(
        lambda: dry_run(made.order(), made.tools(), made.receipt) and None,
        lambda: setattr(made.sink, "denied", False),
    )


@walk(WRITER + "_not_open", "and draft a new plan")
def somebody_ended_one(scene: Scene) -> Steps:
    made, command = ending(scene)
    made.sink.lose = {2: "request"}
    with suppress(OffsetwiseError):
        applied(made)
    made.sink.lose = {}
    made.sink.change("tx-3-7", state="CompleteAbort", epoch=2, visible=False)
    again = stage(scene.folder / "again", commits=1, aborts=1)
    return Steps(command, lambda: None, lambda: applied(again) and None)


@walk(WRITER + "_require_same", "Give the migration file that the plan was drafted with")
def another_cluster_of_the_sink(scene: Scene) -> Steps:
    made, command = ending(scene)
    right = made.sink.cluster_id
    made.sink.cluster_id = "another"
    return Steps(command, lambda: setattr(made.sink, "cluster_id", right))


@walk(WRITER + "_sent", "draft a new plan")
def journal_of_another_transaction(scene: Scene) -> Steps:
    made, command = ending(scene)
    made.sink.lose = {2: "request"}
    with suppress(OffsetwiseError):
        applied(made)
    made.sink.lose = {}
    path = Path(f"{made.receipt}.journal")
    path.write_text(path.read_text().replace("tx-1-7", "tx-9-7"))
    again = stage(scene.folder / "again", commits=1, aborts=1)
    return Steps(command, lambda: None, lambda: applied(again) and None)


@walk(WRITER + "_sink", "Draft the plan again")
def plan_without_the_sinks_cluster(scene: Scene) -> Steps:
    made, _ = ending(scene)
    return Steps(lambda: _sink(drafted()) and None, lambda: None, lambda: _sink(made.plan) and None)


@walk(WRITER + "SinkWriter.undo", "start it from a checkpoint that fits what is committed")
def rollback_of_what_was_ended(scene: Scene) -> Steps:
    made, _ = ending(scene)
    applied(made)
    order = BackOrder(
        path=made.receipt,
        migration=made.migration,
        approvals=(approval(made.data),),
        policy=ApprovalPolicy(trusted=(REVIEWER.public,)),
    )
    assert made.plan.requirements.checkpoint is not None
    uri = made.plan.requirements.checkpoint.uri
    return Steps(lambda: reversal.rollback(order, made.tools()), lambda: None, lambda: read_checkpoint(uri) and None)


@walk(
    "plugins/kafka/targets/transactions/verification.py::verify",
    "Give the migration file that the plan was applied with",
)
def verification_on_another_cluster(scene: Scene) -> Steps:
    made, _ = ending(scene)
    step = applied(made).receipt.steps[0]

    class Eyes:
        cluster_id = "another"

        def ends(self, name: str, planned: Any) -> Ends:
            with made.sink.connect(name) as port:
                ids = [each.transactional_id for each in planned]
                return Ends(cluster_id=self.cluster_id, answers=port.describe(ids), logs=port.logs(planned))

    eyes: Any = Eyes()
    return Steps(
        lambda: verify(made.plan, step, eyes, None) and None,
        lambda: setattr(eyes, "cluster_id", made.sink.cluster_id),
    )


# Leases.
LEASES = "plugins/kinesis/targets/kcl_leases/writer.py::"
TABLE = "plugins/kinesis/targets/kcl/table.py::LeaseTable."


def application(scene: Scene) -> kcl.Application:
    client, moto = scene.request.getfixturevalue("dynamodb"), scene.request.getfixturevalue("moto")
    return kcl.application(client, moto, CHAIN)


def written(app: kcl.Application, folder: Path, plan: Any = None) -> Call:
    return lambda: kcl.apply(app, plan or kcl.rewound(), folder) and None


def moved(app: kcl.Application, key: str, position: str) -> str:
    """Move a lease as a worker does, and return where it was."""
    row: dict[str, Any] = app.client.get_item(TableName=app.name, Key={"leaseKey": {"S": key}})["Item"]
    app.client.put_item(TableName=app.name, Item=row | {"checkpoint": {"S": position}})
    return str(row["checkpoint"]["S"])


OPEN = "shardId-000000000002"


@walk(LEASES + "_stale", "Compare again, and draft the plan", name="lease_that_moved")
def _(scene: Scene) -> Steps:
    app = application(scene)
    moved(app, OPEN, "77")

    def again() -> object:
        dump = scene.folder / "now.json"
        body = {**json.loads((DATA / CHAIN).read_text())[app.name]}
        body["Items"] = app.client.scan(TableName=app.name, ConsistentRead=True)["Items"]
        body["Count"] = body["ScannedCount"] = len(body["Items"])
        dump.write_text(json.dumps({app.name: body}))
        return kcl.apply(app, shard_plan(dump, kcl.TARGET, stream="chain"), scene.folder / "again") and None

    (scene.folder / "again").mkdir()
    return Steps(written(app, scene.folder), lambda: None, again)


@walk("plugins/kinesis/targets/kcl/leases.py::require_stopped", "Stop every worker, then run the same command again")
def worker_that_renews(scene: Scene) -> Steps:
    app = application(scene)
    app.meanwhile = app.renew
    return Steps(written(app, scene.folder), lambda: setattr(app, "meanwhile", lambda: None))


@walk("plugins/kinesis/targets/kcl/spec.py::read_leases", "Correct the row")
def lease_without_a_counter(scene: Scene) -> Steps:
    app = application(scene)
    row = app.client.get_item(TableName=app.name, Key={"leaseKey": {"S": OPEN}})["Item"]
    app.client.put_item(TableName=app.name, Item={key: row[key] for key in row if key != "leaseCounter"})
    table = LeaseTable(kcl.config(app.endpoint), app.name)
    return Steps(lambda: read_leases(table) and None, lambda: app.client.put_item(TableName=app.name, Item=row))


def refusing(scene: Scene, call: str, error: Exception) -> list[Exception]:
    """Let a call of DynamoDB's fail until the remedy is followed."""
    fails, send = [error], BaseClient._make_api_call

    def sent(self: Any, name: str, given: Any) -> Any:
        if fails and name == call:
            raise fails[0]
        return send(self, name, given)

    scene.patch.setattr(BaseClient, "_make_api_call", sent)
    return fails


def answered(code: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "as AWS says it"}}, operation)


def table(scope: str, words: str, name: str, call: str, error: Callable[[], Exception]) -> None:
    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        app = application(scene)
        fails = refusing(scene, call, error())
        return Steps(written(app, scene.folder), fails.clear)


WRITE, READ = "TransactWriteItems", "plugins/kinesis/stream/tables.py::DynamoTable._read"
table(READ, "Try again.", "scan_throttled", "Scan", lambda: answered("ThrottlingException", "Scan"))
table(
    READ,
    "Check region, endpoint, network",
    "no_endpoint_to_scan",
    "Scan",
    lambda: EndpointConnectionError(endpoint_url="http://127.0.0.1:9"),
)
table(
    TABLE + "write",
    "Check network, endpoint and credentials",
    "no_endpoint_to_write",
    WRITE,
    lambda: EndpointConnectionError(endpoint_url="http://127.0.0.1:9"),
)
table(
    TABLE + "_refused",
    "the same command continues from here",
    "odd",
    WRITE,
    lambda: answered("ValidationException", WRITE),
)
table(
    TABLE + "_lost",
    "it reads the table first",
    "reply_lost",
    WRITE,
    lambda: ReadTimeoutError(endpoint_url="http://127.0.0.1:9"),
)


def renewed_between(scene: Scene) -> tuple[kcl.Application, Call]:
    """Let a worker renew a lease between the last look at the table and the write, once."""
    app = application(scene)
    send = BaseClient._make_api_call
    ran: list[int] = []

    def sent(self: Any, name: str, given: Any) -> Any:
        if name == WRITE and not ran:
            ran.append(1)
            app.renew(OPEN)
        return send(self, name, given)

    scene.patch.setattr(BaseClient, "_make_api_call", sent)
    (scene.folder / "other").mkdir()
    return app, written(app, scene.folder / "other")  # another receipt, and its journal


@walk(TABLE + "_refused", "then apply the plan with another --receipt")
def worker_that_renews_between(scene: Scene) -> Steps:
    app, with_another_receipt = renewed_between(scene)
    return Steps(written(app, scene.folder), lambda: None, with_another_receipt)


@walk(LEASES + "_written_to", "apply the plan with another --receipt")
def lease_renewed_since_the_first_call(scene: Scene) -> Steps:
    app, with_another_receipt = renewed_between(scene)
    with suppress(OffsetwiseError):
        written(app, scene.folder)()
    return Steps(written(app, scene.folder), lambda: None, with_another_receipt)
