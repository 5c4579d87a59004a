"""Every recorded checkpoint, against its golden file and against a second parser that shares no code with the first.

`OFFSETWISE_RECORD=1` writes the golden files again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from offsetwise import files
from offsetwise.model import Checkpoint
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.engine.details import spark_details
from tests.plugins.spark.folders import NAMES, SAMPLES
from tests.with_cases import with_cases

GOLDEN = SAMPLES.parent / "golden-checkpoints"
RESTARTS = {
    "spark-3.5.1-planned": "Batch 3 is planned and not committed: it runs again, orders-1 from 509 to 662, "
    "orders-0 from 538 to 684.",
    "spark-4.0.0-agg-rocksdb": "Batch 6 is committed: batch 7 starts at payments-0 at 176, orders-0 at 1,170, "
    "orders-1 at 1,170.",
    "spark-4.0.0-multi": "Batch 6 is planned and not committed: it runs again, orders-0 from 976 to 1,122, "
    "orders-1 from 968 to 1,121, payments-0 at 176. Where source 2 starts is not known from this checkpoint's "
    "lines: sources of its kind are not read.",
    "spark-4.1.1-real-time": "Batch 1 is committed: batch 2 starts at rtm-4-1-1-0 at 20, rtm-4-1-1-1 at 20.",
    "spark-4.2.0-agg-rocksdb": "Batch 6 is committed: batch 7 starts at payments-0 at 176, orders-0 at 1,170, "
    "orders-1 at 1,170.",
    "spark-4.2.0-async": "Batch 8 is committed: batch 9 starts at orders-0 at 533, orders-1 at 508.",
    "spark-4.2.0-named-in-v1": "Batch 0 is committed: batch 1 starts at v2exp-4-2-0-0 at 16, v2exp-4-2-0-1 at 16.",
    "spark-4.2.0-named-sources": "Batch 1 is committed: batch 2 starts at v2exp-4-2-0-0 at 18, v2exp-4-2-0-1 at 18.",
    "spark-4.2.0-offset-log-v2": "Batch 0 is committed: batch 1 starts at orders-0 at 1,200, orders-1 at 20.",
    "spark-4.2.0-pending-in-v2": "Batch 1 is planned and not committed: it runs again, v2pend-0 from 13 to 16, "
    "v2pend-1 from 13 to 16.",
    "spark-4.2.0-polluted-after-failed-start": "Batch 2 is planned and not committed: it runs again, "
    "orders-0 from 1,050 to 950, orders-1 at 20.",
    "spark-4.2.0-repartition-unfinished": "Batch 2 is planned and not committed, and repartitions the state: Spark "
    "does not start, repexp-4-2-0-0 at 25, repexp-4-2-0-1 at 25.",
}
PROBLEMS = {
    "spark-3.5.1-planned": ["PENDING_BATCH"],
    "spark-4.0.0-multi": ["PENDING_BATCH"],
    "spark-4.2.0-async": ["GAP"],
    "spark-4.2.0-named-in-v1": ["SOURCES_NAMED_IN_V1"],
    "spark-4.2.0-named-sources": ["OFFSET_LOG_V2"],
    "spark-4.2.0-offset-log-v2": ["OFFSET_LOG_V2"],
    "spark-4.2.0-pending-in-v2": ["PENDING_BATCH", "OFFSET_LOG_V2"],
    "spark-4.2.0-polluted-after-failed-start": ["CHECKPOINT_POLLUTED"],
    "spark-4.2.0-repartition-unfinished": ["REPARTITION_UNFINISHED"],
}


def _numbered(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


def _lines(folder: Path, batch: int) -> list[tuple[str, list[tuple[str, int, int]], str]]:
    """Read the source lines of an offset file with patterns alone: (id, [(topic, partition, offset)], text)."""
    version, _, *lines = (folder / "offsets" / str(batch)).read_text("utf-8").split("\n")
    made = []
    for index, line in enumerate(lines):
        name, text = line.split(":", 1) if version == "v2" else (str(index), line)
        found = [
            (topic, int(partition), int(offset))
            for topic, inner in re.findall(r'"([^"]+)":\{([^}]*)\}', text)
            for partition, offset in re.findall(r'"(\d+)":(\d+)', inner)
        ]
        made.append((name, found, text))
    return made


def _second_opinion(folder: Path) -> dict[str, Any]:
    planned, committed = _numbered(folder / "offsets"), _numbered(folder / "commits")
    last = planned[-1]
    pending = committed[-1] != last
    start = _lines(folder, planned[-2] if pending else last)
    ends = {(t, p): o for _, found, _ in _lines(folder, last) for t, p, o in found} if pending else {}
    return {
        "job_id": re.findall(r'"id":"([^"]+)"', (folder / "metadata").read_text())[0],
        "last_planned_batch": last,
        "last_committed_batch": committed[-1],
        "reruns_batch": last if pending else None,
        "sources": [
            {
                "index": index,
                "id": name,
                "kind": "kafka" if found else "other",
                "positions": [
                    {
                        "topic": topic,
                        "partition": partition,
                        "offset": str(offset),
                        "planned_offset": str(ends[topic, partition]) if pending else None,
                    }
                    for topic, partition, offset in found
                ],
                "raw": None if found else text,
                "marked": [],
            }
            for index, (name, found, text) in enumerate(start)
        ],
    }


def _body(checkpoint: Checkpoint) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(files.dump(checkpoint))
    del body["uri"]
    return body


@with_cases("sample", NAMES)
def test_a_recorded_checkpoint_reads_as_its_golden_file_says(sample: str) -> None:
    body = _body(read_checkpoint(str(SAMPLES / sample)))
    golden = GOLDEN / f"{sample}.json"
    if os.environ.get("OFFSETWISE_RECORD"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n")

    assert body == json.loads(golden.read_text())


@with_cases("sample", NAMES)
def test_the_golden_files_agree_with_a_second_parser(sample: str) -> None:
    golden = json.loads((GOLDEN / f"{sample}.json").read_text())
    expected = _second_opinion(SAMPLES / sample)

    assert {key: golden[key] for key in expected} == expected


@with_cases("sample", NAMES)
def test_every_retained_batch_agrees_with_a_second_parser(sample: str) -> None:
    folder = SAMPLES / sample
    checkpoint = read_checkpoint(str(folder))
    read = {
        batch.id: [
            (
                s.id,
                [(of.topic, *pair) for of in s.offsets for pair in zip(of.partitions, of.offsets, strict=True)],
                s.raw,
            )
            for s in batch.sources
        ]
        for batch in checkpoint.details.batches
    }

    assert read == {
        batch: [(name, found, None if found else text) for name, found, text in _lines(folder, batch)]
        for batch in _numbered(folder / "offsets")
    }
    assert [b.id for b in checkpoint.details.batches if b.committed] == _numbered(folder / "commits")


@with_cases("sample", NAMES)
def test_the_restart_is_one_sentence_with_its_numbers(sample: str) -> None:
    assert read_checkpoint(str(SAMPLES / sample)).restart == RESTARTS[sample]


@with_cases("sample", NAMES)
def test_a_recorded_checkpoint_has_the_problems_it_was_recorded_for(sample: str) -> None:
    assert [one.code for one in read_checkpoint(str(SAMPLES / sample)).problems] == PROBLEMS.get(sample, [])


@with_cases("sample", NAMES)
def test_the_digests_are_those_of_the_files_that_decide_the_restart(sample: str) -> None:
    checkpoint = read_checkpoint(str(SAMPLES / sample))
    deciding = _numbered(SAMPLES / sample / "offsets")[-2:]

    assert dict(checkpoint.pins) == {
        f"offsets/{batch}": hashlib.sha256((SAMPLES / sample / "offsets" / str(batch)).read_bytes()).hexdigest()
        for batch in deciding
    }


@with_cases("sample", NAMES)
def test_a_checkpoint_survives_its_own_file_format(sample: str) -> None:
    checkpoint = read_checkpoint(str(SAMPLES / sample))

    assert files.load(files.dump(checkpoint), "checkpoint", subject="test") == checkpoint


@with_cases("sample_name", ["spark-4.0.0-agg-rocksdb", "spark-4.2.0-agg-rocksdb"])
def test_state_is_counted_in_files_bytes_and_rows(sample_name: str) -> None:
    (state,) = spark_details(read_checkpoint(str(SAMPLES / sample_name))).state
    counted = [
        path
        for path in (SAMPLES / sample_name / "state").rglob("*")
        if path.is_file() and not path.name.startswith(".") and not path.name.endswith(".crc")
    ]

    assert (state.operator, state.partitions, state.files) == (0, 2, len(counted))
    assert state.size_bytes == sum(path.stat().st_size for path in counted)
    assert state.keys == 4


def test_the_recorded_configuration_is_that_of_the_newest_batch() -> None:
    checkpoint = read_checkpoint(str(SAMPLES / "spark-4.2.0-offset-log-v2"))

    assert (
        dict(spark_details(checkpoint).configuration)["spark.sql.streaming.queryEvolution.enableSourceEvolution"]
        == "true"
    )
    assert list(spark_details(checkpoint).configuration) == sorted(spark_details(checkpoint).configuration)
    assert (spark_details(checkpoint).offset_log_version, spark_details(checkpoint).commit_log_version) == (2, 1)
