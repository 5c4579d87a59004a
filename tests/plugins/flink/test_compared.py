"""A Flink savepoint through the verbs: compared like a Spark checkpoint, and without a word of batches."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import offsetwise
from offsetwise import files, workflow
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import UsageError
from offsetwise.fleets import assemble
from offsetwise.model import Checkpoint, Comparison
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.wording import verdicts
from tests.commands import call
from tests.plugins.flink.files import CHECKPOINT, kafka_source, metadata
from tests.plugins.spark.folders import FLINK_NAMES, SAMPLES, write
from tests.subjects import checkpoint
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample"
PENDING = SAMPLES / "flink-2.3-pending-transaction"


def _compared(folder: Path, offsets: dict[int, int], stated: Mapping[str, str] | None = None) -> Comparison:
    """Compare a savepoint with the bundled sample's clusters, with other lines in its migration file."""
    write({"savepoints/savepoint-1/_metadata": metadata(kafka_source(offsets), version=6)}, folder)
    text = (SAMPLE / "migration.yaml").read_text().replace("./checkpoints/orders", "./savepoints/savepoint-1")
    for line, instead in (stated or {}).items():
        text = text.replace(line, instead)
    (folder / "migration.yaml").write_text(text.replace("- ./checkpoints\n", "- ./savepoints\n- ./checkpoints\n"))
    return workflow.compare(
        load_migration(folder / "migration.yaml"),
        checkpoint("orders"),
        snapshots=workflow.load_snapshots(SAMPLE / "old.json", SAMPLE / "new.json"),
    )


def test_a_savepoint_is_compared_with_one_point_of_restart_per_partition(tmp_path: Path) -> None:
    made = _compared(tmp_path, {0: 1050, 1: 1050})

    assert [(row.topic, row.partition, row.old_offset) for row in made.partitions] == [
        ("orders", 0, 1050),
        ("orders", 1, 1050),
    ]
    assert [[(point.batch, point.old) for point in row.restart] for row in made.partitions] == [[(None, 1050)]] * 2
    assert made.checkpoint is not None
    assert made.checkpoint.engine == "flink"
    assert files.load(files.dump(made), "comparison", subject="it") == made


def test_nothing_said_of_a_savepoint_speaks_of_batches(tmp_path: Path) -> None:
    made = _compared(tmp_path, {0: 1050, 1: 1050})
    told = [*(each.message for each in made.findings), made.belongs_to.reason]
    told += [call("inspect", PENDING).out, call("inspect", tmp_path / "savepoints" / "savepoint-1").out]

    assert [text for text in told if re.search(r"\bbatch|\bplanned", text, flags=re.IGNORECASE)] == []


@with_cases(("marker", "word"), [(-1, "latest"), (-2, "earliest"), (-3, "committed")])
def test_a_marked_partition_blocks_and_is_no_new_one(tmp_path: Path, marker: int, word: str) -> None:
    made = _compared(tmp_path, {0: 1050, 1: marker})

    _, row = made.partitions
    assert (row.partition, row.old_offset, row.new_offset, row.exactness.value) == (1, None, None, "UNKNOWN")
    assert f"no offset for orders-1 but its start, {word}" in row.evidence.reason
    assert verdicts.raw(row).word == "unknown"
    assert [(each.severity.value, each.partition) for each in made.findings if each.code == "NO_POSITION"] == [
        ("blocks", 1)
    ]
    assert not any(each.code == "NEW_PARTITION" for each in made.findings)


def test_a_savepoint_of_marked_partitions_alone_is_compared(tmp_path: Path) -> None:
    made = _compared(tmp_path, {0: -1, 1: -2})

    assert [(row.partition, row.old_offset, row.findings) for row in made.partitions] == [
        (0, None, ("NO_POSITION",)),
        (1, None, ("NO_POSITION",)),
    ]
    assert made.belongs_to.reason == "There is no position to tell it from."


