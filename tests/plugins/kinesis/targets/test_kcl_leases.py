"""The leases of an application written on moto's DynamoDB: rewound, resumed, refused, and put back row by row."""

from __future__ import annotations

import itertools
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from offsetwise import files
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import Context, StepStanding
from offsetwise.config import ClusterConfig, Migration
from offsetwise.errors import ApplyError, ClusterError, LostReplyError, RunningQueryError, StalePlanError
from offsetwise.model import (
    Plan,
    Receipt,
    ReceiptStep,
    ShardRange,
    SourcePosition,
    StepState,
    TableBefore,
    Turnout,
    WrittenLease,
)
from offsetwise.plan.evidence import require_agreeing
from offsetwise.plan.target import target_type
from offsetwise.plugins.kinesis.stream.spec import AT_UNKNOWN_TIME, LATEST, SHARD_END, TRIM_HORIZON, after, at, at_time
from offsetwise.plugins.kinesis.targets.kcl.images import dumped, loaded
from offsetwise.plugins.kinesis.targets.kcl.spec import read_leases
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseChange, LeaseTable
from offsetwise.plugins.kinesis.targets.kcl_leases.writer import LeaseWriter
from offsetwise.position import Position
from offsetwise.storage.dynamodb import Item
from offsetwise.targets import KclLeases
from tests.apply.faults import UnsyncedDisk
from tests.apply.plans import DIGEST, MIGRATION, context, journal
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, back, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.storage.test_dynamodb import dynamodb, live, put
from tests.with_cases import with_cases

__all__ = ["dynamodb"]

TABLE: Final = "kcl2-chain2"
TARGET: Final = KclLeases(TABLE)
SPLIT: Final = "kcl/3.5.1-single-table-split.json"


def config(endpoint: str) -> ClusterConfig:
    return ClusterConfig.model_construct(
        name="a", alias="a", stream="kinesis", properties={"region": "us-east-1", "dynamodb_endpoint": endpoint}
    )


@dataclass
class Application:
    """An application's table on a server, and what happens while it is looked at twice."""

    client: Any
    endpoint: str
    name: str
    meanwhile: Callable[[], None] = lambda: None
    waited: list[float] = field(default_factory=list)

    def writer(self, endpoint: str | None = None) -> LeaseWriter:
        return LeaseWriter(connect=lambda name: LeaseTable(config(endpoint or self.endpoint), name), wait=self._wait)

    def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.meanwhile()

    def rows(self) -> dict[str, str]:
        found = self.client.scan(TableName=self.name, ConsistentRead=True)["Items"]
        return {each["leaseKey"]["S"]: dumped(each) for each in found}

    def renew(self, key: str = "shardId-000000000001") -> None:
        """Do what a worker does every few seconds."""
        self.client.update_item(
            TableName=self.name,
            Key={"leaseKey": {"S": key}},
            UpdateExpression="ADD leaseCounter :one SET leaseOwner = :me",
            ExpressionAttributeValues={":one": {"N": "1"}, ":me": {"S": "worker-z"}},
        )


@pytest.fixture
def app(dynamodb: Any, moto: str) -> Application:
    return application(dynamodb, moto, CHAIN)


def application(client: Any, endpoint: str, dump: str) -> Application:
    ((name, body),) = json.loads((DATA / dump).read_text()).items()
    put(client, name, body)
    return Application(client=client, endpoint=endpoint, name=name)


def rewound(**changes: Any) -> Plan:
    return shard_plan(DATA / CHAIN, TARGET, stream="chain", **{"move": back, **changes})


def apply(app: Application, plan: Plan, folder: Path, *, endpoint: str | None = None) -> ReceiptStep:
    with journal(folder) as one:
        return app.writer(endpoint).write(plan, plan.targets[0], context(folder, journal=one))


def take_back(
    app: Application, plan: Plan, step: ReceiptStep, folder: Path, *, name: str = "receipt.json.journal"
) -> ReceiptStep:
    with journal(folder, name=name) as one:
        return app.writer().undo(plan, step, context(folder, journal=one))


