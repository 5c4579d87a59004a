"""Tables of DynamoDB: dumps that are none, and live ones on moto's server."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from offsetwise.config import ClusterConfig
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.discovery import find_checkpoints
from offsetwise.errors import (
    LibraryMissingError,
    MissingError,
    NotACheckpointError,
    OffsetwiseError,
    OutsideRootsError,
    StorageError,
)
from offsetwise.plugins.kinesis.targets.kcl.spec import read_leases
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseTable
from offsetwise.storage.dynamodb import SEGMENTS, tables_at
from offsetwise.storage.folders import open_tree
from offsetwise.workflow import inspect
from tests.plugins.kinesis.test_checkpoints import COMMITTER, DATA, EXPECTED, TABLE, rows
from tests.with_cases import with_cases

LEASES = DATA / "kcl" / "2.7.2-two-shards.json"
PAGE = 5
"""How many items the server gives in a page."""


@with_cases(
    ("text", "why"),
    [
        ("", "no such dump"),
        ("[]", "its top level is a list"),
        ("{}", "it names no table"),
        ('{"Items": [], "Count": 1}', "says Count 1, and has 0 items"),
        ('{"Items": [], "Count": 0, "ScannedCount": 3}', "ScannedCount 3 and Count 0: a filter left items out"),
        ('{"Items": [], "NextToken": "a"}', "it is one page of several"),
        ('{"Items": [], "LastEvaluatedKey": {}}', "it is one page of several"),
        ('{"Items": {}}', "as a list, found dict"),
        ('{"Items": [{"a": "b"}]}', "item 0 of table 'dump' is no item"),
        ('{"Items": [{"a": {"S": "b", "N": "1"}}]}', "item 0 of table 'dump' is no item"),
        ('{"Items": [], "Table": "a"}', "an answer of scan has no 'Table'"),
        ('{"orders": {"Items": []}}', "expected Items and KeySchema of each table"),
        ('{"orders": {"Items": [], "KeySchema": [{"AttributeName": "a", "KeyType": "RANGE"}]}}', "one HASH"),
        ('{"Items": [], "Items": []}', "twice in one object"),
        ('{"Items": [{"a": {"N": 1.5}}]}', "only integers are used"),
    ],
)
def test_what_is_no_whole_dump_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(text)

    with pytest.raises(NotACheckpointError) as refused:
        tables_at(str(tmp_path / "dump.json"))
    assert why in refused.value.problem
    assert "No position was read." in refused.value.problem


@with_cases(
    "uri",
    [
        *(
            "dynamodb://",
            "dynamodb://ab",
            "dynamodb://orders/x",
            "dynamodb://orders?zone=a",
            "dynamodb://orders?region=",
        ),
        *("dynamodb://orders?region=a&region=b", "dynamodb://orders?endpoint=file:///x", "dynamodb://orders#x"),
        *("dynamodb://orders?endpoint=http://user:pw@h", "dynamodb://user@orders"),
    ],
)
def test_an_address_of_another_form_is_refused(uri: str) -> None:
    with pytest.raises(StorageError, match="expected dynamodb://TABLE"):
        tables_at(uri)


def test_a_live_table_is_in_no_root(tmp_path: Path) -> None:
    with pytest.raises(OutsideRootsError, match="found a live table"):
        read_checkpoint("dynamodb://orders?region=us-east-1", roots=[str(tmp_path)])


def test_a_dump_and_a_table_in_it_are_read_inside_roots_only(tmp_path: Path) -> None:
    dump = DATA / "kcl" / "3.4.2-three-tables.json"

    assert rows(read_checkpoint(f"{dump}#kcl34-fl2", roots=[str(DATA)]))
    for uri in (dump, f"{dump}#kcl34-fl2"):
        with pytest.raises(OutsideRootsError):
            read_checkpoint(str(uri), roots=[str(tmp_path)])


def test_without_boto3_a_live_table_names_the_extra_and_dumps_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)

    with pytest.raises(LibraryMissingError) as missing:
        read_checkpoint("dynamodb://orders?region=us-east-1")
    assert "pip install 'offsetwise[kinesis]'" in missing.value.fix
    assert rows(read_checkpoint(str(LEASES))) == EXPECTED["kcl/2.7.2-two-shards.json"]["positions"]


@pytest.fixture
def dynamodb(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a client of a server of DynamoDB without tables."""
    import boto3  # noqa: PLC0415 - slow to import

    for name, value in {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    client = boto3.client("dynamodb", endpoint_url=moto, region_name="us-east-1")
    yield client
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)