def test_inspect_shows_operators_transactions_and_what_it_is() -> None:
    out = call("inspect", PENDING).out

    for told in ("savepoint 2", "format 6", "orders-0", "1,638", "s[3]: Writer", "flinktx-0-2", "received", "v1"):
        assert told in out


def test_inspect_gives_the_contract_of_every_engine_and_the_parts_of_flink() -> None:
    body = call("inspect", PENDING, "--json").answered()

    assert body["engine"] == "flink"
    assert body["sources"][0]["positions"] == [
        {"topic": "orders", "partition": 0, "offset": "1638", "planned_offset": None},
        {"topic": "orders", "partition": 1, "offset": "1637", "planned_offset": None},
    ]
    assert [body[f"{name}_batch"] for name in ("last_planned", "last_committed", "reruns")] == [None] * 3
    (one,) = body["transactions"]
    assert (one["transactional_id"], one["producer_id"], one["epoch"], one["schema"]) == ("flinktx-0-2", "4", 4, "v1")
    assert [len(each["id"]) for each in body["operators"]] == [32] * 4


def test_inspect_lists_the_retained_checkpoints_so_that_an_earlier_one_can_be_chosen(tmp_path: Path) -> None:
    data = metadata(kafka_source({0: 5}), tail=CHECKPOINT)
    job = write({f"{n}/_metadata": data for n in ("chk-8", "chk-9", "chk-10")} | {"shared/x": b""}, tmp_path)

    shown, printed = call("inspect", job / "chk-9"), call("inspect", job / "chk-9", "--json")

    lines = [line.split(", file dated ")[0].strip() for line in shown.out.splitlines() if "checkpoint " in line]
    assert [line for line in lines if re.fullmatch(r"checkpoint \d+", line)] == ["checkpoint 10", "checkpoint 8"]
    retained = json.loads(printed.out)["saved"]["retained"]
    assert [(one["id"], one["uri"]) for one in retained] == [(n, str(job / f"chk-{n}")) for n in (10, 8)]
    chosen = call("inspect", retained[1]["uri"], "--json")
    assert json.loads(chosen.out)["sources"][0]["positions"][0]["offset"] == "5"


def test_the_group_that_the_job_commits_to_is_held_against_its_state(tmp_path: Path) -> None:
    stated = {"tolerates_replay: false": "tolerates_replay: false\n    commits_to: orders-etl"}
    (finding,) = [each for each in _compared(tmp_path, {0: 1050, 1: 975}, stated).findings if "GROUP" in each.code]

    assert finding.code == "GROUP_BEHIND"
    assert "Group orders-etl has committed less than the savepoint holds in 1 partition, furthest orders-0: 1,000" in (
        finding.message
    )


def test_a_typed_uid_is_matched_by_its_hash() -> None:
    body = call("inspect", SAMPLES / "flink-1.20-inline", "--uid", "kafka-src", "--json").answered()

    assert body["sources"][0]["id"] == "kafka-src"
    assert [each["uid"] for each in body["operators"]] == [None, "kafka-src"]


def test_uids_belong_to_one_savepoint() -> None:
    with pytest.raises(UsageError, match="expected one path where uids or a committer's table are named, found 2"):
        list(workflow.inspect([str(SAMPLES / name) for name in FLINK_NAMES[:2]], uids=("kafka-src",)))


def test_a_fleet_counts_the_bytes_of_a_savepoints_state() -> None:
    read = read_checkpoint(str(SAMPLES / "flink-2.2-enumerator-v3"))
    (row,) = assemble([read], {}).rows

    assert row.state_bytes == sum(state.size_bytes for one in flink_details(read).operators for state in one.states) > 0
    assert row.topics == (("fk", 3),)


def test_engines_may_be_inspected_together() -> None:
    uris = [str(SAMPLES / name) for name in ("flink-1.20", "spark-3.5.1-planned")]

    read = [each for each in workflow.inspect(uris) if isinstance(each, Checkpoint)]

    assert [each.engine for each in read] == ["flink", "spark"]