class KilledError(BaseException):
    """Ends an application where a signal would."""


@dataclass
class Deadly:
    """Ends an application at its k-th call that writes, before or after it."""

    at: int
    calls: int = 0

    def call(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise KilledError


def test_killed_at_any_call_that_writes_it_goes_on_to_the_same_rows_and_is_taken_back(
    app: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offsetwise.plugins.kinesis.targets.kcl_leases.writer.AT_ONCE", 1)
    before, plan = app.rows(), rewound()
    apply(app, plan, tmp_path)
    wanted = app.rows()

    class Table(LeaseTable):
        def write(self, changes: Sequence[LeaseChange]) -> None:
            deadly.call()
            super().write(changes)
            deadly.call()

    class DeadlyDisk(UnsyncedDisk):
        armed = False

        def call(self, name: str, path: str, action: Callable[[], Any]) -> Any:
            if self.armed:
                deadly.call()
            return super().call(name, path, action)

    def begun(folder: Path, action: Callable[[LeaseWriter, Context], ReceiptStep]) -> ReceiptStep | None:
        disk = DeadlyDisk()
        writer = LeaseWriter(connect=lambda name: Table(config(app.endpoint), name), wait=lambda _: None)
        try:
            with journal(folder, disk=disk) as one:
                disk.armed = True
                return action(writer, context(folder, journal=one, disk=disk))
        except KilledError:
            return None

    def write(writer: LeaseWriter, given: Context) -> ReceiptStep:
        return writer.write(plan, TARGET, given)

    killed = 0
    for number in itertools.count(1, 3):
        for row in before.values():
            app.client.put_item(TableName=app.name, Item=loaded(row))
        folder, deadly = tmp_path / str(number), Deadly(number)
        folder.mkdir()
        if begun(folder, write) is not None:
            break
        killed += 1
        now = app.rows()
        assert all(now[key] in (before[key], wanted[key]) for key in before), number
        deadly = Deadly(0)
        step = begun(folder, write)
        assert step is not None
        assert app.rows() == wanted, number
        deadly = Deadly(1 + number % 7)
        begun(folder, lambda writer, given, step=step: writer.undo(plan, step, given))  # type: ignore[misc]
        deadly = Deadly(0)
        assert begun(folder, lambda writer, given, step=step: writer.undo(plan, step, given)) is not None  # type: ignore[misc]
        assert app.rows() == before, number
    assert killed > 3


def test_a_rewind_moves_the_leases_frees_them_and_is_taken_back_row_for_row(app: Application, tmp_path: Path) -> None:
    before, plan = app.rows(), rewound()
    shown = app.writer().prepare(plan, TARGET, context(tmp_path))
    assert shown.told.startswith(f"3 leases of the application '{TABLE}' would be written: shardId-000000000000 from")
    assert app.rows() == before

    step = apply(app, plan, tmp_path)

    now = {key: json.loads(row) for key, row in app.rows().items()}
    for one in plan.positions:
        row, was = now[f"shardId-{one.partition:012}"], json.loads(before[f"shardId-{one.partition:012}"])
        assert row["checkpoint"] == {"S": str(one.new_offset)[4:]}
        assert int(row["leaseCounter"]["N"]) == int(was["leaseCounter"]["N"]) + 1
        assert "leaseOwner" not in row
        assert row["startingHashKey"] == was["startingHashKey"]
    assert app.waited == [20.0, 20.0]
    assert {each.key: each.before for each in step.leases} == before
    assert app.writer().look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    (tmp_path / "now.json").write_text(
        json.dumps({"Items": [json.loads(row) for row in app.rows().values()], "Count": 3})
    )
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"checkpoint_roots": (str(tmp_path),)}))
    seen = writer_module(TARGET.kind).verify(plan, step, eyes, str(tmp_path / "now.json"))
    assert [each.turnout for each in seen] == [Turnout.CONFIRMED] * 3

    undone = take_back(app, plan, step, tmp_path)
    assert undone.state is StepState.UNDONE
    assert app.rows() == before
    assert app.writer().left(plan, undone, context(tmp_path)) is None


