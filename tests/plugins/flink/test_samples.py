"""Every recorded savepoint, against its golden file and against a second parser that shares no code with the first.

`OFFSETWISE_RECORD=1` writes the golden files again.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from offsetwise import files
from offsetwise.plugins.flink.engine.checkpoint import read_checkpoint
from offsetwise.plugins.flink.engine.details import flink_details
from tests.plugins.spark.folders import FLINK_NAMES, SAMPLES
from tests.with_cases import with_cases

GOLDEN = SAMPLES.parent / "golden-checkpoints"
FK = "the job continues with fk-0 at 1,000, fk-1 at 50, fk-2 at 7."
RESTARTS = {
    "flink-1.20": "Savepoint 1: the job continues with orders-0 at 2,115, orders-1 at 2,115.",
    "flink-1.20-inline": f"Savepoint 4: {FK}",
    "flink-1.20-legacy-consumer": f"Savepoint 4: {FK}",
    "flink-1.20-snappy": f"Savepoint 4: {FK}",
    "flink-2.2-enumerator-v3": f"Savepoint 4: {FK}",
    "flink-2.3-pending-transaction": "Savepoint 2: the job continues with orders-0 at 1,638, orders-1 at 1,637.",
}
TRANSACTIONS = {"flink-1.20": ("flinktx-0-1", 2, 10), "flink-2.3-pending-transaction": ("flinktx-0-2", 4, 4)}
SPLIT = re.compile(rb"(?s)\0\0\0(.)\0\0\0\0\0\0\0(.)\0(.)([a-z]{2,6})(\0\0\0.)(.{8})\x80\0\0\0\0\0\0\0")
LEGACY = re.compile(rb"(?s)W\x01...(.)\x01f\xeb(.{8})")
COMMITTABLE = re.compile(rb"(?s)\0\0\0\x01\0\0\0\x17(..)(.{8})\0\x0b(flinktx-\d-\d)")


def _scanned(data: bytes) -> dict[tuple[str, int], int]:
    """Find positions by the look of their bytes alone."""
    found = {
        (topic.decode(), int.from_bytes(partition)): int.from_bytes(offset)
        for outer, inner, length, topic, partition, offset in SPLIT.findall(data)
        if outer[0] == inner[0] + 8 == 30 + length[0] == 30 + len(topic)
    }
    legacy = {("fk", twice[0] // 2): int.from_bytes(last) + 1 for twice, last in LEGACY.findall(data)}
    return found | legacy


def _body(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(files.dump(read_checkpoint(str(SAMPLES / name))))
    del body["uri"], body["saved"]["written_ms"]
    return body


@with_cases("name", FLINK_NAMES)
def test_a_recorded_savepoint_reads_as_its_golden_file_says(name: str) -> None:
    golden = GOLDEN / f"{name}.json"
    if os.environ.get("OFFSETWISE_RECORD"):
        golden.write_text(json.dumps(_body(name), indent=1, sort_keys=True) + "\n")

    assert _body(name) == json.loads(golden.read_text())


@with_cases("name", FLINK_NAMES)
def test_the_golden_files_agree_with_a_second_parser(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    data = (SAMPLES / name / "_metadata").read_bytes()
    read = {
        (at["topic"], at["partition"]): int(at["offset"]) for source in golden["sources"] for at in source["positions"]
    }
    transactions = [(one["transactional_id"], int(one["producer_id"]), one["epoch"]) for one in golden["transactions"]]

    assert read
    assert read == _scanned(data)
    assert transactions == [
        (name.decode(), int.from_bytes(producer), int.from_bytes(epoch))
        for epoch, producer, name in COMMITTABLE.findall(data)
    ]
    assert transactions == ([TRANSACTIONS[name]] if name in TRANSACTIONS else [])


@with_cases("name", FLINK_NAMES)
def test_the_restart_is_one_sentence_with_its_numbers_and_without_batches(name: str) -> None:
    read = read_checkpoint(str(SAMPLES / name))

    assert read.restart == RESTARTS[name]
    assert read.engine == "flink"
    assert (
        read.details.progress.planned,
        read.details.progress.committed,
        read.details.progress.again,
        read.details.batches,
    ) == (
        None,
        None,
        None,
        (),
    )
    assert [problem.code for problem in read.problems] == (["TRANSACTION_PENDING"] if name in TRANSACTIONS else [])


@with_cases("name", FLINK_NAMES)
def test_the_metadata_file_itself_may_be_named(name: str) -> None:
    assert read_checkpoint(str(SAMPLES / name / "_metadata")) == read_checkpoint(str(SAMPLES / name))


def test_operators_have_names_and_uids_where_the_file_has_them() -> None:
    read = read_checkpoint(str(SAMPLES / "flink-2.2-enumerator-v3"))

    assert [(one.name, one.uid, one.parallelism) for one in flink_details(read).operators] == [
        ("Sink: s", "s", 2),
        ("ksink: Writer", "ksink", 2),
        ("ksink: Committer", "Sink Committer: ksink", 2),
        ("Source: kafka src", "kafka-src", 2),
    ]
    assert flink_details(read).operators[1].transactional_id_prefix == "tx-pref"
    assert read.sources[0].id == "kafka-src"


def test_savepoint_id_version_and_compression_are_told() -> None:
    saved = flink_details(read_checkpoint(str(SAMPLES / "flink-1.20-snappy"))).saved

    assert saved is not None
    assert (saved.kind, saved.id, saved.format_version, saved.format) == ("savepoint", 4, 4, "canonical")
    assert (saved.aligned, saved.compressed) == (True, True)
    assert saved.written_ms == int((SAMPLES / "flink-1.20-snappy" / "_metadata").stat().st_mtime * 1000)
