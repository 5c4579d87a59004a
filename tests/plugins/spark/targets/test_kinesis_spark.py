"""Copies of the checkpoints of Spark's Kinesis connectors, with the same positions and with others."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import StepStanding
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ApplyError
from offsetwise.model import (
    Finding,
    Plan,
    PlannedPosition,
    ReceiptStep,
    Severity,
    ShardRange,
    SourcePosition,
    StepState,
    Turnout,
)
from offsetwise.plan.evidence import require_step
from offsetwise.plan.target import target_type
from offsetwise.plugins.kinesis.stream.spec import LATEST, SHARD_END, after, at_time, in_shards
from offsetwise.plugins.spark.engine.offset_log import checksum_fits
from offsetwise.position import Position
from tests.apply.plans import COPY, DIGEST, MIGRATION, aged, context, files_of, journal, spark_checkpoint
from tests.plugins.kinesis.targets.kinesis_plans import halves, on_another, shard_plan, with_child
from tests.plugins.kinesis.test_checkpoints import AWSLABS, DATA, NUMBER, PENDING, codes, rows
from tests.with_cases import with_cases

MODULE: Final = writer_module(COPY.kind)
AGGREGATED: Final = DATA / "spark" / "awslabs-2.0.0-aggregated"
QUBOLE: Final = DATA / "spark" / "qubole-1.2.0-committed"
WHOLE: Final = {"subSequenceNumber": "-1", "isLast": "true"}


def laid(recorded: Path, folder: Path) -> Path:
    made = folder / "source"
    shutil.copytree(recorded, made)
    for path in made.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return aged(made)


def unfinished(recorded: Path, folder: Path) -> Path:
    """Leave the newest batch of a checkpoint of qubole's without its commit and without an end."""
    made = laid(recorded, folder)
    (made / "commits" / "22").unlink()
    shutil.rmtree(made / "sources" / "0" / "shard-commit" / "22")
    return aged(made)


def written(plan: Plan, folder: Path) -> ReceiptStep:
    with journal(folder) as one:
        return spark_checkpoint.write(plan, COPY, context(folder, journal=one))


def seen(plan: Plan, step: ReceiptStep, folder: Path) -> set[Turnout]:
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"write_roots": (str(folder),)}))
    return {each.turnout for each in MODULE.verify(plan, step, eyes, None)}


def only(shard: int, place: Position) -> Callable[[SourcePosition], Position | None]:
    return lambda one: place if one.partition == shard else None


@with_cases(
    ("recorded", "lay"),
    [(AWSLABS, laid), (PENDING, laid), (AGGREGATED, laid), (QUBOLE, laid), (QUBOLE, unfinished)],
    ids=["awslabs", "awslabs, pending", "awslabs, aggregated", "qubole", "qubole, pending"],
)
def test_a_copy_with_the_same_positions_has_the_same_bytes(
    recorded: Path, lay: Callable[[Path, Path], Path], tmp_path: Path
) -> None:
    source = lay(recorded, tmp_path)
    (source / "state" / "0" / "0").mkdir(parents=True)
    newest = read_checkpoint(str(source)).details.progress.committed
    for version in range(1, 2 if newest is None else newest + 2):
        (source / "state" / "0" / "0" / f"{version}.delta").write_bytes(b"state")
    plan, before = shard_plan(aged(source), COPY), files_of(source)

    step = written(plan, tmp_path)
    copy = Path(step.place)

    assert files_of(copy) == before == files_of(source)
    assert os.path.samefile(copy / "state/0/0/1.delta", source / "state/0/0/1.delta")
    require_step("receipt", plan, DIGEST, 0, step, begun=True)
    assert seen(plan, step, tmp_path) == {Turnout.CONFIRMED}
    assert spark_checkpoint.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    with journal(tmp_path) as one:
        assert spark_checkpoint.undo(plan, step, context(tmp_path, journal=one)).state is StepState.UNDONE
    assert not copy.exists()