def test_an_application_has_gone_on_only_to_where_reading_leads_from_the_planned_lease(tmp_path: Path) -> None:
    recorded = json.loads((DATA / CHAIN).read_text())[TABLE]["Items"]
    ends = [after(number, sub) for number in (5, 6) for sub in (None, 1, 2)] + [TRIM_HORIZON, SHARD_END]
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"checkpoint_roots": (str(tmp_path),)}))
    step = ReceiptStep(target=TARGET, place="dynamodb://", state=StepState.DONE, told="")
    wrong = []
    for planned, here in itertools.product(ends, [*ends, LATEST, AT_UNKNOWN_TIME]):
        text, sub = (str(here.sequence), str(here.sub or 0)) if here.sequence else (str(here), "0")
        lease = recorded[0] | {"checkpoint": {"S": text}, "checkpointSubSequenceNumber": {"N": sub}}
        (tmp_path / "now.json").write_text(json.dumps({"Items": [lease, *recorded[1:]]}))
        plan = shard_plan(DATA / CHAIN, TARGET, stream="chain", move=lambda _, planned=planned: planned)  # type: ignore[misc]
        seen = writer_module(TARGET.kind).verify(plan, step, eyes, str(tmp_path / "now.json"))
        (turnout,) = (each.turnout for each in seen if each.told.startswith(lease["leaseKey"]["S"]))
        read = [(one.sequence or 0, one.sub or 0, one == SHARD_END) for one in (planned, here)]
        begun = planned == here
        # Nothing is read behind the end of a shard, and no worker writes LATEST or a time.
        gone_on = planned != SHARD_END and (here == SHARD_END or (here.sequence is not None and read[1] > read[0]))
        expected = Turnout.CONFIRMED if begun else Turnout.MOVED_ON if gone_on else Turnout.DIFFERENT
        wrong += [] if turnout is expected else [(str(planned), str(here), turnout)]
    assert wrong == []


def test_a_receipt_alone_has_all_that_takes_the_leases_back(app: Application, tmp_path: Path) -> None:
    before, plan = app.rows(), rewound()
    step = apply(app, plan, tmp_path)
    receipt = Receipt(
        plan_digest=DIGEST, plan=plan, approvers=(), begun_at=plan.drafted_at, ended_at=plan.drafted_at, steps=(step,)
    )

    kept = files.load(files.dump(receipt), "receipt", subject="it")
    assert kept == receipt
    require_agreeing("the receipt", plan, DIGEST, kept.steps)
    take_back(app, plan, kept.steps[0], tmp_path, name="another.journal")
    assert app.rows() == before


def test_rows_of_other_entities_are_never_touched(dynamodb: Any, moto: str, tmp_path: Path) -> None:
    app = application(dynamodb, moto, SPLIT)
    before, target = app.rows(), KclLeases(app.name)
    plan = shard_plan(DATA / SPLIT, target, stream="s", move=lambda one: TRIM_HORIZON if one.partition == 2 else None)

    step = apply(app, plan, tmp_path)

    now = app.rows()
    assert [each.key for each in step.leases] == ["shardId-000000000002"]
    assert {key for key in now if now[key] != before[key]} == {"shardId-000000000002"}
    assert json.loads(now["shardId-000000000002"])["entityType"] == {"S": "LEASE"}
    take_back(app, plan, step, tmp_path)
    assert app.rows() == before


def test_a_worker_that_lives_is_named_with_its_counter_and_nothing_is_written(app: Application, tmp_path: Path) -> None:
    app.meanwhile = app.renew
    plan = rewound()

    for ask in (lambda: app.writer().prepare(plan, TARGET, context(tmp_path)), lambda: apply(app, plan, tmp_path)):
        with pytest.raises(RunningQueryError, match=r"'worker-z' renews the lease shardId-000000000001: its counter"):
            ask()
    assert not any(str(each.new_offset)[4:] in row for each in plan.positions for row in app.rows().values())


