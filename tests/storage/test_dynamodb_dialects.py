"""Dumps of lease tables as spreadsheets, the command line of AWS, boto3 and exports of several files leave them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import NotACheckpointError
from offsetwise.plugins.kinesis.kcl.kinesis import checkpoint_of
from offsetwise.plugins.kinesis.stream.numbers import evidence_of
from offsetwise.storage.dynamodb import Table
from tests.plugins.kinesis.test_checkpoints import codes, rows, said
from tests.plugins.kinesis.test_lease_tables import FIRST, SECOND, leases
from tests.storage.test_dynamodb_files import SCAN, positions
from tests.with_cases import with_cases

Items = Sequence[dict[str, Any]]
READ = [f"seq:{FIRST}", f"seq:{SECOND}"]
KEY = "shardId-00000000000"
CELLS = [["leaseKey", "checkpoint", "leaseCounter"], [f"{KEY}0", FIRST, "7"], [f"{KEY}1", SECOND, "9"]]


@with_cases("delimiter", [",", ";", "\t", "|"], ids=repr)
@with_cases("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_csv_is_read_however_a_spreadsheet_writes_it(delimiter: str, encoding: str, tmp_path: Path) -> None:
    for sep, newline, last, blank, quote in product(
        (False, True), ("\n", "\r\n"), ("", delimiter), ("", " "), ("", '"')
    ):
        if blank and quote:
            continue
        between = f"{blank}{delimiter}{blank}"
        lines = [between.join(f"{quote}{cell}{quote}" for cell in line) + last for line in CELLS]
        text = newline.join([f"sep={delimiter}"] * sep + lines) + newline
        (tmp_path / "app.csv").write_bytes(text.encode(encoding))

        assert positions(tmp_path / "app.csv") == READ, repr(text)


OUTPUTS = {
    "yaml": f"Count: 2\nItems:\n- checkpoint:\n    S: '{FIRST}'\n  leaseKey:\n    S: {KEY}0\n",
    "text": f"2\tNone\t2\nITEMS\nCHECKPOINT\t{FIRST}\nLEASEKEY\t{KEY}0\n",
    "table": "------------\n|   Scan   |\n+-------+--+\n",
}


@with_cases("form", OUTPUTS)
def test_what_the_command_line_of_aws_prints_in_another_form_leads_to_json(form: str, tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text(OUTPUTS[form])
    with pytest.raises(NotACheckpointError, match="neither JSON nor CSV whose first line names attributes") as refused:
        read_checkpoint(str(tmp_path / "app.json"))

    assert "aws dynamodb scan --output json" in refused.value.fix


@with_cases(
    ("data", "why"),
    [
        (bz2.compress(SCAN), "packed with bzip2"),
        (lzma.compress(SCAN), "packed with xz"),
        (b"\x28\xb5\x2f\xfd" + SCAN, "packed with Zstandard"),
        (gzip.compress(gzip.compress(SCAN)), "gzip once more"),
        (SCAN[:40] + b"\xfc", "no such dump"),
        ("leaseKey,checkpoint\nä,1".encode("latin-1"), "no text in UTF-8: its byte 21 begins no character"),
    ],
)
def test_what_is_packed_otherwise_or_no_text_is_named(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "app.json").write_bytes(data)
    with pytest.raises(NotACheckpointError, match=why):
        read_checkpoint(str(tmp_path / "app.json"))


def test_an_answer_of_boto3s_client_is_read_and_one_without_types_is_named(tmp_path: Path) -> None:
    answer: dict[str, Any] = {"Items": leases(), "Count": 2, "ResponseMetadata": {"HTTPStatusCode": 200}}
    (tmp_path / "client.json").write_text(json.dumps(answer))
    assert positions(tmp_path / "client.json") == READ

    without = [{name: next(iter(value.values())) for name, value in item.items()} for item in leases()]
    for number, body in enumerate([without, answer | {"Items": without}]):
        (tmp_path / f"{number}.json").write_text(json.dumps(body))
        with pytest.raises(NotACheckpointError, match="its values lack their types, which boto3's Table leaves out"):
            read_checkpoint(str(tmp_path / f"{number}.json"))


def export(folder: Path, parts: Sequence[Items]) -> Path:
    """Write an export with one data file for each part, and return the folder of the data files."""
    data = folder / "AWSDynamoDB" / "01693685827463-2d8752fd" / "data"
    data.mkdir(parents=True)
    lines = []
    for number, items in enumerate(parts):
        text = "\n".join(json.dumps({"Item": item}) for item in items)
        (data / f"part{number}.json.gz").write_bytes(gzip.compress(text.encode()))
        key = f"AWSDynamoDB/{data.parent.name}/data/part{number}.json.gz"
        lines.append(json.dumps({"itemCount": len(items), "dataFileS3Key": key}))
    (data.parent / "manifest-files.json").write_text("\n".join(lines))
    summary = {"tableArn": "a:table/orders-app", "itemCount": sum(map(len, parts)), "outputFormat": "DYNAMODB_JSON"}
    (data.parent / "manifest-summary.json").write_text(json.dumps(summary))
    return data


PARTS = {
    "one each": [leases()[:1], leases()[1:]],
    "all in the last": [[], [], leases()],
    "all in the first": [leases(), []],
}


@with_cases("parts", PARTS)
def test_any_data_file_beside_its_manifest_stands_for_the_whole_export(
    parts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = export(tmp_path, PARTS[parts])
    monkeypatch.chdir(data.parent)
    for file in sorted(data.iterdir()):
        for uri in (str(file), f"data/{file.name}"):
            found = read_checkpoint(uri)
            assert [each[2] for each in rows(found)] == READ
            assert (found.job_id, codes(found)) == ("orders-app", [])


def without_keys(items: Items) -> Items:
    return [{name: value for name, value in item.items() if not name.endswith("HashKey")} for item in items]


@with_cases("form", ["export", "csv"])
@with_cases("keys", [True, False])
@with_cases("count", [1, 2])
def test_a_file_that_may_lack_leases_says_so_unless_their_hash_keys_do(
    form: str, count: int, tmp_path: Path, *, keys: bool
) -> None:
    items = (leases() if keys else without_keys(leases()))[:count]
    names = sorted({name for item in items for name in item} - {"parentShardId", "childShardIds"})
    values = [[next(iter(item[name].values())) if name in item else "" for name in names] for item in items]
    text = {
        "export": "\n".join(json.dumps({"Item": item}) for item in items),
        "csv": "".join(",".join(line) + "\n" for line in (names, *values)),
    }[form]
    (tmp_path / "app.json").write_text(text)
    (tmp_path / "scan.json").write_text(json.dumps({"Items": items}))

    gap = ["HASH_RANGE_GAP"] if keys and count == 1 else []
    assert codes(read_checkpoint(str(tmp_path / "app.json"))) == (gap if keys else ["LEASES_IN_PART"])
    assert codes(read_checkpoint(str(tmp_path / "scan.json"))) == gap


def test_a_line_that_is_cut_is_named_by_its_number(tmp_path: Path) -> None:
    text = "\n".join(json.dumps({"Item": each}) for each in leases() * 3)
    for length in range(len(text) - 2, len(text) // 6 + 9, -61):
        if text[length - 2 : length] in ("}}", "}\n"):
            continue  # it ends with a whole line
        (tmp_path / "app.json").write_text(text[:length])
        number = text[:length].count("\n") + 1
        with pytest.raises(NotACheckpointError, match=f"line {number} is no JSON, or is cut"):
            read_checkpoint(str(tmp_path / "app.json"))


NUMBERS = st.builds(
    lambda born, counter, later, shard: int(
        f"2{born:09x}{shard % 16:x}{counter:016x}00{born + later:09x}{shard:08x}2", 16
    ),
    st.integers(1_384_300_800, 2_000_000_000),
    st.integers(0, 2**63),
    st.integers(0, 10**8),
    st.integers(0, 5_000),
)


@given(NUMBERS, st.integers(3, 40))
def test_a_number_that_a_float_or_a_spreadsheet_has_rounded_is_no_position(number: int, digits: int) -> None:
    shard = evidence_of(number)
    assert shard is not None
    rounded = {int(float(number)), int(Decimal(number).scaleb(-digits).to_integral_value().scaleb(digits))}
    for text in (number, *(rounded if digits > 16 else {int(float(number))})):
        item = {"leaseKey": {"S": f"shardId-{shard.shard:012}"}, "checkpoint": {"S": str(text)}}
        found = checkpoint_of("app", Table(name="app", keys=None, items=(item,)), ())

        assert [each[2] for each in rows(found)] == ([f"seq:{number}"] if text == number else [])
        assert ("lost" in said(found)) is (text != number)


@with_cases("apart_s", [61, 3_600, 10_000_000])
@with_cases("counted", [True, False])
def test_leases_without_parents_are_of_two_streams_only_where_the_kcl_wrote_them(
    apart_s: int, tmp_path: Path, *, counted: bool
) -> None:
    items = []
    for shard, born in ((1, 1_700_000_000), (4, 1_700_000_000 + apart_s)):
        number = int(f"2{born:09x}{shard:x}{7:016x}00{born + 60:09x}{shard:08x}2", 16)
        items.append({"leaseKey": {"S": f"{KEY}{shard}"}, "checkpoint": {"S": str(number)}})
        if counted:
            items[-1]["leaseCounter"] = {"N": "5"}
    (tmp_path / "app.json").write_text(json.dumps({"Items": items}))

    assert codes(read_checkpoint(str(tmp_path / "app.json"))) == (["TABLE_SHARED"] if counted else [])
