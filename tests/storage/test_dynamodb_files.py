"""Files that people have of a lease table: exports to S3, byte order marks, gzip, CSV, leases of older clients."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import NotACheckpointError, OffsetwiseError
from tests.commands import call
from tests.plugins.kinesis.test_checkpoints import DATA, codes, rows
from tests.plugins.kinesis.test_lease_tables import leases
from tests.with_cases import with_cases

CASES = DATA / "cases"
EXPORT = CASES / "kcl-s3-export" / "export"
ID = "AWSDynamoDB/01693685827463-2d8752fd"
FIRST = "seq:49680454511554321009658466849103821263206275418173734914"
SECOND = "seq:49680454511576621754856997472242939129839694521330302994"


def positions(path: Path) -> list[str]:
    return [str(row[2]) for row in rows(read_checkpoint(str(path)))]


@with_cases(
    "path",
    [
        "s3-export.json",
        "export",
        "export/AWSDynamoDB",
        f"export/{ID}",
        f"export/{ID}/manifest-summary.json",
        f"export/{ID}/manifest-files.json",
        f"export/{ID}/data/asdl123dasas.json.gz",
    ],
)
def test_an_export_to_s3_is_read_by_its_folder_or_any_of_its_files(path: str) -> None:
    assert positions(CASES / "kcl-s3-export" / path) == [FIRST, SECOND]
    assert call("inspect", CASES / "kcl-s3-export" / path, "--json").code == 0


def test_the_table_of_an_export_has_its_name() -> None:
    assert read_checkpoint(str(EXPORT)).job_id == "orders-app"


def export(folder: Path, **summary: Any) -> Path:
    """Copy the export, with another summary."""
    shutil.copytree(EXPORT, folder)
    file = folder / ID / "manifest-summary.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | summary))
    return folder


@with_cases(
    ("summary", "why"),
    [
        ({"itemCount": 3}, "says 3 items, and its files have 2"),
        ({"outputFormat": "ION"}, "says the format 'ION'"),
        ({"exportType": "INCREMENTAL_EXPORT"}, "an incremental export"),
    ],
)
def test_an_export_that_is_not_the_whole_table_is_refused(summary: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError, match=why):
        read_checkpoint(str(export(tmp_path / "export", **summary)))


def test_an_export_that_lacks_a_file_or_is_one_of_two_is_refused(tmp_path: Path) -> None:
    lacking = export(tmp_path / "lacking")
    (lacking / ID / "data" / "asdl123dasas.json.gz").unlink()
    with pytest.raises(OffsetwiseError, match="asdl123dasas"):
        read_checkpoint(str(lacking))
    two = export(tmp_path / "two")
    shutil.copytree(two / ID, two / "AWSDynamoDB" / "01693685827999-2d8752fe")
    with pytest.raises(NotACheckpointError, match="expected one export, found 01693685827463-2d8752fd, 0169"):
        read_checkpoint(str(two))


SCAN = json.dumps({"Items": leases(), "Count": 2}).encode()
LINES = "\n".join(json.dumps({"Item": each}) for each in leases()).encode()


@with_cases("text", [SCAN, LINES], ids=["scan", "export"])
@with_cases("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@with_cases("packed", [False, True], ids=["plain", "gzip"])
def test_a_byte_order_mark_and_gzip_change_nothing(text: bytes, encoding: str, packed: bool, tmp_path: Path) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    data = (mark + text.decode()).encode(encoding)
    file = tmp_path / "app.json"
    file.write_bytes(gzip.compress(data) if packed else data)

    assert positions(file) == [FIRST, SECOND]


def test_damaged_and_endless_gzip_is_refused_in_words(tmp_path: Path) -> None:
    whole = gzip.compress(SCAN)
    for length in range(3, len(whole), 7):
        (tmp_path / "app.json.gz").write_bytes(whole[:length])
        with pytest.raises(NotACheckpointError, match=r"gzip is (cut|damaged)"):
            read_checkpoint(str(tmp_path / "app.json.gz"))
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(bytes(100 * 1024 * 1024)))
    with pytest.raises(NotACheckpointError, match="bytes when it is unpacked"):
        read_checkpoint(str(tmp_path / "bomb.json.gz"))


SETS: dict[str, Callable[[list[str]], str]] = {
    "a list": json.dumps,
    "typed members": lambda members: json.dumps([{"S": member} for member in members]),
    "typed": lambda members: json.dumps({"SS": members}),
    "as before 2021": lambda members: "{ " + ", ".join(f'"{member}"' for member in members) + " }",
}


def as_csv(items: list[dict[str, dict[str, Any]]], sets: str, *, typed: bool, delimiter: str = ",") -> str:
    """Write items as the console of AWS downloads them, the one of before 2021 with types in the first line."""
    kinds = {name: next(iter(value)) for item in items for name, value in item.items()}

    def cell(item: dict[str, dict[str, Any]], name: str) -> str:
        content = item[name][kinds[name]] if name in item else ""
        if isinstance(content, list):
            return SETS[sets](content) if kinds[name] == "SS" else "x"
        return content if isinstance(content, str) else "x"

    out = StringIO()
    writing = csv.writer(out, quoting=csv.QUOTE_ALL, delimiter=delimiter)
    writing.writerow([f"{name} ({kind})" if typed else name for name, kind in kinds.items()])
    writing.writerows([cell(item, name) for name in kinds] for item in items)
    return out.getvalue()


TABLES = [
    (dump.name, name, body["Items"])
    for dump in sorted((DATA / "kcl").glob("*.json"))
    for name, body in json.loads(dump.read_text()).items()
    if all("leaseKey" in item for item in body["Items"])
]


@with_cases("typed", [True, False])
@with_cases("sets", SETS)
@with_cases(("dump", "name", "items"), TABLES, ids=[f"{dump}#{name}" for dump, name, _ in TABLES])
def test_what_the_console_downloads_is_read_as_the_dump_of_the_same_table(
    dump: str, name: str, items: list[dict[str, Any]], sets: str, tmp_path: Path, *, typed: bool
) -> None:
    (tmp_path / f"{name}.json").write_text(json.dumps({"Items": items}))
    mark = "\ufeff" if typed else ""
    (tmp_path / f"{name}.csv").write_text(mark + as_csv(items, sets, typed=typed, delimiter=";" if typed else ","))

    scanned, downloaded = (read_checkpoint(str(tmp_path / f"{name}.{kind}")) for kind in ("json", "csv"))
    assert downloaded == replace(scanned, uri=downloaded.uri), dump


def test_the_items_alone_in_a_list_are_read(tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text(json.dumps(leases(), indent=1))

    assert positions(tmp_path / "app.json") == [FIRST, SECOND]


def over_lines(*values: object) -> bytes:
    """Return JSON documents one below the other, each over several lines."""
    return "\n".join(json.dumps(each, indent=4) for each in values).encode()


@with_cases("packed", [False, True], ids=["plain", "gzip"])
@with_cases(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"$ion_1_0 {Item:{}}", "the format Ion"),
        (b"\xe0\x01\x00\xea\xee", "the format Ion"),
        (b"PK\x03\x04\x14\x00\x9d", "a ZIP archive"),
        ("\n".join(map(json.dumps, leases())).encode(), "one document: one scan, or all items in one list"),
        (b'{"Items": [], "Count": 0}\r\n{"Items": []}\n', "one document: one scan, or all items in one list"),
        (b"{} \n\n {}", "one document: one scan, or all items in one list"),
        (over_lines({"Item": leases()[0]}), "an item printed over several lines"),
        (over_lines({"Item": leases()[0], "ConsumedCapacity": None}), "an item printed over several lines"),
        (over_lines(*({"Item": each} for each in leases())), "an item printed over several lines"),
        (over_lines(leases()[0]), "one item alone, and a dump has all items of its table"),
        (json.dumps(leases()[0]).encode(), "one item alone, and a dump has all items of its table"),
        (over_lines(*leases()), "one document: one scan, or all items in one list"),
        (over_lines({"Items": leases()[:1]}, {"Items": leases()[1:]}), "one scan, or all items in one list"),
    ],
)
def test_other_forms_that_people_have_are_named(data: bytes, why: str, tmp_path: Path, *, packed: bool) -> None:
    (tmp_path / "app.json").write_bytes(gzip.compress(data) if packed else data)

    with pytest.raises(NotACheckpointError, match=why):
        read_checkpoint(str(tmp_path / "app.json"))


@with_cases(
    ("text", "why"),
    [
        ("leaseKey,checkpoint\nshardId-000000000000", "line 2 has 1 cells, and the first one names 2 columns"),
        ("leaseKey,leaseKey\na,b", "it has two columns of one name"),
        ('leaseKey,checkpoint\n"shardId,5', "is not a row of CSV"),
        (
            "leaseKey,parentShardId\nshardId-000000000000,shardId-1",
            "has 'shardId-1' as parentShardId, which is not a set",
        ),
        ("leaseKey,parentShardId\nshardId-000000000000,[]", "which is not a set of texts"),
        ("leaseKey,parentShardId\nshardId-000000000000,[1]", "which is not a set of texts"),
        ("name\nvalue", "neither JSON nor CSV"),
        (f"leaseKey,checkpoint\nshardId-000000000000,{FIRST[4:]}", "no line break, so that its last cell may be cut"),
    ],
)
def test_csv_that_is_no_download_of_the_console_is_refused_in_words(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(text)
    with pytest.raises(NotACheckpointError, match=why) as caught:
        read_checkpoint(str(tmp_path / "results.csv"))
    assert "aws dynamodb scan" in caught.value.fix


def test_a_number_that_a_spreadsheet_or_a_cut_has_shortened_is_no_position(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("leaseKey,checkpoint\nshardId-000000000000,4.96805E+55\n")
    read = read_checkpoint(str(tmp_path / "results.csv"))
    assert not rows(read)
    assert "CHECKPOINT_DAMAGED" in codes(read)

    lease = {"leaseKey": "shardId-000000000000", "checkpoint": FIRST[4:], "checkpointSubSequenceNumber": "12"}
    for last, quoted in itertools.product(lease, (False, True)):
        out = StringIO()
        names = [*(name for name in lease if name != last), last]
        csv.writer(out, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL).writerows(
            [names, [lease[name] for name in names]]
        )
        whole = out.getvalue()
        for length in range(len(whole) + 1):
            (tmp_path / "cut.csv").write_text(whole[:length])
            try:
                found = rows(read_checkpoint(str(tmp_path / "cut.csv")))
            except NotACheckpointError:
                continue
            assert [each[1:3] for each in found] in ([], [[lease["leaseKey"], f"{FIRST}/12"]]), whole[:length]
        assert found


def test_csv_with_more_cells_than_any_table_has_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("a,b\n" + "c,d\n" * 750_001)
    with pytest.raises(NotACheckpointError, match="more than 1,500,000 cells"):
        read_checkpoint(str(tmp_path / "results.csv"))


def test_a_line_behind_the_first_that_is_no_item_is_named(tmp_path: Path) -> None:
    (tmp_path / "app.json").write_bytes(LINES + b'\n{"Other": {}}\n')
    with pytest.raises(NotACheckpointError, match="line 3 is not an item of an export"):
        read_checkpoint(str(tmp_path / "app.json"))


def test_a_lease_without_a_sub_sequence_number_has_its_position() -> None:
    found = read_checkpoint(str(CASES / "kcl-no-subsequence" / "kcl1-old.json"))

    assert [str(row[2]) for row in rows(found)] == [FIRST, "TRIM_HORIZON"]
    assert "CHECKPOINT_DAMAGED" not in codes(found)


OTHERS: dict[str, dict[str, str]] = {
    "vmware-go-kcl": {"ShardID": "shardId-000000000000", "Checkpoint": FIRST.removeprefix("seq:"), "AssignedTo": "w"},
    "kinsumer": {"Shard": "shardId-000000000000", "SequenceNumber": FIRST.removeprefix("seq:"), "OwnerName": "w"},
    "kinesis-consumer": {"namespace": "app", "shard_id": "shardId-000000000000", "sequence_number": "49"},
    "Spring's metadata store": {"metadataKey": "app:orders:shardId-000000000000", "metadataValue": "49"},
}
"""An item of the table in which another client of Kinesis keeps its positions."""


@with_cases("form", ["scan", "export", "csv"])
@with_cases("client", OTHERS)
def test_a_table_of_another_client_is_named_by_what_it_has_and_is_no_damage(
    client: str, form: str, tmp_path: Path
) -> None:
    item = {name: {"S": value} for name, value in OTHERS[client].items()}
    file = tmp_path / f"{client}.{'csv' if form == 'csv' else 'json'}"
    texts = {
        "scan": json.dumps({"Items": [item]}),
        "export": json.dumps({"Item": item}),
        "csv": as_csv([item], "a list", typed=False),
    }
    file.write_text(texts[form])

    refused = call("inspect", file, "--json").refused()

    assert refused["error"] == "NotACheckpointError"
    assert "expected a lease table of the KCL, keyed by leaseKey" in refused["problem"]
    assert [name for name in item if name not in refused["problem"]] == []
    assert f"That is a table of {client}, whose positions are not read." in refused["problem"]
    assert "--committer-table" not in refused["fix"]


@with_cases("lost", [0, 1])
def test_the_ends_of_a_batch_that_are_lost_are_damage_and_the_batch_is_read_again(lost: int, tmp_path: Path) -> None:
    folder = CASES / "qubole-57-shard-commit-lost" / "qub1"
    if lost:  # one of awslabs
        folder = tmp_path / "query"
        shutil.copytree(DATA / "spark" / "awslabs-2.0.0-aggregated", folder)
        shutil.rmtree(folder / "sources" / "0" / "shard-source" / "2")
    found = read_checkpoint(str(folder))
    last = found.details.progress.committed
    begins = {row[1]: str(row[2]) for row in rows(found)}

    assert "POSITIONS_ELSEWHERE" not in codes(found)
    (damage,) = [each for each in found.problems if each.code == "CHECKPOINT_DAMAGED"]
    assert f"offsets/{last} says: from there nothing is skipped" in damage.message
    assert ("--set repair=rebuild-shard-commit" in damage.fix) is not bool(lost)
    line = json.loads((folder / "offsets" / str(last)).read_text().splitlines()[-1])
    assert begins.keys() == line.keys() - {"metadata"}
    for shard, place in begins.items():
        assert line[shard]["iteratorPosition"] in place
