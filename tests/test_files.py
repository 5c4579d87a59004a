from __future__ import annotations

import contextlib
import copy
import functools
import json
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

import offsetwise as ow
from offsetwise import files
from offsetwise.errors import FileError, VersionError
from offsetwise.model import (
    Batch,
    BatchSource,
    BelongsTo,
    Checkpoint,
    CheckpointSource,
    Cluster,
    ClusterRef,
    Comparison,
    Finding,
    GroupOffset,
    GroupState,
    Heartbeat,
    MirrorCheckpoint,
    MirrorState,
    MirrorTopic,
    Neighbour,
    OffsetSync,
    PartitionState,
    Problem,
    Severity,
    Side,
    Snapshot,
    SourcePosition,
    Summary,
    TopicOffsets,
    TopicState,
)
from offsetwise.plugins.spark.engine.details import SparkDetails, StateStore
from tests.checkpoints import changed
from tests.commands import call
from tests.findings.cases import ROW
from tests.with_cases import with_cases

SAMPLE = Path(ow.__file__).parent / "sample"
FLINK = SAMPLE.with_name("sample_flink")
APPLIED = Path(__file__).parent / "data" / "receipts" / "copy"
FILE = "FILE"
"""Stands for the file in a command that reads it."""
MINE = ("--migration", SAMPLE / "migration.yaml")
DRAFTED = ("--target", "spark-checkpoint", "--author", "ada", "--out", "plan.json")
COMMANDS: dict[str, tuple[Path, tuple[str | Path, ...]]] = {
    "comparison": (
        SAMPLE / "comparison-payments.json",
        ("draft", *MINE, "--comparison", FILE, "--snapshots", SAMPLE / "old.json", SAMPLE / "new.json", *DRAFTED),
    ),
    "snapshot": (
        SAMPLE / "old.json",
        ("compare", *MINE, "--checkpoint", "payments", "--no-content", "--snapshots", FILE, SAMPLE / "new.json"),
    ),
    "plan": (APPLIED / "plan.json", ("apply", FILE, *MINE)),
    "receipt": (APPLIED / "receipt.json", ("verify", FILE, *MINE)),
    "sink-snapshot": (
        FLINK / "sink.json",
        ("transactions", "order-audit", "--migration", FLINK / "migration.yaml", "--snapshot", FILE),
    ),
}
"""By kind of file: one, and a command that reads it."""
BEYOND_FLOAT = 9_007_199_254_740_993
"""2^53 + 1: the first integer a JSON reader with floats gets wrong."""

POSITION = SourcePosition(topic="orders", partition=0, offset=1050, planned_offset=BEYOND_FLOAT)
CHECKPOINT = Checkpoint(
    uri="checkpoints/orders",
    engine="spark",
    job_id="0d1c",
    restart="Batch 7 runs again.",
    sources=(
        CheckpointSource(index=0, id="0", kind="kafka", positions=(POSITION,)),
        CheckpointSource(index=1, id="1", kind="other", raw="7"),
    ),
    problems=(Problem(code="GAP", message="Batch 3 is missing.", fix="Nothing."),),
    pins=(("offsets/6", "ab" * 32),),
    details=SparkDetails(
        last_planned_batch=7,
        last_committed_batch=6,
        reruns_batch=7,
        batches=(
            Batch(
                id=6,
                committed=True,
                sources=(
                    BatchSource(
                        id="0",
                        offsets=(TopicOffsets(topic="orders", partitions=(1, 0), offsets=(1050, BEYOND_FLOAT)),),
                    ),
                ),
                timestamp_ms=1,
            ),
        ),
        state=(StateStore(operator=0, partitions=2, files=4, size_bytes=4096),),
        configuration=(("spark.sql.shuffle.partitions", "2"),),
        offset_log_version=1,
        commit_log_version=1,
    ),
)
SNAPSHOT = Snapshot(
    cluster=Cluster.OLD,
    name="old",
    alias="old",
    cluster_id="abc",
    taken_at="2026-01-01T00:00:00Z",
    topics=(
        TopicState(
            name="orders",
            id="bG9yZGVycw",
            partitions=(
                PartitionState(partition=0, leader=1, leader_epoch=3, log_start=100, hw=1200, lso=1200),
                PartitionState(partition=1, error="the leader did not answer"),
            ),
            config=(("cleanup.policy", "delete"),),
        ),
    ),
    groups=(GroupState(name="etl", state="Empty", offsets=(GroupOffset(topic="orders", partition=0, offset=1050),)),),
    mirror=MirrorState(
        topics=(MirrorTopic(name="mm2-offset-syncs.new.internal", kind="offset-syncs", alias="new", records=1),),
        syncs=(
            (
                "mm2-offset-syncs.new.internal",
                (OffsetSync(topic="orders", partition=0, upstream=1000, downstream=900),),
            ),
        ),
        checkpoints=(
            (
                "old.checkpoints.internal",
                (MirrorCheckpoint(group="etl", topic="orders", partition=0, upstream=1000, downstream=901),),
            ),
        ),
        heartbeats=(Heartbeat(source="old", target="new", timestamp_ms=1),),
    ),
    problems=(Problem(code="PARTITION_UNREADABLE", message="orders-1 was not read."),),
)
SEEN = Neighbour(old_offset=1049, new_offset=949, timestamp_ms=1, identity="a4", side=Side.READ)
COMPARISON = Comparison(
    migration="orders-to-new",
    checkpoint=CHECKPOINT,
    group=None,
    taken_at="2026-01-01T00:00:00Z",
    belongs_to=BelongsTo(cluster=Cluster.OLD, reason="ranges"),
    old=ClusterRef(name="old", cluster_id="abc", taken_at="2026-01-01T00:00:00Z"),
    new=ClusterRef(name="new", cluster_id=None, taken_at="2026-01-01T00:00:01Z"),
    partitions=(replace(ROW, evidence=replace(ROW.evidence, neighbours=(SEEN,), schema_ids=((7, 9),))),),
    findings=(
        Finding(code="GAP", severity=Severity.INFORMS, topic=None, partition=None, message="Gap.", remedy="None."),
    ),
    summary=Summary(
        partitions=1,
        exact=1,
        position_exact=0,
        preserved=0,
        bounded=0,
        claimed=0,
        unknown=0,
        blocked=0,
        raw_wrong=0,
        raw_out_of_range=0,
        raw_skip=0,
        raw_replay=0,
    ),
)
VALUES: dict[str, Any] = {"checkpoint": CHECKPOINT, "snapshot": SNAPSHOT, "comparison": COMPARISON}