def test_a_worker_that_starts_between_the_look_and_the_write_stops_it(app: Application, tmp_path: Path) -> None:
    plan, writer = rewound(), app.writer()
    table = LeaseTable(config(app.endpoint), TABLE)
    whole = table.write

    def late(changes: Any) -> None:
        app.renew()
        whole(changes)

    table.write = late  # type: ignore[method-assign]
    with journal(tmp_path) as one, pytest.raises(StalePlanError, match="somebody has written to it since"):
        replace(writer, connect=lambda _: table).write(plan, TARGET, context(tmp_path, journal=one))
    assert not any(str(each.new_offset)[4:] in row for each in plan.positions for row in app.rows().values())
    with pytest.raises(StalePlanError, match="somebody has written"):
        apply(app, plan, tmp_path)


@pytest.fixture
def cutting(moto: str) -> Iterator[list[str]]:
    """Yield an address that passes requests on, and cuts the reply to the next write; what was cut is counted."""
    cut: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = urllib.request.Request(moto, data=body, headers=dict(self.headers), method="POST")
            try:
                with urllib.request.urlopen(request) as answer:
                    status, data = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, data = error.code, error.read()
            operation = self.headers["X-Amz-Target"].rpartition(".")[2]
            if operation == "TransactWriteItems" and len(cut) < 2:
                cut.append(operation)
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    cut.append(f"http://127.0.0.1:{server.server_port}")
    yield cut
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_reply_that_is_lost_is_read_again_and_then_done(app: Application, cutting: list[str], tmp_path: Path) -> None:
    before, plan = app.rows(), rewound()

    step = apply(app, plan, tmp_path, endpoint=cutting[0])

    assert cutting[1:] == ["TransactWriteItems"]
    assert step.state is StepState.DONE
    assert app.writer().look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    take_back(app, plan, step, tmp_path)
    assert app.rows() == before


def test_a_write_that_never_arrived_is_told_as_unknown_and_gone_on_with(app: Application, tmp_path: Path) -> None:
    before, plan = app.rows(), rewound()
    table = LeaseTable(config(app.endpoint), TABLE)

    def lost(changes: Any) -> None:
        raise table._lost(changes, "the connection was closed")

    table.write = lost  # type: ignore[method-assign]
    with journal(tmp_path) as one, pytest.raises(LostReplyError, match="Whether it was done is not known"):
        replace(app.writer(), connect=lambda _: table).write(plan, TARGET, context(tmp_path, journal=one))
    assert app.rows() == before

    step = apply(app, plan, tmp_path)
    assert {each.key: each.before for each in step.leases} == before
    assert app.writer().look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN


def test_a_lease_that_has_moved_since_the_review_is_refused(app: Application, tmp_path: Path) -> None:
    app.client.update_item(
        TableName=TABLE,
        Key={"leaseKey": {"S": "shardId-000000000002"}},
        UpdateExpression="SET checkpoint = :c",
        ExpressionAttributeValues={":c": {"S": "77"}},
    )

    with pytest.raises(StalePlanError, match=r"expected shardId-000000000002 at seq:\d+ as reviewed, found seq:77"):
        apply(app, rewound(), tmp_path)


def test_a_worker_that_goes_on_after_the_write_keeps_what_it_has(app: Application, tmp_path: Path) -> None:
    plan = rewound()
    step = apply(app, plan, tmp_path)
    app.renew()
    now = app.rows()

    assert app.writer().look(plan, step, context(tmp_path)).standing is StepStanding.CHANGED
    with pytest.raises(StalePlanError, match="somebody has written to it since"):
        take_back(app, plan, step, tmp_path)
    assert app.rows() == now


