"""Every recorded checkpoint of Kinesis and its answer, as `inspect --json` gives it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from offsetwise import files
from offsetwise.engines.checkpoint import parts_of, read_checkpoint
from offsetwise.engines.discovery import find_checkpoints
from offsetwise.errors import CheckpointError, NotACheckpointError, UsageError
from offsetwise.model import Checkpoint
from offsetwise.plugins.kinesis.kcl.details import KclDetails
from offsetwise.workflow import inspect
from tests.commands import call
from tests.with_cases import with_cases

DATA: Final = Path(__file__).parents[2] / "data" / "kinesis"
EXPECTED: Final[dict[str, Any]] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
AWSLABS: Final = DATA / "spark" / "awslabs-2.0.0-committed"
PENDING: Final = DATA / "spark" / "awslabs-2.0.0-resharded-pending"
COMMITTER: Final = DATA / "spark" / "awslabs-2.0.0-dynamodb-committer"
TABLE: Final = DATA / "spark" / "awslabs-2.0.0-dynamodb-committer.table.json"
NUMBER: Final = "49680454414501477905653194937128286082444415734495838210"


def rows(read: Checkpoint) -> list[list[str | None]]:
    return [
        [each.stream, each.shard, str(each.position), None if (end := each.planned_position) is None else str(end)]
        for source in read.sources
        for each in source.shards
    ]


def codes(read: Checkpoint) -> list[str]:
    return [each.code for each in read.problems]


def said(read: Checkpoint, code: str = "CHECKPOINT_DAMAGED") -> str:
    return " ".join(each.message for each in read.problems if each.code == code)


def test_every_recorded_checkpoint_has_an_answer() -> None:
    recorded = {
        f"{path.parent.name}/{path.name}" for kind in ("kcl", "spark", "flink") for path in (DATA / kind).iterdir()
    }

    assert {uri.partition("#")[0] for uri in EXPECTED} == recorded - {f"spark/{TABLE.name}"}


@with_cases("uri", EXPECTED)
def test_a_recorded_checkpoint_is_read_as_its_engine_would_resume(uri: str) -> None:
    answer = EXPECTED[uri]
    ran = call("inspect", DATA / uri, "--json")

    told = json.loads(ran.out)
    (source,) = told["sources"]
    assert told["engine"] == {"kcl": "kcl", "spark": "spark", "flink": "flink"}[uri.partition("/")[0]]
    assert (source["kind"], source["marked"], source["raw"]) == ("kinesis", [], None)
    assert [set(each) for each in source["positions"]] == [
        {"stream", "shard", "position", "planned_position"} for _ in answer["positions"]
    ]
    assert [
        [each["stream"], each["shard"], each["position"], each["planned_position"]] for each in source["positions"]
    ] == answer["positions"]
    assert [each["code"] for each in told["problems"]] == answer["problems"]


@with_cases("uri", EXPECTED)
def test_its_file_is_read_again_as_it_was(uri: str) -> None:
    read = read_checkpoint(str(DATA / uri))

    assert files.load(files.dump(read), "checkpoint", subject="it") == read


@with_cases("uri", EXPECTED)
def test_it_is_printed_with_every_number_whole(uri: str) -> None:
    shown = call("inspect", DATA / uri).out

    for _, shard, position, _ in EXPECTED[uri]["positions"]:
        assert any(shard in line and position in line for line in shown.splitlines()), (shard, position)
    for code in EXPECTED[uri]["problems"]:
        assert code in shown


def test_several_lease_tables_in_one_dump_are_a_line_each() -> None:
    file = DATA / "kcl" / "2.7.2-latest-unread.json"
    lines = [json.loads(line) for line in call("inspect", file, "--json").out.splitlines()]

    assert [each["uri"] for each in lines] == [f"{file}#kcl2-at", f"{file}#kcl2-latest"]
    assert [each["job_id"] for each in lines] == ["kcl2-at", "kcl2-latest"]
    with pytest.raises(CheckpointError, match="expected one lease table, found kcl2-at, kcl2-latest"):
        read_checkpoint(str(file))


def test_tables_that_are_no_leases_are_named() -> None:
    file = DATA / "kcl" / "3.4.2-three-tables.json"
    (uri,) = parts_of(str(file))

    assert uri == f"{file}#kcl34-fl2"
    assert said(read_checkpoint(uri), "NOT_LEASES") == (
        "These tables are not leases and are not read: kcl34-fl2-CoordinatorState, kcl34-fl2-WorkerMetricStats."
    )


def test_a_table_as_the_command_line_of_aws_scans_it_has_the_files_name(tmp_path: Path) -> None:
    recorded = json.loads((DATA / "kcl" / "2.7.2-two-shards.json").read_text())["kcl2-clicks2"]["Items"]
    (tmp_path / "orders-app.json").write_text(
        json.dumps({"Items": recorded, "Count": 2, "ScannedCount": 2, "ConsumedCapacity": None})
    )

    read = read_checkpoint(str(tmp_path / "orders-app.json"))
    assert (read.job_id, read.uri) == ("orders-app", str(tmp_path / "orders-app.json"))
    assert rows(read) == EXPECTED["kcl/2.7.2-two-shards.json"]["positions"]


def test_the_leases_have_their_owners_counters_and_parents() -> None:
    read = read_checkpoint(str(DATA / "kcl" / "3.5.1-single-table-split.json"))

    assert isinstance(read.details, KclDetails)
    third = read.details.leases[2]
    assert (third.key, third.owner, third.counter, third.parents) == (
        "shardId-000000000002",
        "worker-b",
        97,
        ("shardId-000000000000",),
    )


def test_an_end_of_a_batch_stands_in_the_committers_table() -> None:
    (read,) = inspect([str(COMMITTER)], committer=str(TABLE))

    assert isinstance(read, Checkpoint)
    assert rows(read) == [
        ["pnd", "shardId-000000000000", "seq:49680455225891791208991387318775948972678713292248580098", None],
        ["pnd", "shardId-000000000001", "seq:49680455225914091954189917941915066839312132326685671442", None],
    ]
    assert codes(read) == []
    ran = call("inspect", COMMITTER, "--committer-table", TABLE, "--json")
    assert len(json.loads(ran.out)["sources"][0]["positions"]) == 2


def test_a_committers_table_that_another_query_wrote_to_is_said(tmp_path: Path) -> None:
    body = json.loads(TABLE.read_text())
    value = {"shardId": "shardId-000000000007", "iteratorType": "TRIM_HORIZON", "iteratorPosition": ""}
    item = {"metadataKey": "0", "metadataSortKey": "shardId-000000000007", "metadataValue": json.dumps(value)}
    body["sparkKinesisMeta"]["Items"].append({name: {"S": text} for name, text in item.items()})
    (tmp_path / "table.json").write_text(json.dumps(body))

    read = read_checkpoint(str(COMMITTER), options={"committer": str(tmp_path / "table.json")})
    assert codes(read) == ["TABLE_SHARED"]
    assert len(rows(read)) == 2


def test_a_committers_table_is_of_one_query_of_spark() -> None:
    leases = DATA / "kcl" / "2.7.2-two-shards.json"

    with pytest.raises(UsageError, match="expected one path where uids or a committer's table are named, found 2"):
        list(inspect([str(COMMITTER), str(AWSLABS)], committer=str(TABLE)))
    with pytest.raises(CheckpointError, match="since a committer's table was named, found a lease table of the KCL"):
        read_checkpoint(str(leases), options={"committer": str(TABLE)})


@with_cases(
    ("keys", "rows_of"),
    [
        (("leaseKey",), [{"leaseKey": "shardId-000000000000", "checkpoint": "7"}]),
        (("leaseKey",), []),
        (("metadataKey",), [{"metadataKey": "0", "metadataValue": "{}"}]),
        (("id", "metadataSortKey"), [{"id": "0", "metadataSortKey": "shardId-000000000000"}]),
        (("id",), [{"id": "0", "metadataKey": "0", "metadataSortKey": "s"}]),
    ],
)
def test_a_table_that_is_no_committers_is_refused_whatever_the_dump_says_of_its_key(
    keys: tuple[str, ...], rows_of: list[dict[str, str]], tmp_path: Path
) -> None:
    items = [{name: {"S": text} for name, text in row.items()} for row in rows_of]
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in zip(keys, ("HASH", "RANGE"), strict=False)]
    body = {"another": {"Items": items, "KeySchema": schema}}
    (tmp_path / "table.json").write_text(json.dumps(body))

    ran = call("inspect", COMMITTER, "--committer-table", tmp_path / "table.json", "--json")

    refused = ran.refused()
    assert f"found {' and '.join(sorted(keys))}. No position was read" in refused["problem"]
    assert "--committer-table" in refused["fix"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the committed checkpoint, without its checksums."""
    made = shutil.copytree(AWSLABS, tmp_path / "query", ignore=shutil.ignore_patterns("*.crc"))
    return made