@with_cases("kind", VALUES)
def test_what_is_written_is_read_back_the_same(kind: str) -> None:
    assert files.load(files.dump(VALUES[kind]), kind, subject="file") == VALUES[kind]


@with_cases("kind", VALUES)
def test_what_is_written_keeps_to_its_schema(kind: str) -> None:
    schema = files.schema(kind)

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(files.dump(VALUES[kind])), schema)


@with_cases("kind", VALUES)
def test_a_file_is_stable_sorted_and_ends_in_one_newline(kind: str) -> None:
    text = files.dump(VALUES[kind])
    body = json.loads(text)

    assert text == files.dump(files.load(text, kind, subject="file"))
    assert list(body) == sorted(body)
    assert text.endswith("}\n")
    assert files.dump(VALUES[kind], indent=None).count("\n") == 1
    assert (body["format"], body["format_version"]) == (f"offsetwise/{kind}", "1.0")


def test_the_golden_checkpoint_has_the_names_other_tools_rely_on() -> None:
    plain = changed(CHECKPOINT, batches=(), state=(), configuration=(), pins=())
    golden = (
        '{"batches": [], "commit_log_version": 1, "configuration": [], "engine": "spark", '
        '"format": "offsetwise/checkpoint", "format_version": "1.0", "job_id": "0d1c", "last_committed_batch": 6, '
        '"last_planned_batch": 7, "offset_files": [], "offset_log_version": 1, "operators": [], '
        '"problems": [{"code": "GAP", "fix": "Nothing.", "message": "Batch 3 is missing."}], "reruns_batch": 7, '
        '"restart": "Batch 7 runs again.", "saved": null, '
        '"sources": [{"id": "0", "index": 0, "kind": "kafka", "marked": [], "positions": '
        '[{"offset": "1050", "partition": 0, "planned_offset": "9007199254740993", "topic": "orders"}], "raw": null}, '
        '{"id": "1", "index": 1, "kind": "other", "marked": [], "positions": [], "raw": "7"}], "state": [], '
        '"transactions": [], "uri": "checkpoints/orders"}\n'
    )

    written = files.dump(plain, indent=None)

    of_plug_ins = json.loads(written).keys() - json.loads(golden).keys()
    assert of_plug_ins.isdisjoint(field.name for field in fields(Checkpoint))
    own = {key: value for key, value in json.loads(written).items() if key not in of_plug_ins}
    assert json.dumps(own, sort_keys=True) + "\n" == golden
    assert json.dumps(json.loads(written), sort_keys=True) + "\n" == written