@with_cases(
    ("place", "file", "line"),
    [
        (
            after(77),
            '"iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"77","subSequenceNumber":-1,"isLast":true',
            '"subSequenceNumber":"-1","isLast":"true","iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"77"',
        ),
        (
            after(77, 2),
            '"iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"77","subSequenceNumber":2,"isLast":false',
            '"subSequenceNumber":"2","isLast":"false","iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"77"',
        ),
        (
            at_time(1795335840604),
            '"iteratorType":"AT_TIMESTAMP","iteratorPosition":"1795335840604","subSequenceNumber":-1,"isLast":true',
            '"subSequenceNumber":"-1","isLast":"true","iteratorType":"AT_TIMESTAMP","iteratorPosition":"1795335840604"',
        ),
    ],
    ids=str,
)
def test_the_end_of_the_newest_batch_and_its_line_get_the_planned_place(
    place: Position, file: str, line: str, tmp_path: Path
) -> None:
    source = laid(AWSLABS, tmp_path)
    plan = shard_plan(source, COPY, move=only(0, place))
    shown = spark_checkpoint.prepare(plan, COPY, context(tmp_path))
    step = written(plan, tmp_path)

    changed = {path for path, data in files_of(Path(step.place)).items() if data != (source / path).read_bytes()}
    moved = "sources/0/shard-source/0/shardId-000000000000"
    folder = moved.rpartition("/")[0]
    assert changed == {moved, f"{folder}/.shardId-000000000000.crc", "offsets/0", "offsets/.0.crc"}
    made = files_of(Path(step.place))
    assert made[moved] == f'{{"shardId":"shardId-000000000000",{file}}}'.encode()
    assert f'"shardId-000000000000":{{{line}}}'.encode() in made["offsets/0"]
    assert checksum_fits(made[moved], made[f"{folder}/.shardId-000000000000.crc"])
    assert checksum_fits(made["offsets/0"], made["offsets/.0.crc"])
    read = read_checkpoint(step.place)
    assert [row[2] for row in rows(read)] == [str(one.new_offset) for one in plan.positions]
    assert [str(each.after) for each in shown.files[0].numbers] == [str(place)]
    assert "with 1 number(s) changed" in step.told
    assert seen(plan, step, tmp_path) == {Turnout.CONFIRMED}


def test_of_a_pending_batch_both_ends_are_written(tmp_path: Path) -> None:
    """On one stream a batch's ends stay; a plan whose numbers are others has both."""
    source = laid(PENDING, tmp_path)
    plan = shard_plan(source, COPY)
    moved = tuple(
        replace(
            one,
            new_offset=after(one.partition),
            restart=tuple(replace(point, new=after(one.partition + 10 * n)) for n, point in enumerate(one.restart)),
        )
        for one in plan.positions
    )
    step = written(replace(plan, positions=moved), tmp_path)

    assert [row[1:] for row in rows(read_checkpoint(step.place))] == [
        ["shardId-000000000001", "seq:1", "seq:11"],
        ["shardId-000000000002", "seq:2", None],
        ["shardId-000000000003", "seq:3", None],
    ]
    assert not (Path(step.place) / "commits" / "3").exists()


@with_cases("recorded", [AWSLABS, QUBOLE], ids=["awslabs", "qubole"])
def test_a_shard_that_the_checkpoint_does_not_name_is_named_at_its_oldest_record(
    recorded: Path, tmp_path: Path
) -> None:
    source = laid(recorded, tmp_path)
    plan = with_child(shard_plan(source, COPY), 2)
    step = written(plan, tmp_path)

    read = read_checkpoint(step.place)
    assert rows(read)[2][1:3] == ["shardId-000000000002", "TRIM_HORIZON"]
    assert codes(read) == []
    (new,) = (one for one in step.files if one.before_sha256 is None)
    assert new.path.endswith("/shardId-000000000002")
    require_step("receipt", plan, DIGEST, 0, step, begun=True)
    assert seen(plan, step, tmp_path) == {Turnout.CONFIRMED}
    with journal(tmp_path) as one:
        assert spark_checkpoint.undo(plan, step, context(tmp_path, journal=one)).state is StepState.UNDONE