def ends(folder: Path, shard: int = 0, batch: int = 0) -> Path:
    return folder / "sources" / "0" / "shard-source" / str(batch) / f"shardId-{shard:012}"


class TestSparksEnds:
    def test_that_are_cut_leave_their_shard_out(self, folder: Path) -> None:
        ends(folder).write_bytes(ends(folder).read_bytes()[:90])
        read = read_checkpoint(str(folder))

        assert [each[1] for each in rows(read)] == ["shardId-000000000001"]
        assert "sources/0/shard-source/0/shardId-000000000000 cannot be used: expected one JSON object" in said(read)

    def test_that_name_another_shard_leave_theirs_out(self, folder: Path) -> None:
        ends(folder).write_bytes(ends(folder, 1).read_bytes())
        read = read_checkpoint(str(folder))

        assert [each[1] for each in rows(read)] == ["shardId-000000000001"]
        assert "expected the shard 'shardId-000000000000' in it, found 'shardId-000000000001'" in said(read)

    def test_that_are_missing_begin_where_the_batch_began(self, folder: Path) -> None:
        ends(folder).unlink()
        read = read_checkpoint(str(folder))

        assert rows(read)[0] == ["spk", "shardId-000000000000", "TRIM_HORIZON", None]
        assert "committed without an end of shardId-000000000000" in said(read)

    def test_of_a_shard_that_the_line_does_not_name_are_said(self, folder: Path) -> None:
        body = json.loads(ends(folder).read_text()) | {"shardId": "shardId-000000000005"}
        ends(folder, 5).write_text(json.dumps(body))
        read = read_checkpoint(str(folder))

        assert "Batch 0 has an end of shardId-000000000005, which offsets/0 does not name" in said(read)
        assert "SEQUENCE_OTHER_SHARD" in codes(read)

    @with_cases(
        "number",
        ["007", "1e56", "-1", "", f"4{'9' * 129}", "4968.0"],
        ids=["007", "1e56", "-1", "none", "long", "4968.0"],
    )
    def test_with_a_number_that_is_none_leave_their_shard_out(self, folder: Path, number: str) -> None:
        ends(folder).write_text(ends(folder).read_text().replace(NUMBER, number))
        read = read_checkpoint(str(folder))

        assert [each[1] for each in rows(read)] == ["shardId-000000000001"]
        assert "expected a sequence number, a decimal of up to 129 digits" in said(read)

    def test_of_the_sentinels_and_times_are_told_in_their_own_words(self, folder: Path) -> None:
        texts = []
        for kind, position in (("SHARD_END", ""), ("AT_TIMESTAMP", "1795335840604"), ("AT_SEQUENCE_NUMBER", NUMBER)):
            body = {"shardId": "shardId-000000000000", "iteratorType": kind, "iteratorPosition": position}
            ends(folder).write_text(json.dumps(body))
            texts.append(rows(read_checkpoint(str(folder)))[0][2])

        assert texts == ["SHARD_END", "AT_TIMESTAMP:1795335840604", f"at:{NUMBER}"]

    def test_of_a_batch_that_runs_again_are_both_told(self, folder: Path) -> None:
        (folder / "commits" / "0").unlink()
        read = read_checkpoint(str(folder))

        assert [each[2:] for each in rows(read)] == [
            ["TRIM_HORIZON", EXPECTED["spark/awslabs-2.0.0-committed"]["positions"][place][2]] for place in (0, 1)
        ]
        assert "2 of 2 shards have an end of it, which it keeps to" in said(read, "PENDING_BATCH")

    def test_decide_the_restart_and_are_pinned(self, folder: Path) -> None:
        before = read_checkpoint(str(folder)).pins
        ends(folder).write_text(ends(folder).read_text() + "\n")

        assert [name for name, _ in before] == [
            "offsets/0",
            *(f"sources/0/shard-source/0/shardId-{n:012}" for n in (0, 1)),
        ]
        assert read_checkpoint(str(folder)).pins != before