def test_a_comparison_names_what_automation_reads() -> None:
    (row,) = json.loads(files.dump(COMPARISON))["partitions"]

    assert {name: row[name] for name in ("old_offset", "new_offset", "bounds", "replay", "skip", "foreign_below")} == {
        "old_offset": "1050",
        "new_offset": "950",
        "bounds": ["950", "950"],
        "replay": "0",
        "skip": "0",
        "foreign_below": "0",
    }
    assert row["restart"] == [{"batch": 6, "old": "1050", "new": "950"}]
    assert row["ahead"] == {"examined": True, "missing": "0", "duplicated": "0", "foreign": "0"}
    assert row["old"] == {"log_start": "100", "lso": "1200", "hw": "1200"}
    assert (row["lag_old"], row["lag_new"], row["mirror_maker"]) == ("150", "150", "910")
    assert row["raw"] == {"verdict": "SAME", "skip": "0", "replay": "0"}


def test_the_checkpoint_inside_a_comparison_is_a_checkpoint_file() -> None:
    inside = json.loads(files.dump(COMPARISON))["checkpoint"]

    assert files.load(json.dumps(inside), "checkpoint", subject="inside") == CHECKPOINT


def test_unknown_stays_null_and_is_never_zero() -> None:
    unknown = replace(ROW, new_offset=None, replay=None, skip=None, foreign_below=None, lag_new=None, bounds=(None, 7))

    (row,) = json.loads(files.dump(replace(COMPARISON, partitions=(unknown,))))["partitions"]

    assert [row[name] for name in ("new_offset", "replay", "skip", "foreign_below", "lag_new")] == [None] * 5
    assert row["bounds"] == [None, "7"]


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_int64_offset_survives(offset: int) -> None:
    made = replace(SNAPSHOT, topics=(TopicState(name="t", partitions=(PartitionState(partition=0, hw=offset),)),))

    assert files.load(files.dump(made), "snapshot", subject="file") == made


def _changed(**changes: Any) -> str:
    return json.dumps(json.loads(files.dump(CHECKPOINT)) | changes)


REFUSED = {
    "not JSON": ("v1\n{}", "Expecting value"),
    "empty": ("", "Expecting value"),
    "two objects": ("{}{}", "Extra data"),
    "a list": ("[]", "its top level is a list"),
    "a key twice": ('{"format": "offsetwise/checkpoint", "format": "x"}', "the key 'format' appears twice"),
    "a float": ('{"a": 1.0}', "found the number 1.0"),
    "an exponent": ('{"a": 1e3}', "found the number 1e3"),
    "NaN": ('{"a": NaN}', "found the number NaN"),
    "infinity": ('{"a": -Infinity}', "found the number -Infinity"),
    "an integer outside int64": ('{"a": 9223372036854775808}', "does not fit 64 bits"),
    "a very long integer": ('{"a": ' + "9" * 5000 + "}", "does not fit 64 bits"),
    "nested too deeply": ('{"a":' * 33 + "1" + "}" * 33, "nested more than 32 levels"),
    "nested without end": ("[" * 100_000, "nested more than 32 levels"),
    "bytes that are not UTF-8": (b'{"a": "\xff"}', "not UTF-8: found other bytes at position 7"),
    "an offset that is no number": (_changed(last_planned_batch="seven"), "last_planned_batch"),
    "an offset outside int64": (
        _changed(
            sources=[
                {
                    "index": 0,
                    "id": "0",
                    "kind": "kafka",
                    "positions": [{"topic": "t", "partition": 0, "offset": "9223372036854775808"}],
                }
            ]
        ),
        "sources.0.positions.0.offset",
    ),
    "an offset in other digits": (
        _changed(
            sources=[
                {
                    "index": 0,
                    "id": "0",
                    "kind": "kafka",
                    "positions": [{"topic": "t", "partition": 0, "offset": "١٠٥٠"}],
                }
            ]
        ),
        "expected an integer as a decimal string",
    ),
}


