"""Plans on one stream of Kinesis from the command line: drafted, signed, applied, verified and taken back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

import pytest

from offsetwise import approval
from offsetwise.engines.checkpoint import read_checkpoint
from tests.apply.plans import aged, files_of
from tests.commands import Ran, call
from tests.plugins.flink.targets.test_kinesis_state import LEGACY, restarted_from, source_of
from tests.plugins.kinesis.targets.kinesis_plans import ARN, CHAIN
from tests.plugins.kinesis.targets.test_kcl_leases import TABLE, Application, app
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.storage.test_dynamodb import dynamodb, live
from tests.with_cases import with_cases

__all__ = ["app", "dynamodb"]

NOBODY: Final = "http://127.0.0.1:9"
JOB: Final = ("--uid", "kinesis-src", "--stream-arn", f"{ARN}chain", "--parallelism", "1", "--max-parallelism", "128")


@pytest.fixture
def without_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave nobody to ask: the stream gives no answer."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


class Folder:
    """A migration of one application, and what is made of it."""

    def __init__(self, path: Path, uri: str | Path, *, stream: str | None = "chain", **properties: str) -> None:
        self.path = path
        given = {"region": "us-east-1", "endpoint": NOBODY, **properties}
        (path / "out").mkdir()
        body = {
            "name": "chain",
            "source": {"name": "a", "stream": "kinesis", "properties": given},
            "target": {"name": "b", "stream": "kinesis", "properties": given},
            "checkpoint_roots": [str(uri)],
            "write_roots": [str(path / "out")],
            "checkpoints": [{"name": "app", "uri": str(uri), "job": {"stream": stream}}],
        }
        (path / "m.yaml").write_text(json.dumps(body))
        approval.write_keys(path / "reviewer", approval.keygen(subject="reviewer"))

    def draft(self, *more: str | Path) -> Ran:
        plan = self.path / "plan.json"
        plan.unlink(missing_ok=True)
        return self.run("draft", "--checkpoint", "app", "--author", "ann", "--out", plan, *more)

    def apply(self, *more: str | Path) -> Ran:
        approved = self.path / "plan.approval.json"
        if not approved.exists():
            signed = call(
                "sign", self.path / "plan.json", "--key", self.path / "reviewer", "--as", "reviewer", "--out", approved
            )
            assert signed.code == 0, signed.err
        receipt = ("--receipt", self.path / "receipt.json", "--approval", approved)
        return self.run("apply", self.path / "plan.json", "--trust", self.path / "reviewer.pub", *receipt, *more)

    def after(self, verb: str, *more: str | Path) -> Ran:
        return self.run(verb, self.path / "receipt.json", *more)

    def run(self, verb: str, *more: str | Path) -> Ran:
        return call(verb, *more, "--migration", self.path / "m.yaml")


@pytest.mark.usefixtures("without_credentials")
def test_a_savepoint_of_a_lease_table_alone_though_nobody_can_ask_the_stream(tmp_path: Path) -> None:
    dump = tmp_path / "app.json"
    shutil.copy(DATA / CHAIN, dump)
    folder = Folder(tmp_path, dump)
    target, out = ("--target", "flink-savepoint-from-positions"), tmp_path / "out" / "savepoint"

    refused = folder.draft(*target)
    assert refused.code == 1
    assert "found no uid" in refused.err
    drafted = folder.draft(*target, *JOB)
    assert drafted.code == 0, drafted.err
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["savepoint"]["uid"] == "kinesis-src"
    assert "every other operator of the job starts empty" in " ".join(plan["gives_up"])
    assert "STREAM_NOT_ASKED" in {each["code"] for each in plan["findings"]}

    assert folder.apply("--output", out).code == 0
    assert not out.exists()
    applied = folder.apply("--output", out, "--execute")
    assert applied.code == 0, applied.err
    assert source_of((out / "_metadata").read_bytes()) == restarted_from("made-from-kcl-leases")
    verified = folder.after("verify")
    assert verified.code == 0, verified.err
    taken = folder.after("rollback", "--trust", tmp_path / "reviewer.pub", "--execute")
    assert taken.code == 0, taken.err
    assert not out.exists()


@pytest.mark.usefixtures("without_credentials")
def test_a_lease_table_that_has_moved_on_since_the_review_is_stale(tmp_path: Path) -> None:
    dump = tmp_path / "app.json"
    shutil.copy(DATA / CHAIN, dump)
    folder = Folder(tmp_path, dump)
    assert folder.draft("--target", "starting-position").code == 0
    dump.write_text(dump.read_text().replace("49680455763250547512785282537201273657299891119728885762", "77"))

    stale = folder.apply("--output", tmp_path / "out" / "start.json", "--execute")
    assert stale.code != 0
    assert "Nothing was written" in " ".join(stale.err.split())
    assert not (tmp_path / "out" / "start.json").exists()


@pytest.mark.usefixtures("without_credentials")
@with_cases(
    ("recorded", "target"),
    [
        ("spark/awslabs-2.0.0-committed", "spark-checkpoint"),
        ("spark/qubole-1.2.0-committed", "spark-checkpoint"),
        ("flink/streams-source-5.1.0-two-shards", "flink-savepoint"),
        (f"flink/{LEGACY}", "flink-savepoint"),
    ],
)
def test_a_copy_on_the_same_stream_though_nobody_can_ask_it(recorded: str, target: str, tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out" / "copy"
    shutil.copytree(DATA / recorded, source)
    folder = Folder(tmp_path, aged(source), stream=None)

    drafted = folder.draft("--target", target)
    assert drafted.code == 0, drafted.err
    applied = folder.apply("--output", out, "--execute")
    assert applied.code == 0, applied.err
    assert files_of(out) == files_of(source)
    verified = folder.after("verify")
    assert verified.code == 0, verified.err
    taken = folder.after("rollback", "--trust", tmp_path / "reviewer.pub", "--execute")
    assert taken.code == 0, taken.err
    assert not out.exists()


@pytest.mark.usefixtures("without_credentials")
def test_a_checkpoint_whose_positions_are_in_a_table_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(DATA / "spark" / "awslabs-2.0.0-dynamodb-committer", source)

    refused = Folder(tmp_path, aged(source), stream=None).draft("--target", "spark-checkpoint")
    assert refused.code == 1
    assert "the ends of its shards are in a DynamoDB table" in " ".join(refused.err.split())


def make_stream(moto: str, name: str, shards: int, request: pytest.FixtureRequest) -> None:
    import boto3  # noqa: PLC0415 - slow to import

    kinesis = boto3.client("kinesis", endpoint_url=moto, region_name="us-east-1")
    kinesis.create_stream(StreamName=name, ShardCount=shards)
    request.addfinalizer(lambda: kinesis.delete_stream(StreamName=name))


@pytest.mark.usefixtures("dynamodb")
def test_a_legacy_savepoint_is_converted_with_the_arn_that_the_stream_told(
    moto: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    savepoint = tmp_path / "savepoint"
    shutil.copytree(DATA / "flink" / LEGACY, savepoint)
    aged(savepoint)
    make_stream(moto, "lg", 2, request)
    folder, out = Folder(tmp_path, savepoint, stream=None, endpoint=moto), tmp_path / "out" / "converted"
    decided = [each for shard in range(2) for each in ("--override", f"lg:{shard}=TRIM_HORIZON")]

    drafted = folder.draft("--target", "flink-savepoint-converted", *decided, "--reason", "read all again")
    assert drafted.code == 0, drafted.err
    applied = folder.apply("--output", out, "--execute")
    assert applied.code == 0, applied.err
    (source,) = read_checkpoint(str(out)).sources
    assert [(each.stream or "").rpartition(":")[2] for each in source.shards] == ["stream/lg"] * 2
    assert {str(each.position) for each in source.shards} == {"TRIM_HORIZON"}
    verified = folder.after("verify")
    assert verified.code == 0, verified.err


def test_an_application_is_rewound_and_put_back(
    app: Application,
    moto: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr("offsetwise.plugins.kinesis.targets.kcl.leases.APART_S", 0.0)
    make_stream(moto, "chain", 3, request)
    folder = Folder(tmp_path, live(moto, TABLE), endpoint=moto, dynamodb_endpoint=moto)
    before = app.rows()
    expired = folder.draft("--target", f"kcl-leases:{TABLE}")
    assert "SEQUENCE_EXPIRED" in expired.err

    decided = [each for shard in range(3) for each in ("--override", f"chain:{shard}=TRIM_HORIZON")]
    drafted = folder.draft("--target", f"kcl-leases:{TABLE}", *decided, "--reason", "read all again")
    assert drafted.code == 0, drafted.err
    applied = folder.apply("--execute")
    assert applied.code == 0, applied.err
    assert {json.loads(row)["checkpoint"]["S"] for row in app.rows().values()} == {"TRIM_HORIZON"}
    verified = folder.after("verify")
    assert verified.code == 0, verified.err
    taken = folder.after("rollback", "--trust", tmp_path / "reviewer.pub", "--execute")
    assert taken.code == 0, taken.err
    assert app.rows() == before


def test_a_new_application_gets_its_table_from_the_plan_and_loses_it_again(
    app: Application,
    moto: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr("offsetwise.plugins.kinesis.targets.kcl.leases.APART_S", 0.0)
    make_stream(moto, "chain", 3, request)
    folder = Folder(tmp_path, live(moto, TABLE), endpoint=moto, dynamodb_endpoint=moto)
    decided = [each for shard in range(3) for each in ("--override", f"chain:{shard}=TRIM_HORIZON")]
    target = ("--target", "kcl-leases:app-next", *decided, "--reason", "read all again")

    refused = folder.draft(*target)
    assert refused.code == 1
    said = " ".join(refused.err.split())
    assert "LEASE_TABLE" in said
    assert "--set create_table=true --set kcl=2" in said
    for wrong in (("create_table=true",), ("kcl=2",), ("create_table=true", "kcl=4"), ("create_table=yes please",)):
        settings = [each for text in wrong for each in ("--set", text)]
        assert folder.draft(*target, *settings).code != 0, wrong
    drafted = folder.draft(*target, "--set", "create_table=true", "--set", "kcl=2")
    assert drafted.code == 0, drafted.err
    assert "creates: DynamoDB table app-next, layout of KCL 2, PAY_PER_REQUEST" in " ".join(drafted.err.split())
    body = json.loads((tmp_path / "plan.json").read_text())
    assert body["requirements"]["tables"] == [{"absent": True, "leases": [], "table": "app-next"}]

    shown = folder.apply()
    assert shown.code == 0, shown.err
    assert "DynamoDB table app-next, layout of KCL 2, PAY_PER_REQUEST would be created" in " ".join(shown.out.split())
    applied = folder.apply("--execute")
    assert applied.code == 0, applied.err
    assert folder.apply("--execute").code == 0
    verified = folder.after("verify")
    assert verified.code == 0, verified.err + verified.out
    again = folder.draft(*target, "--set", "create_table=true", "--set", "kcl=2")
    assert "there is one already, with 3 leases" in " ".join(again.err.split())
    taken = folder.after("rollback", "--trust", tmp_path / "reviewer.pub", "--execute")
    assert taken.code == 0, taken.err
    assert "app-next" not in app.client.list_tables()["TableNames"]
    gone = folder.after("verify")
    assert gone.code == 5
    assert "There is no table app-next" in " ".join(gone.out.split())


def test_a_file_beside_a_live_table_is_verified_though_the_table_is_a_root(
    app: Application,
    moto: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    make_stream(moto, "chain", 3, request)
    folder = Folder(tmp_path, live(moto, app.name), endpoint=moto, dynamodb_endpoint=moto)
    decided = [each for shard in range(3) for each in ("--override", f"chain:{shard}=TRIM_HORIZON")]
    drafted = folder.draft("--target", "starting-position", *decided, "--reason", "read all again")
    assert drafted.code == 0, drafted.err
    applied = folder.apply("--output", tmp_path / "out" / "start.json", "--execute")
    assert applied.code == 0, applied.err

    verified = folder.after("verify")
    assert verified.code == 0, verified.err + verified.out
    assert "CONFIRMED" in verified.out


@pytest.mark.usefixtures("without_credentials")
@with_cases("dump", sorted((DATA / "kcl").glob("2.7.2-t*.json")), ids=lambda dump: dump.stem)
@with_cases(
    ("target", "instead"),
    [
        ("flink-savepoint", ("flink-savepoint-from-positions", *JOB)),
        ("flink-savepoint-converted", ("flink-savepoint-from-positions", *JOB)),
        ("spark-checkpoint", ("starting-position",)),
        ("spark-checkpoint-in-place", ("starting-position",)),
    ],
)
def test_a_lease_table_has_no_state_to_copy_and_leads_to_what_takes_its_positions(
    target: str, instead: tuple[str, ...], dump: Path, tmp_path: Path
) -> None:
    shutil.copy(dump, tmp_path / "app.json")
    folder = Folder(tmp_path, tmp_path / "app.json")

    refused = folder.draft("--target", target)
    assert refused.code == 1
    said = " ".join(refused.err.split())
    assert "NO_STATE_TO_COPY: The positions are those of a lease table of the KCL, which has no state" in said
    assert "NO_SAVEPOINT" not in said
    assert "NO_CHECKPOINT" not in said
    assert instead[0] in said
    assert ("at-timestamp" in said) is target.startswith("flink")
    drafted = folder.draft("--target", *instead)
    assert drafted.code == 0, drafted.err
