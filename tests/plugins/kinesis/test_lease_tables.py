"""Lease tables with rows that are odd or damaged: each is said, and only that lease is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Checkpoint
from offsetwise.plugins.kinesis.kcl.details import KclDetails
from tests.plugins.kinesis.test_checkpoints import DATA, codes, rows, said
from tests.with_cases import with_cases

FIRST, SECOND = (
    "49680454511554321009658466849103821263206275418173734914",
    "49680454511576621754856997472242939129839694521330302994",
)


def leases() -> list[dict[str, Any]]:
    """Return the two leases of a recorded table."""
    items: list[dict[str, Any]] = json.loads((DATA / "kcl" / "2.7.2-two-shards.json").read_text())["kcl2-clicks2"][
        "Items"
    ]
    return items


def read(folder: Path, items: list[dict[str, Any]]) -> Checkpoint:
    (folder / "app.json").write_text(json.dumps({"Items": items, "Count": len(items)}))
    return read_checkpoint(str(folder / "app.json"))


@with_cases(
    ("changes", "words"),
    [
        ({"checkpoint": {"S": "007"}}, "found '007'"),
        ({"checkpoint": {"S": "1e56"}}, "found '1e56'"),
        ({"checkpoint": {"S": "-1"}}, "found '-1'"),
        ({"checkpoint": {"S": ""}}, "found ''"),
        ({"checkpoint": {"S": "4" * 130}}, "a decimal of up to 129 digits"),
        ({"checkpoint": {"N": FIRST}}, "expected checkpoint of type S, found type N"),
        ({"checkpoint": None}, "expected checkpoint beside checkpointSubSequenceNumber, found none"),
        ({"checkpointSubSequenceNumber": {"N": "-1"}}, "a number from 0 on, found -1"),
        ({"checkpoint": {"S": "LATEST"}, "checkpointSubSequenceNumber": {"N": "3"}}, "0 beside LATEST, found 3"),
        ({"startingHashKey": {"S": "-5"}}, "a decimal of 128 bits"),
        ({"endingHashKey": None}, "a first hash key up to the last one"),
        ({"leaseCounter": {"N": 5}}, "expected leaseCounter of type N as a text in quotes, found 5"),
        ({"leaseCounter": {"N": "many"}}, "expected a leaseCounter"),
        ({"leaseKey": {"S": "a b"}}, "expected the id of a shard as leaseKey"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_damaged_lease_is_left_out_alone(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    first, second = leases()
    changed = {name: value for name, value in (first | changes).items() if value is not None}
    found = read(tmp_path, [changed, second])

    assert [each[2] for each in rows(found)] == [f"seq:{SECOND}"]
    assert words in said(found)


def test_an_unknown_entity_is_left_aside_and_named_once(tmp_path: Path) -> None:
    odd = [{"leaseKey": {"S": f"odd-{n}"}, "entityType": {"S": "NEWS"}} for n in range(3)]
    found = read(tmp_path, [*leases(), *odd])

    assert len(rows(found)) == 2
    assert codes(found) == ["NOT_LEASES"]
    assert said(found, "NOT_LEASES").count("NEWS") == 1


def test_a_prepared_checkpoint_is_shown_and_never_used(tmp_path: Path) -> None:
    first, second = leases()
    first |= {"checkpoint": {"S": "TRIM_HORIZON"}, "pendingCheckpoint": {"S": FIRST}}
    first |= {"pendingCheckpointSubSequenceNumber": {"N": "0"}, "pendingCheckpointState": {"N": "1"}}
    found = read(tmp_path, [first, second])

    assert rows(found)[0][2] == "TRIM_HORIZON"
    assert codes(found) == ["LEASE_PENDING"]
    assert isinstance(found.details, KclDetails)
    assert found.details.leases[0].pending == f"seq:{FIRST}"


def test_a_lease_that_is_handed_over_names_both_workers(tmp_path: Path) -> None:
    first, second = leases()
    found = read(tmp_path, [first | {"checkpointOwner": {"S": "worker-a"}, "leaseOwner": {"S": "worker-b"}}, second])

    assert "worker-a works, and worker-b is to take it" in said(found, "LEASE_HELD")


def test_leases_of_several_streams_name_theirs(tmp_path: Path) -> None:
    made = []
    for name in ("clicks", "orders"):
        stream = f"123456789012:{name}:1700000000"
        for lease in leases():
            shard = lease["leaseKey"]["S"]
            names = {"leaseKey": f"{stream}:{shard}", "streamName": stream, "shardId": shard}
            made.append(lease | {key: {"S": text} for key, text in names.items()})
    found = read(tmp_path, made)

    assert codes(found) == []
    assert [each[:2] for each in rows(found)] == [
        [f"123456789012:{name}:1700000000", f"shardId-{n:012}"] for name in ("clicks", "orders") for n in (0, 1)
    ]
    assert codes(read(tmp_path, [*made, leases()[0]])) == ["TABLE_SHARED", "HASH_RANGE_GAP"]


def test_leases_whose_first_shards_were_not_made_together_are_of_two_streams(tmp_path: Path) -> None:
    other = json.loads((DATA / "kcl" / "2.7.2-three-shards-for-savepoint.json").read_text())["kcl2-chain2"]["Items"]
    found = read(tmp_path, [leases()[0], next(each for each in other if each["leaseKey"]["S"].endswith("1"))])

    assert "TABLE_SHARED" in codes(found)


def test_a_number_of_another_shard_is_said(tmp_path: Path) -> None:
    first, second = leases()
    found = read(tmp_path, [first, second | {"checkpoint": {"S": FIRST}}])

    assert codes(found) == ["SEQUENCE_OTHER_SHARD"]


def test_a_shard_that_ended_without_its_children_and_one_ahead_of_its_parent_are_said(tmp_path: Path) -> None:
    recorded = json.loads((DATA / "kcl" / "3.5.1-single-table-split.json").read_text())["kcl3-orders"]["Items"]
    by_key = {each["leaseKey"]["S"]: each for each in recorded}
    parent, child = by_key["shardId-000000000000"], by_key["shardId-000000000002"]

    alone = read(tmp_path, [parent])
    assert "its children shardId-000000000002, shardId-000000000003 are not named" in said(alone, "CHILD_MISSING")
    ahead = read(tmp_path, [parent | {"checkpoint": {"S": "TRIM_HORIZON"}}, child])
    assert "CHILD_AHEAD" in codes(ahead)


def test_numbers_of_an_emulator_are_read_and_their_layout_is_said(tmp_path: Path) -> None:
    first, second = leases()
    found = read(tmp_path, [first | {"checkpoint": {"S": "3"}}, second])

    assert rows(found)[0][2] == "seq:3"
    assert codes(found) == ["SEQUENCE_LAYOUT"]


def test_leases_of_dynamodb_streams_are_told_apart(tmp_path: Path) -> None:
    first, _ = leases()
    shard = {"leaseKey": {"S": "shardId-00000001550840986131-382ec8f8"}}
    found = read(tmp_path, [first | shard | {"checkpoint": {"S": "24438822900000000000168706143"}}])

    assert found.sources[0].kind == "dynamodb-streams"
    assert (rows(found)[0][2], codes(found)) == ("seq:24438822900000000000168706143", [])


def test_an_empty_lease_table_has_no_position(tmp_path: Path) -> None:
    found = read(tmp_path, [])

    assert codes(found) == ["STATE_EMPTY"]
    assert "where its workers begin is unknown" in found.restart


def test_a_table_between_two_versions_may_not_be_written_to() -> None:
    found = read_checkpoint(str(DATA / "kcl" / "2.7.2-run-by-3.5.1-compatible.json"))

    assert "CLIENT_VERSION_UPGRADE_FROM_2X" in said(found, "LEASE_TABLE_MIGRATES")