@with_cases(("text", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_of_another_shape_is_refused_with_the_reason(text: str | bytes, why: str) -> None:
    with pytest.raises(FileError, match="Nothing was used") as caught:
        files.load(text, "checkpoint", subject="orders.json")

    assert "orders.json" in caught.value.problem
    assert why in caught.value.problem
    assert caught.value.fix


def test_a_file_above_the_limit_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 10)

    with pytest.raises(FileError, match="the limit is 10"):
        files.load("[" * 11, "checkpoint", subject="orders.json")


def test_another_kind_of_file_is_refused_naming_both() -> None:
    with pytest.raises(VersionError, match="expected format 'offsetwise/snapshot', found 'offsetwise/checkpoint'"):
        files.load(files.dump(CHECKPOINT), "snapshot", subject="old.json")


@with_cases("version", ["0.9", "2.0", "10.0", "", "x", "1", "1.", "1.00", "1.02", "1.2.3", "1,0", " 1.0", "1.x"])
def test_an_unknown_major_version_is_refused_naming_both(version: str) -> None:
    with pytest.raises(VersionError) as refused:
        files.load(_changed(format_version=version), "checkpoint", subject="orders.json")
    assert refused.value.problem == (
        f"orders.json: this release reads offsetwise/checkpoint version 1.0, found version {version}. "
        "Nothing was used from it."
    )
    assert refused.value.fix == "Use the release of Offsetwise that wrote it, or write it again with this one."


def test_keys_of_a_later_minor_version_are_read_over() -> None:
    text = _changed(format_version="1.9", of_a_later_release=True)

    assert files.load(text, "checkpoint", subject="orders.json") == CHECKPOINT


def test_workers_answer_in_plain_integers_and_files_do_not() -> None:
    told = {"old_offset": 1049, "new_offset": 949, "timestamp_ms": 1, "identity": "a4", "side": "read"}
    assert TypeAdapter(Neighbour).validate_json(json.dumps(told)) == SEEN
    text = files.dump(COMPARISON)
    assert '"old_offset": "1049"' in text
    with pytest.raises(FileError, match="as a decimal string"):
        files.load(text.replace('"old_offset": "1049"', '"old_offset": 1049'), "comparison", subject="it")


class TestHalfOfACharacter:
    """JSON can escape half of a pair of UTF-16, which no text has."""

    @with_cases("half", [0xD83D, 0xDFFF, 0xDC7F, 0xDD00])
    def test_anywhere_in_a_file_it_is_refused(self, half: int) -> None:
        whole = json.loads((SAMPLE / "comparison-payments.json").read_text(encoding="utf-8"))
        texts = [*_texts(whole)]
        taken = []

        for path in texts:
            damaged = copy.deepcopy(whole)
            parent = functools.reduce(lambda inner, key: inner[key], path[:-1], damaged)
            parent[path[-1]] += chr(half)
            with contextlib.suppress(FileError):
                files.load(json.dumps(damaged), "comparison", subject="comparison.json")
                taken.append(path)

        assert len(texts) > 100
        assert taken == []

    @with_cases("kind", ["comparison", "snapshot", "plan", "receipt", "sink-snapshot"])
    def test_every_command_that_reads_one_says_what_is_wrong_with_its_input(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        file, command = COMMANDS[kind]
        whole = json.loads(file.read_text(encoding="utf-8"))
        for path in random.Random(kind).sample([*_texts(whole)], 8):
            damaged = copy.deepcopy(whole)
            parent = functools.reduce(lambda inner, key: inner[key], path[:-1], damaged)
            parent[path[-1]] += "\ud83d"
            (tmp_path / file.name).write_text(json.dumps(damaged), encoding="utf-8")

            ran = call(*(tmp_path / file.name if each == FILE else each for each in command), "--json")

            assert ran.refused()["error"] in ("FileError", "PlanError", "VersionError"), path
            assert "defect" not in ran.err

    def test_bytes_of_a_name_that_is_no_text_are_written_and_read_again(self) -> None:
        whole = json.loads((SAMPLE / "comparison-payments.json").read_text(encoding="utf-8"))
        whole["checkpoint"]["uri"] += os.fsdecode(b"\xff")
        read = files.load(json.dumps(whole), "comparison", subject="comparison.json")

        written = files.dump(read).encode()

        assert rb"\udcff" in written
        assert files.load(written, "comparison", subject="comparison.json") == read

    def test_a_checkpoint_under_such_a_name_is_drafted(self, tmp_path: Path) -> None:
        folder = Path(os.fsdecode(bytes(tmp_path / "a") + b"\xff"))
        shutil.copytree(SAMPLE, folder)
        migration = ow.Migration.load(folder / "migration.yaml")
        whole = json.loads((folder / "comparison-payments.json").read_text(encoding="utf-8"))
        whole["checkpoint"]["uri"] = str(folder / "checkpoints" / "payments")
        (folder / "comparison-payments.json").write_text(json.dumps(whole), encoding="utf-8")
        compared = ow.load_comparison(*(folder / f"{name}.json" for name in ("comparison-payments", "old", "new")))

        migration.checkpoint("payments").draft(ow.targets.SparkCopy(), author="ada", comparison=compared).save(
            tmp_path / "plan.json"
        )

        assert ow.Plan.load(tmp_path / "plan.json").document.requirements.checkpoint.uri == str(  # type: ignore[union-attr]
            folder / "checkpoints" / "payments"
        )


def _texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _texts(inner, (*path, key))