def test_an_application_between_two_versions_of_the_kcl_is_not_written_to(
    dynamodb: Any, moto: str, tmp_path: Path
) -> None:
    dump = "kcl/2.7.2-run-by-3.5.1-compatible.json"
    app = application(dynamodb, moto, dump)
    before = app.rows()

    with pytest.raises(ApplyError, match="CLIENT_VERSION_UPGRADE_FROM_2X"):
        apply(app, shard_plan(DATA / dump, KclLeases(app.name), stream="s"), tmp_path)
    assert app.rows() == before


def test_a_lease_in_two_hands_and_one_without_a_position_are_refused(app: Application, tmp_path: Path) -> None:
    plan = rewound()
    without = replace(plan, positions=plan.positions[1:])
    with pytest.raises(StalePlanError, match="found none for shardId-000000000000"):
        apply(app, without, tmp_path)
    app.client.update_item(
        TableName=TABLE,
        Key={"leaseKey": {"S": "shardId-000000000002"}},
        UpdateExpression="SET checkpointOwner = :w",
        ExpressionAttributeValues={":w": {"S": "worker-b"}},
    )
    with pytest.raises(ApplyError, match="has two workers"):
        apply(app, plan, tmp_path)


def test_a_shard_without_a_lease_gets_one_with_its_hash_keys_and_loses_it_again(
    app: Application, tmp_path: Path
) -> None:
    app.client.delete_item(TableName=TABLE, Key={"leaseKey": {"S": "shardId-000000000002"}})
    before = app.rows()
    plan = rewound(ranges={2: ShardRange(partition=2, low=7, high=9, parents=(0, 1))})
    required = plan.requirements.checkpoint
    assert required is not None
    elsewhere = replace(plan, requirements=replace(plan.requirements, checkpoint=replace(required, job_id="another")))

    step = apply(app, elsewhere, tmp_path)

    made = json.loads(app.rows()["shardId-000000000002"])
    assert (made["startingHashKey"], made["endingHashKey"], made["leaseCounter"]) == (
        {"S": "7"},
        {"S": "9"},
        {"N": "0"},
    )
    assert made["parentShardId"] == {"SS": ["shardId-000000000000", "shardId-000000000001"]}
    assert "entityType" not in made
    take_back(app, elsewhere, step, tmp_path)
    assert app.rows() == before


def test_a_table_that_is_not_there_is_said(dynamodb: Any, moto: str, tmp_path: Path) -> None:
    app = Application(client=dynamodb, endpoint=moto, name="nobody")
    plan = shard_plan(DATA / CHAIN, KclLeases("nobody"), stream="chain")

    with pytest.raises(ClusterError, match="expected a table of this name, found none"):
        apply(app, plan, tmp_path)


@with_cases("place", [LATEST, at(7), at_time(1)], ids=str)
def test_a_place_that_no_lease_can_hold_is_refused(place: Position) -> None:
    plan = rewound(move=lambda one: place if one.partition == 1 else None)

    assert [each.code for each in target_type(TARGET.kind).unfit(plan)] == ["PLACE_NOT_HELD"]


@with_cases("place", [TRIM_HORIZON, SHARD_END, after(7), after(7, 2)], ids=str)
def test_a_place_that_a_lease_can_hold_is_read_again_as_it_was_written(
    app: Application, place: Position, tmp_path: Path
) -> None:
    plan = rewound(move=lambda one: place if one.partition == 1 else None)
    apply(app, plan, tmp_path)

    from offsetwise.engines.checkpoint import read_checkpoint  # noqa: PLC0415 - of this test alone

    read = read_checkpoint(live(app.endpoint, TABLE))
    assert [each.position for each in read.sources[0].shards if each.shard.endswith("1")] == [place]


