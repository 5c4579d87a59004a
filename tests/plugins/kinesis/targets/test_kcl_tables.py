"""Lease tables that a plan creates on moto's DynamoDB: laid out as the KCL has them, and deleted again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from offsetwise import files
from offsetwise.apply.writing import Context, StepStanding
from offsetwise.errors import ApplyError, ClusterError, LostReplyError, RunningQueryError, StalePlanError
from offsetwise.model import Plan, Receipt, ReceiptStep, StepState, TableBefore
from offsetwise.plan.evidence import require_agreeing
from offsetwise.plan.reading import contradictions
from offsetwise.plugins.kinesis.stream.spec import SHARD_END
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseTable
from offsetwise.plugins.kinesis.targets.kcl_leases.spec import TYPE
from offsetwise.plugins.kinesis.targets.kcl_leases.writer import LeaseWriter
from offsetwise.targets import KclLeases
from tests.apply.faults import UnsyncedDisk
from tests.apply.plans import DIGEST, context, journal
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.targets.test_kcl_leases import Application, KilledError, apply, config, take_back
from tests.plugins.kinesis.targets.test_kcl_leases import application as existing
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.storage.test_dynamodb import dynamodb
from tests.with_cases import with_cases

__all__ = ["dynamodb"]

NEW: Final = "a-new-application"
TARGET: Final = KclLeases(NEW)
SPLIT: Final = "kcl/3.5.1-single-table-split.json"
ONE_RECORDED: Final = {"2": "kcl/2.7.2-two-shards.json", "3": SPLIT}


@pytest.fixture
def app(dynamodb: Any, moto: str) -> Iterator[Application]:
    yield Application(client=dynamodb, endpoint=moto, name=NEW)
    if NEW in dynamodb.list_tables()["TableNames"]:
        dynamodb.delete_table(TableName=NEW)


def creating(kcl: str = "2", dump: str = CHAIN, **changes: Any) -> Plan:
    plan = shard_plan(DATA / dump, TARGET, stream="chain", **changes)
    absent = TableBefore(table=NEW, leases=(), absent=True)
    return replace(
        plan,
        settings=(("create_table", "true"), ("kcl", kcl)),
        requirements=replace(plan.requirements, tables=(absent,)),
    )


def tables(app: Application) -> list[str]:
    return [name for name in app.client.list_tables()["TableNames"] if name == NEW]


@with_cases("dump", [CHAIN, SPLIT, "kcl/2.7.2-two-shards.json"])
@with_cases("kcl", ["2", "3"])
def test_a_table_is_created_as_that_version_lays_it_out_and_deleted_again(
    kcl: str, dump: str, app: Application, tmp_path: Path
) -> None:
    plan = creating(kcl, dump)
    assert not list(contradictions(plan))
    assert not list(TYPE.unfit(plan))
    shown = app.writer().prepare(plan, TARGET, context(tmp_path)).told
    assert shown.startswith(f"DynamoDB table {NEW}, layout of KCL {kcl}")
    assert not tables(app)

    step = apply(app, plan, tmp_path)

    found = app.client.describe_table(TableName=NEW)["Table"]
    recorded = json.loads((DATA / ONE_RECORDED[kcl]).read_text())
    (as_the_kcl,) = recorded.values()
    indexes = [
        f"{index['IndexName']}:" + "/".join(key["AttributeName"] for key in index["KeySchema"])
        for index in found.get("GlobalSecondaryIndexes", ())
    ]
    assert (found["KeySchema"], indexes) == (as_the_kcl["KeySchema"], as_the_kcl["GSI"])
    assert found["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    rows = {key: json.loads(row) for key, row in app.rows().items()}
    wanted = {f"shardId-{one.partition:012}": one for one in plan.positions if one.new_offset != SHARD_END}
    assert rows.keys() == wanted.keys()
    for key, row in rows.items():
        theirs = {name for name in as_the_kcl["Items"][0] if name not in ("leaseOwner", "throughputKBps")}
        assert row.keys() - {"parentShardId"} == theirs
        assert row["checkpoint"] == {"S": str(wanted[key].new_offset).removeprefix("seq:").partition("/")[0]}
    assert step.table is not None
    assert step.table.kcl == kcl
    assert app.writer().look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN

    undone = take_back(app, plan, step, tmp_path)
    assert undone.state is StepState.UNDONE
    assert not tables(app)
    assert app.writer().left(plan, undone, context(tmp_path)) is None


def test_a_receipt_alone_deletes_the_table_and_no_other_of_its_name(app: Application, tmp_path: Path) -> None:
    plan = creating()
    step = apply(app, plan, tmp_path)
    receipt = Receipt(
        plan_digest=DIGEST, plan=plan, approvers=(), begun_at=plan.drafted_at, ended_at=plan.drafted_at, steps=(step,)
    )
    kept = files.load(files.dump(receipt), "receipt", subject="it")
    assert kept == receipt
    require_agreeing("the receipt", plan, DIGEST, kept.steps)
    before = app.rows()

    other = replace(step, table=replace(step.table, created_ms=step.table.created_ms - 1))  # type: ignore[type-var, union-attr]
    with pytest.raises(StalePlanError, match="expected the table that this plan created at"):
        take_back(app, plan, other, tmp_path, name="other.journal")
    assert app.rows() == before
    take_back(app, plan, kept.steps[0], tmp_path, name="another.journal")
    assert not tables(app)


def test_killed_at_any_call_the_table_is_gone_on_with_and_taken_back(app: Application, tmp_path: Path) -> None:
    plan = creating("3")
    killed = 0

    def calls_of(number: int) -> Callable[[], None]:
        left = itertools.count(number - 1, -1)

        def call() -> None:
            if next(left) == 0:
                raise KilledError

        return call

    def begun(folder: Path, number: int, action: Callable[[LeaseWriter, Context], ReceiptStep]) -> ReceiptStep | None:
        call = calls_of(number)

        class Table(LeaseTable):
            def _around(self, real: Callable[[], None]) -> None:
                call()
                real()
                call()

            def write(self, changes: Any) -> None:
                self._around(lambda: LeaseTable.write(self, changes))

            def create(self, kcl: str) -> None:
                self._around(lambda: LeaseTable.create(self, kcl))

            def delete(self) -> None:
                self._around(lambda: LeaseTable.delete(self))

        class DeadlyDisk(UnsyncedDisk):
            armed = False

            def call(self, name: str, path: str, action: Callable[[], Any]) -> Any:
                if self.armed:
                    call()
                return super().call(name, path, action)

        disk = DeadlyDisk()
        writer = LeaseWriter(connect=lambda name: Table(config(app.endpoint), name), wait=lambda _: None)
        try:
            with journal(folder, disk=disk) as one:
                disk.armed = True
                return action(writer, context(folder, journal=one, disk=disk))
        except KilledError:
            return None

    for number in itertools.count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        if begun(folder, number, lambda writer, given: writer.write(plan, TARGET, given)) is not None:
            break
        killed += 1
        step = begun(folder, 0, lambda writer, given: writer.write(plan, TARGET, given))
        assert step is not None
        assert len(app.rows()) == 3, number
        begun(folder, 1 + number % 9, lambda writer, given, step=step: writer.undo(plan, step, given))  # type: ignore[misc]
        assert begun(folder, 0, lambda writer, given, step=step: writer.undo(plan, step, given)) is not None  # type: ignore[misc]
        assert not tables(app), number
    assert killed > 6


def test_a_table_that_was_begun_is_taken_back_by_the_journal_alone(app: Application, tmp_path: Path) -> None:
    plan = creating()

    class Late(LeaseTable):
        def write(self, changes: Any) -> None:
            del changes
            raise KilledError

    writer = LeaseWriter(connect=lambda name: Late(config(app.endpoint), name), wait=lambda _: None)
    with journal(tmp_path) as one, pytest.raises(KilledError):
        writer.write(plan, TARGET, context(tmp_path, journal=one))
    assert tables(app)

    with journal(tmp_path) as one:
        step = one.record(0).intended
        assert step is not None
        app.writer().undo(plan, step, context(tmp_path, journal=one))
    assert not tables(app)


def test_a_table_that_somebody_has_created_meanwhile_is_not_touched(dynamodb: Any, moto: str, tmp_path: Path) -> None:
    app = existing(dynamodb, moto, CHAIN)
    before = app.rows()
    plan = replace(creating(), targets=(KclLeases(app.name),))

    for ask in (
        lambda: app.writer().prepare(plan, plan.targets[0], context(tmp_path)),
        lambda: apply(app, plan, tmp_path),
    ):
        with pytest.raises(StalePlanError, match="expected no table of this name, because the plan creates it"):
            ask()
    assert app.rows() == before


def test_a_table_created_between_the_look_and_the_request_is_not_touched(app: Application, tmp_path: Path) -> None:
    plan, table = creating(), LeaseTable(config(app.endpoint), NEW)
    state, whole = table.state, table.create
    table.state = lambda: None  # type: ignore[method-assign]
    whole("2")

    with journal(tmp_path) as one, pytest.raises(StalePlanError, match="Nothing was created"):
        replace(app.writer(), connect=lambda _: table).write(plan, TARGET, context(tmp_path, journal=one))
    assert state() is not None
    assert not app.rows()


@with_cases("row", ["LEADER", "LEASE", None])
def test_a_table_on_which_an_application_has_begun_is_not_deleted(
    row: str | None, app: Application, tmp_path: Path
) -> None:
    plan = creating("3")
    step = apply(app, plan, tmp_path)
    if row is None:
        app.renew()
    else:
        app.client.put_item(TableName=NEW, Item={"leaseKey": {"S": "another"}, "entityType": {"S": row}})
    now = app.rows()

    with pytest.raises((StalePlanError, ApplyError)):
        take_back(app, plan, step, tmp_path)
    assert app.rows() == now


def test_a_table_on_which_an_application_lives_is_not_deleted(app: Application, tmp_path: Path) -> None:
    plan = creating()
    step = apply(app, plan, tmp_path)
    app.meanwhile = app.renew

    with pytest.raises(RunningQueryError, match="renews the lease"):
        take_back(app, plan, step, tmp_path)
    assert len(app.rows()) == 3


def losing(table: LeaseTable, verb: str, *, done: bool) -> LeaseTable:
    """Lose the reply to a request, which was done or never arrived."""
    real = getattr(table, verb)

    def lost(*given: Any) -> None:
        if done:
            real(*given)
        raise table._unanswered(verb, "the connection was closed")

    setattr(table, verb, lost)
    return table


@with_cases("done", [True, False])
def test_a_reply_that_is_lost_is_looked_at_again(app: Application, tmp_path: Path, *, done: bool) -> None:
    plan = creating()

    def writer(verb: str) -> LeaseWriter:
        table = losing(LeaseTable(config(app.endpoint), NEW), verb, done=done)
        return replace(app.writer(), connect=lambda _: table)

    with journal(tmp_path) as one:
        given = context(tmp_path, journal=one)
        if not done:
            with pytest.raises(LostReplyError, match="a request to create the table was lost"):
                writer("create").write(plan, TARGET, given)
            assert not tables(app)
        step = (writer("create") if done else app.writer()).write(plan, TARGET, given)
        if not done:
            with pytest.raises(LostReplyError, match="a request to delete the table was lost"):
                writer("delete").undo(plan, step, given)
            assert tables(app)
        (writer("delete") if done else app.writer()).undo(plan, step, given)
    assert not tables(app)


def test_a_table_that_never_comes_is_said(app: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offsetwise.plugins.kinesis.targets.kcl.table.LOOKS", 2)
    table = LeaseTable(config(app.endpoint), NEW)
    state = table.state
    table.state = lambda: (found := state()) and replace(found, status="CREATING")  # type: ignore[method-assign]

    with (
        journal(tmp_path) as one,
        pytest.raises(ApplyError, match="to be ACTIVE within 2 seconds, found the status CREATING"),
    ):
        replace(app.writer(), connect=lambda _: table).write(creating(), TARGET, context(tmp_path, journal=one))
    assert len(apply(app, creating(), tmp_path).leases) == 3


def test_apply_says_how_a_table_comes_to_be_where_the_plan_creates_none(app: Application, tmp_path: Path) -> None:
    plan = shard_plan(DATA / CHAIN, TARGET, stream="chain")

    with pytest.raises(ClusterError, match="expected a table of this name, found none") as error:
        apply(app, plan, tmp_path)
    assert "--set create_table=true --set kcl=2" in error.value.fix


@with_cases(
    ("settings", "table", "told"),
    [
        ((), {"absent": True}, "there is none in this region and account, and the plan creates none"),
        ((("create_table", "true"), ("kcl", "2")), {}, "the plan creates it, and there is one already, with 0 leases"),
        ((("create_table", "true"),), {"absent": True}, "nothing says for which version of the KCL"),
        ((("kcl", "3"),), {}, "kcl=3 says how a table is created, and the plan creates none"),
    ],
)
def test_what_does_not_fit_is_refused_when_it_is_drafted(
    settings: tuple[tuple[str, str], ...], table: dict[str, Any], told: str
) -> None:
    plan = creating()
    before = TableBefore(table=NEW, leases=(), **table)
    plan = replace(plan, settings=settings, requirements=replace(plan.requirements, tables=(before,)))

    found = [problem for problem in TYPE.unfit(plan) if problem.code == "LEASE_TABLE"]
    assert told in found[0].message


def test_a_new_lease_of_a_shard_whose_hash_keys_nobody_knows_is_refused_when_it_is_drafted() -> None:
    plan = creating()
    topics = tuple(replace(topic, shards=topic.shards[1:]) for topic in plan.requirements.new.topics)
    plan = replace(plan, requirements=replace(plan.requirements, new=replace(plan.requirements.new, topics=topics)))

    assert [problem.code for problem in TYPE.unfit(plan)] == ["SHARDS_UNKNOWN"]


def test_a_receipt_that_says_another_version_is_refused(app: Application, tmp_path: Path) -> None:
    plan = creating()
    step = apply(app, plan, tmp_path)
    other = replace(step, table=replace(step.table, kcl="3"))  # type: ignore[type-var]

    assert next(TYPE.disagreements(plan, DIGEST, other)).startswith("it says that the table was created for KCL 3")