@with_cases(
    ("batch", "committed", "number", "turnout"),
    [
        (1, False, NUMBER, Turnout.CONFIRMED),
        (1, True, NUMBER, Turnout.MOVED_ON),
        (1, True, "77", Turnout.DIFFERENT),
        (2, True, NUMBER, Turnout.UNKNOWN),
    ],
    ids=["planned", "read on", "begun elsewhere", "not retained"],
)
def test_the_line_of_the_first_batch_tells_where_the_query_began(
    batch: int, committed: bool, number: str, turnout: Turnout, tmp_path: Path
) -> None:
    plan = shard_plan(laid(AWSLABS, tmp_path), COPY)
    step = written(plan, tmp_path)
    copy = Path(step.place)
    head, _ = (copy / "offsets/0").read_text().rsplit("\n", 1)
    places = {f"shardId-{one.partition:012}": str(one.new_offset).removeprefix("seq:") for one in plan.positions}
    entries = {
        shard: {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": at, **WHOLE}
        for shard, at in {**places, "shardId-000000000000": number}.items()
    }
    line = json.dumps({"metadata": {"batchId": str(batch), "streamName": "spk"}, **entries})
    (copy / f"offsets/{batch}").write_text(f"{head}\n{line}")
    if committed:
        (copy / f"commits/{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
        shutil.copytree(copy / "sources/0/shard-source/0", copy / f"sources/0/shard-source/{batch}")
        for path in (copy / f"sources/0/shard-source/{batch}").glob("shardId-*"):
            path.write_text(path.read_text().replace('0","sub', '9","sub'))

    assert turnout in seen(plan, step, tmp_path)


CLOSED: Final = ShardRange(partition=0, low=0, high=1, closed=True)
UNREAD: Final = Finding(
    code="CLOSED_SHARD_UNREAD",
    severity=Severity.WARNS,
    topic=None,
    partition=None,
    message="Shard shardId-000000000000 is closed, and 10 records lie behind its position seq:7.",
    remedy="",
)


@with_cases(
    ("recorded", "move", "closed", "findings", "wanted"),
    [
        (AWSLABS, None, True, (), []),
        (AWSLABS, None, True, (UNREAD,), ["PARENT_UNREAD"]),
        (AWSLABS, after(7), True, (), ["PARENT_UNREAD"]),
        (AWSLABS, after(7), False, (), []),
        (QUBOLE, after(7), True, (UNREAD,), []),
        (AWSLABS, LATEST, False, (), ["PLACE_NOT_HELD"]),
        (AWSLABS, SHARD_END, False, (), ["PLACE_NOT_HELD"]),
        (AWSLABS, after(7, 1), False, (), []),
        (QUBOLE, after(7, 1), False, (), ["PLACE_NOT_HELD"]),
    ],
)
def test_what_the_connector_would_not_read_on_from_is_refused(
    recorded: Path,
    move: Position | None,
    closed: bool,
    findings: tuple[Finding, ...],
    wanted: list[str],
    tmp_path: Path,
) -> None:
    plan = shard_plan(
        laid(recorded, tmp_path),
        COPY,
        move=only(0, move) if move is not None else lambda one: None,  # noqa: ARG005 - it moves nothing
        ranges={0: replace(CLOSED, closed=closed)},
        findings=findings,
    )

    assert [each.code for each in target_type(COPY.kind).unfit(plan)] == wanted
    if wanted:
        with pytest.raises(ApplyError, match=r"The copy: expected a plan that it can hold\..*Nothing was written"):
            spark_checkpoint.prepare(plan, COPY, context(tmp_path))


def test_a_pending_batch_and_a_shard_that_it_does_not_name_do_not_go_together(tmp_path: Path) -> None:
    plan = with_child(shard_plan(laid(PENDING, tmp_path), COPY), 4)

    assert [each.code for each in target_type(COPY.kind).unfit(plan)] == ["PENDING_BATCH_DIFFERS"]


@with_cases(
    ("recorded", "shards"),
    [
        (AWSLABS, halves()),
        (QUBOLE, halves()),
        (QUBOLE, (*halves(), ShardRange(partition=2, low=0, high=0))),
        (AWSLABS, (*halves(), ShardRange(partition=2, low=0, high=0))),
    ],
    ids=["awslabs", "qubole", "qubole, one more", "awslabs, one more"],
)
def test_a_copy_on_another_stream_has_its_name_and_places(
    recorded: Path, shards: tuple[ShardRange, ...], tmp_path: Path
) -> None:
    plan = on_another(shard_plan(laid(recorded, tmp_path), COPY), *shards)
    assert [*target_type(COPY.kind).unfit(plan)] == []
    step = written(plan, tmp_path)

    assert [row[:3] for row in rows(read_checkpoint(step.place))] == [
        ["other", f"shardId-{each.partition:012}", f"seq:{1000 + each.partition}"] for each in shards
    ]
    assert seen(plan, step, tmp_path) == {Turnout.CONFIRMED}


def test_a_pending_batch_without_an_end_begins_on_the_other_stream(tmp_path: Path) -> None:
    plan = on_another(shard_plan(unfinished(QUBOLE, tmp_path), COPY), *halves())
    assert [*target_type(COPY.kind).unfit(plan)] == []
    step = written(plan, tmp_path)

    assert [row[:3] for row in rows(read_checkpoint(step.place))] == [
        ["other", f"shardId-{number:012}", f"seq:{1000 + number}"] for number in range(2)
    ]
    assert not (Path(step.place) / "commits" / "22").exists()


def test_a_copy_on_another_stream_needs_its_shards_and_no_pending_batch(tmp_path: Path) -> None:
    committed, pending = laid(QUBOLE, tmp_path), laid(PENDING, tmp_path / "pending")
    lacking = on_another(shard_plan(committed, COPY), *halves(first=1))
    unknown = on_another(shard_plan(pending, COPY), *halves(), *halves(first=2))

    assert [each.code for each in target_type(COPY.kind).unfit(lacking)] == ["PLACE_NOT_HELD"]
    assert [each.code for each in target_type(COPY.kind).unfit(unknown)] == ["PENDING_BATCH_DIFFERS"]
    moved = on_another(shard_plan(committed, COPY), *halves())
    old = in_shards({0: after(5), 1: after(6)})
    moved = replace(moved, positions=tuple(replace(one, old_offset=old) for one in moved.positions))
    with pytest.raises(ApplyError, match="shard 0 at seq:5 as in the plan, found seq:4968"):
        spark_checkpoint.prepare(moved, COPY, context(tmp_path))


def elsewhere(plan: Plan) -> tuple[PlannedPosition, ...]:
    first, *rest = plan.positions
    point = replace(first.restart[0], old=after(5))
    return (replace(first, old_offset=after(5), restart=(point,)), *rest)


@with_cases(
    ("change", "why"),
    [
        (lambda plan: replace(plan, positions=plan.positions[1:]), "a position for spk-0 in the plan, found none"),
        (lambda plan: replace(plan, positions=elsewhere(plan)), "spk-0 at seq:5 as in the plan, found seq:4968"),
        (lambda plan: replace(plan, rewind_to=0), "found a plan that goes back behind it"),
        (
            lambda plan: replace(plan, positions=tuple(replace(one, source="1") for one in plan.positions)),
            "shards of source '1', found none",
        ),
    ],
    ids=["a shard is missing", "it stands elsewhere", "it goes back", "another source"],
)
def test_a_plan_that_does_not_fit_the_checkpoint_is_refused(
    change: Callable[[Plan], Plan], why: str, tmp_path: Path
) -> None:
    plan = change(shard_plan(laid(AWSLABS, tmp_path), COPY))

    with pytest.raises(ApplyError, match=why):
        spark_checkpoint.prepare(plan, COPY, context(tmp_path))


def test_a_file_in_a_form_that_no_connector_writes_is_refused(tmp_path: Path) -> None:
    source = laid(AWSLABS, tmp_path)
    file = source / "sources/0/shard-source/0/shardId-000000000000"
    file.write_text(file.read_text().replace(":", ": "))
    (file.parent / ".shardId-000000000000.crc").unlink()

    with pytest.raises(ApplyError, match="JSON as the connectors write it, found another form of it"):
        spark_checkpoint.prepare(shard_plan(aged(source), COPY), COPY, context(tmp_path))