def test_a_name_of_the_stream_that_changed_between_batches_is_said(tmp_path: Path) -> None:
    made = shutil.copytree(PENDING, tmp_path / "query", ignore=shutil.ignore_patterns("*.crc"))
    line = made / "offsets" / "1"
    line.write_text(line.read_text().replace('"spk"', '"other"'))

    assert "STREAM_DIFFERS" in codes(read_checkpoint(str(made)))


def test_a_line_of_databricks_is_shown_as_it_stands(folder: Path) -> None:
    line = folder / "offsets" / "0"
    head = "\n".join(line.read_text().splitlines()[:2])
    line.write_text(f'{head}\n{{"shards":[{{"shard":"shardId-000000000000","position":"4968"}}]}}')

    (source,) = read_checkpoint(str(folder)).sources
    assert (source.kind, source.shards) == ("other", ())
    assert "4968" in (source.raw or "")


def test_a_file_of_something_else_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(
        NotACheckpointError, match="or the dump of a table of DynamoDB; found a file that is no such dump"
    ):
        read_checkpoint(str(tmp_path / "notes.txt"))
    with pytest.raises(NotACheckpointError, match="keyed by metadataKey and metadataSortKey"):
        read_checkpoint(str(TABLE))


def test_dumps_are_not_looked_for_below_a_root() -> None:
    assert all("/kcl/" not in uri for uri in find_checkpoints(str(DATA)).uris)


def test_a_checkpoint_of_kafka_is_read_without_what_is_for_kinesis() -> None:
    kafka = DATA.parent / "checkpoints" / "spark-4.0.0-multi"
    code = (
        "import sys; from offsetwise.engines.checkpoint import read_checkpoint; "
        f"read_checkpoint({str(kafka)!r}); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()

    needless = ("boto3", "offsetwise.plugins.kinesis.stream.shards", "offsetwise.plugins.spark.engine.kinesis")
    assert [name for name in loaded if name.startswith((*needless, "offsetwise.plugins.kinesis.kcl.kinesis"))] == []