def put(client: Any, name: str, body: dict[str, Any]) -> None:
    """Make a table as a dump has it."""
    client.create_table(
        TableName=name,
        KeySchema=body["KeySchema"],
        AttributeDefinitions=[{"AttributeName": k["AttributeName"], "AttributeType": "S"} for k in body["KeySchema"]],
        BillingMode="PAY_PER_REQUEST",
    )
    for start in range(0, len(body["Items"]), 25):
        puts = [{"PutRequest": {"Item": item}} for item in body["Items"][start : start + 25]]
        client.batch_write_item(RequestItems={name: puts})


def live(moto: str, table: str) -> str:
    return f"dynamodb://{table}?region=us-east-1&endpoint={moto}"


@with_cases("name", ["2.7.2-two-shards.json", "3.5.1-single-table-split.json", "2.7.2-merged.json"])
def test_a_live_table_is_read_as_its_dump(name: str, dynamodb: Any, moto: str) -> None:
    ((table, body),) = json.loads((DATA / "kcl" / name).read_text()).items()
    put(dynamodb, table, body)

    (read,) = inspect([live(moto, table)])
    of_dump = read_checkpoint(str(DATA / "kcl" / name))
    assert rows(read) == rows(of_dump)  # type: ignore[arg-type]
    assert read.pins == of_dump.pins  # type: ignore[union-attr]


def test_a_live_table_of_a_committer_is_read(dynamodb: Any, moto: str) -> None:
    ((table, body),) = json.loads(TABLE.read_text()).items()
    put(dynamodb, table, body)

    read = read_checkpoint(str(COMMITTER), options={"committer": live(moto, table)})
    assert len(rows(read)) == 2


Scan = Mapping[str, Any]
"""What one call of Scan asks."""


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[Scan]:
    """Let the server give small pages, and give the calls of Scan."""
    from botocore.client import BaseClient  # noqa: PLC0415 - slow to import

    asked: list[Scan] = []
    call = BaseClient._make_api_call

    def counted(self: BaseClient, name: str, given: Scan) -> Any:
        if name == "Scan":
            asked.append(given)
            given = {**given, "Limit": PAGE}
        return call(self, name, given)

    monkeypatch.setattr(BaseClient, "_make_api_call", counted)
    return asked


def put_leases(client: Any, count: int) -> str:
    """Make a table of so many leases, and give its name."""
    ((table, body),) = json.loads(LEASES.read_text()).items()
    of_all = body["Items"][0] | {"checkpoint": {"S": "TRIM_HORIZON"}}
    put(client, table, body | {"Items": [of_all | {"leaseKey": {"S": f"shardId-{n:012}"}} for n in range(count)]})
    return str(table)


def test_a_table_of_one_page_is_read_in_one_call(dynamodb: Any, moto: str, scans: list[Scan]) -> None:
    table = put_leases(dynamodb, PAGE - 1)

    assert len(rows(read_checkpoint(live(moto, table)))) == PAGE - 1
    assert scans == [{"TableName": table, "ConsistentRead": True}]


def test_a_table_of_many_pages_is_read_whole_and_in_order(dynamodb: Any, moto: str, scans: list[Scan]) -> None:
    table = put_leases(dynamodb, 300)
    uri = live(moto, table)

    read = read_checkpoint(uri)
    assert [each[1] for each in rows(read)] == [f"shardId-{n:012}" for n in range(300)]
    assert all(each["ConsistentRead"] for each in scans)
    first, *others = scans
    assert "Segment" not in first
    begun = [each["Segment"] for each in others if "ExclusiveStartKey" not in each]
    assert sorted(begun) == list(range(SEGMENTS))
    assert {each["TotalSegments"] for each in others} == {SEGMENTS}
    assert 300 / PAGE <= len(others) <= 300 / PAGE + 2 * SEGMENTS
    assert tables_at(uri) == tables_at(uri)