@with_cases(
    ("change", "wrong"),
    [
        ({"key": "shardId-000000000009"}, "its leases are not the plan's"),
        ({"position": TRIM_HORIZON}, "it has shardId-000000000000 at TRIM_HORIZON, and the plan says seq:"),
        ({"before_position": TRIM_HORIZON}, "it says that shardId-000000000000 was at TRIM_HORIZON before, and seq:"),
    ],
)
def test_a_receipt_that_says_something_else_is_refused(
    app: Application, change: dict[str, Any], wrong: str, tmp_path: Path
) -> None:
    plan = rewound()
    step = apply(app, plan, tmp_path)
    other: WrittenLease = replace(step.leases[0], **change)

    (told, *_) = target_type(TARGET.kind).disagreements(plan, DIGEST, replace(step, leases=(other, *step.leases[1:])))
    assert told.startswith(wrong)


def test_a_row_keeps_every_type_that_a_table_has() -> None:
    row: Item = {
        "a": {"S": "x"},
        "b": {"B": b"\x00\xff"},
        "c": {"SS": ["b", "a"]},
        "d": {"N": "7"},
        "e": {"BS": [b"z"]},
    }

    assert dumped(loaded(dumped(row))) == dumped(row)
    with pytest.raises(ValueError, match="expected a row"):
        loaded('{"a": "x"}')


def test_the_place_of_the_table_is_the_target_clusters() -> None:
    given = Migration.model_validate(MIGRATION.model_dump()).model_copy(update={"target": config("http://h:1")})
    writer = writer_module(TARGET.kind).writer(given)

    assert isinstance(writer, LeaseWriter)
    assert writer.connect(TABLE).uri == f"dynamodb://{TABLE}?region=us-east-1&endpoint=http://h:1"


LATER: Final = (1 << 148) + (1 << 36)
"""One second, added to when a number's shard was made and to when its record arrived."""


@with_cases("seconds", [-86_400, -1, 1, 3_600])
@with_cases("shard", range(3))
def test_the_application_of_another_stream_with_the_same_shards_is_refused(
    seconds: int, shard: int, app: Application, tmp_path: Path
) -> None:
    def reborn(one: SourcePosition) -> Position | None:
        number = int(str(one.offset)[4:]) + seconds * LATER
        return after(number) if one.partition == shard else None

    plan = replace(rewound(move=reborn), requirements=replace(rewound().requirements, checkpoint=None))
    before = app.rows()
    with pytest.raises(ApplyError, match="the table is of another stream's application"):
        apply(app, plan, tmp_path)
    assert app.rows() == before

    table = TableBefore(table=TABLE, leases=tuple(read_leases_of(app).items()))
    pinned = replace(plan, requirements=replace(plan.requirements, tables=(table,)))
    (problem,) = target_type(TARGET.kind).unfit(pinned)
    assert problem.code == "TABLE_SHARED"
    assert f"its lease of shardId-{shard:012}" in problem.message


def read_leases_of(app: Application) -> dict[str, Position]:
    return dict(read_leases(LeaseTable(config(app.endpoint), app.name)).positions)


def test_a_table_that_is_not_as_it_was_when_the_plan_was_drafted_is_stale(app: Application, tmp_path: Path) -> None:
    plan = replace(rewound(), requirements=replace(rewound().requirements, checkpoint=None))
    leases = read_leases_of(app)
    for number, key in enumerate(leases):
        other = leases | {key: after(int(str(leases[key])[4:]) - (1 << 36))}
        table = TableBefore(table=TABLE, leases=tuple(other.items()))
        pinned = replace(plan, requirements=replace(plan.requirements, tables=(table,)))
        assert files.load(files.dump(pinned), "plan", subject="it") == pinned
        (tmp_path / str(number)).mkdir()
        with pytest.raises(StalePlanError, match=f"expected {key} at {other[key]} as reviewed"):
            apply(app, pinned, tmp_path / str(number))

    table = TableBefore(table=TABLE, leases=tuple(leases.items()))
    apply(app, replace(plan, requirements=replace(plan.requirements, tables=(table,))), tmp_path)
    assert read_leases_of(app) != leases