@with_cases("pages", [0, 1, 6, 30])
def test_what_is_written_to_is_read_as_it_was_inspected(
    pages: int, dynamodb: Any, moto: str, scans: list[Scan]
) -> None:
    count = pages * PAGE + 1
    table = put_leases(dynamodb, count)
    cluster = ClusterConfig.model_construct(
        name="a", alias="a", stream="kinesis", properties={"region": "us-east-1", "dynamodb_endpoint": moto}
    )

    read = read_leases(LeaseTable(cluster, table))

    assert list(read.positions) == [each[1] for each in rows(read_checkpoint(live(moto, table)))]
    assert len(read.positions) == count
    applying, inspecting = scans[: len(scans) // 2], scans[len(scans) // 2 :]
    assert {each.get("TotalSegments") for each in applying} == {each.get("TotalSegments") for each in inspecting}
    assert ({SEGMENTS} <= {each.get("TotalSegments") for each in applying}) is (pages > 0)


def test_a_table_that_is_not_there_is_said(dynamodb: Any, moto: str) -> None:  # noqa: ARG001 - the credentials
    with pytest.raises(MissingError, match="expected a table of this name, found none"):
        read_checkpoint(live(moto, "nobody"))


@with_cases(
    ("code", "words"),
    [
        ("AccessDeniedException", "found access refused.*Nothing was used"),
        ("ProvisionedThroughputExceededException", "found reading throttled.*Nothing was used"),
        ("InternalServerError", "found InternalServerError.*Nothing was used"),
        ("ResourceNotFoundException", "expected a table of this name, found none.*Nothing was read"),
    ],
)
def test_a_page_that_is_refused_refuses_all_and_ends_the_other_segments(
    code: str, words: str, dynamodb: Any, moto: str, scans: list[Scan], monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.client import BaseClient  # noqa: PLC0415 - slow to import
    from botocore.exceptions import ClientError  # noqa: PLC0415 - as above

    table = put_leases(dynamodb, 60 * PAGE)
    call = BaseClient._make_api_call
    refused = threading.Event()

    def one_refused(self: BaseClient, name: str, given: Scan) -> Any:
        if "ExclusiveStartKey" in given:
            if given["Segment"] == 3:
                refused.set()
                raise ClientError({"Error": {"Code": code, "Message": "no"}}, "Scan")
            refused.wait(60)
        return call(self, name, given)

    monkeypatch.setattr(BaseClient, "_make_api_call", one_refused)
    with pytest.raises(OffsetwiseError, match=words):
        read_checkpoint(live(moto, table))
    assert len(scans) < 60


def test_more_items_than_a_lease_table_has_are_refused(
    dynamodb: Any, moto: str, scans: list[Scan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offsetwise.storage.dynamodb.MAX_ITEMS", 40)
    table = put_leases(dynamodb, 300)

    with pytest.raises(StorageError, match="expected at most 40 items, found more"):
        read_checkpoint(live(moto, table))
    assert len(scans) < 300 / PAGE


def test_an_address_where_nobody_answers_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "MAX_ATTEMPTS": "1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    begun = time.monotonic()

    with pytest.raises(StorageError, match="found EndpointConnectionError"):
        read_checkpoint(live("http://127.0.0.1:9", "orders"))
    assert time.monotonic() - begun < 60


@with_cases("table", ["dynamodb://orders-app", "DynamoDB://orders-app?region=us-east-1&endpoint=http://h:1"])
@with_cases("first", [True, False])
def test_a_table_among_the_roots_keeps_nobody_from_reading_a_folder(table: str, tmp_path: Path, *, first: bool) -> None:
    (tmp_path / "inside").mkdir()
    roots = (table, str(tmp_path)) if first else (str(tmp_path), table)

    assert [entry.name for entry in open_tree(str(tmp_path), roots=roots).entries()] == ["inside"]
    with pytest.raises(OutsideRootsError):
        open_tree(str(tmp_path.parent), roots=roots)
    assert find_checkpoints(table, roots=roots).uris == (table,)
