"""Targets for a job that gives up its state: a startingOffsets file, and a seeded checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.apply.writing import StepStanding, Writer
from offsetwise.errors import ApplyError, OutputError, OutsideRootsError, PlanError
from offsetwise.model import Plan, ReceiptStep, StepState, Target
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from tests.apply.plans import (
    PENDING,
    SEEDED,
    STARTING,
    context,
    drafted,
    journal,
    recorded,
    seeded,
    starting_offsets,
    tree_hash,
)
from tests.plugins.spark.folders import checkpoint, orders, write
from tests.with_cases import with_cases

WRITERS = [pytest.param(starting_offsets, STARTING, id="startingOffsets"), pytest.param(seeded, SEEDED, id="seeded")]


def _written(writer: Writer, target: Target, plan: Plan, folder: Path) -> ReceiptStep:
    with journal(folder) as one:
        made = writer.write(plan, target, context(folder, journal=one))
    assert isinstance(made, ReceiptStep)
    return made


def test_the_file_has_exactly_the_option_that_spark_takes(tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)), rename=lambda topic: f"old.{topic}")
    step = _written(starting_offsets, STARTING, plan, tmp_path)

    text = (tmp_path / "out" / "copy").read_text()
    assert text == '{"old.orders":{"0":541,"1":512}}'
    assert step.told.endswith("gives startingOffsets for 2 partition(s).")


def test_a_seeded_checkpoint_starts_at_the_planned_positions(tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    _written(seeded, SEEDED, plan, tmp_path)

    copy = tmp_path / "out" / "copy"
    assert (copy / "sources/0/0").read_bytes() == b'\0v1\n{"orders":{"0":541,"1":512}}'
    read = read_checkpoint(str(copy))
    assert read.problems == ()
    assert [(one.topic, one.partition, one.offset) for one in read.sources[0].positions] == [
        ("orders", 0, 541),
        ("orders", 1, 512),
    ]
    assert read.job_id != plan.requirements.checkpoint.job_id if plan.requirements.checkpoint else False
    assert not (copy / "metadata").read_bytes().endswith(b"\n")


def test_two_seeded_checkpoints_are_two_queries(tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    ids = set()
    for number in range(2):
        with journal(tmp_path, name=f"{number}.journal") as one:
            output = str(tmp_path / "out" / str(number))
            seeded.write(plan, SEEDED, context(tmp_path, output=output, journal=one))
        ids.add(json.loads((tmp_path / "out" / str(number) / "metadata").read_text())["id"])

    assert len(ids) == 2


@with_cases(("writer", "target"), WRITERS)
def test_a_dry_run_shows_the_numbers_and_writes_nothing(writer: Writer, target: Target, tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    before = tree_hash(tmp_path)

    shown = writer.prepare(plan, target, context(tmp_path))

    assert [(one.new_topic, one.partition, one.after) for file in shown.files for one in file.numbers] == [
        ("orders", 0, 541),
        ("orders", 1, 512),
    ]
    assert tree_hash(tmp_path) == before


def _without(plan: Plan) -> Plan:
    return replace(plan, positions=plan.positions[:1])


def _grown(plan: Plan) -> Plan:
    new = plan.requirements.new
    topics = tuple(replace(topic, partitions=3) for topic in new.topics)
    return replace(plan, requirements=replace(plan.requirements, new=replace(new, topics=topics)))


def _unknown_topic(plan: Plan) -> Plan:
    return replace(plan, requirements=replace(plan.requirements, new=replace(plan.requirements.new, topics=())))


def _negative(plan: Plan) -> Plan:
    return replace(plan, positions=tuple(replace(one, new_offset=-2) for one in plan.positions))


def _twice(plan: Plan) -> Plan:
    return replace(plan, positions=(*plan.positions, plan.positions[0]))


@with_cases(("writer", "target"), WRITERS)
@with_cases("change", [_without, _grown, _unknown_topic, _negative, _twice])
def test_not_exactly_all_partitions_is_refused(
    change: Callable[[Plan], Plan], writer: Writer, target: Target, tmp_path: Path
) -> None:
    plan = change(drafted(str(recorded(PENDING, tmp_path))))

    with pytest.raises((ApplyError, PlanError), match="startingOffsets: expected"):
        writer.prepare(plan, target, context(tmp_path))
    with pytest.raises((ApplyError, PlanError), match="startingOffsets: expected"):
        _written(writer, target, plan, tmp_path)
    assert not (tmp_path / "out").exists()


@with_cases(("writer", "target"), WRITERS)
def test_several_sources_are_refused(writer: Writer, target: Target, tmp_path: Path) -> None:
    plan = drafted(str(recorded("spark-4.0.0-multi", tmp_path)))

    with pytest.raises((ApplyError, PlanError), match="one Kafka source"):
        writer.prepare(plan, target, context(tmp_path))


def test_a_source_beside_the_kafka_one_is_no_reason_against_a_file_and_one_against_a_seed(tmp_path: Path) -> None:
    source = write(checkpoint({0: f"{orders(7)}\n6"}, (0,)), tmp_path / "source")
    plan = drafted(str(source))

    starting_offsets.prepare(plan, STARTING, context(tmp_path))
    with pytest.raises(ApplyError, match="found 2 sources"):
        seeded.prepare(plan, SEEDED, context(tmp_path))


@with_cases(("writer", "target"), WRITERS)
def test_what_stands_there_is_not_written_over(writer: Writer, target: Target, tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "copy").write_text("mine")

    with pytest.raises(OutputError, match="found something there"):
        _written(writer, target, plan, tmp_path)
    assert (tmp_path / "out" / "copy").read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["copy"]


@with_cases(("writer", "target"), WRITERS)
def test_outside_the_write_roots_nothing_is_written(writer: Writer, target: Target, tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path / "in")))

    for output in (str(tmp_path / "x"), f"{tmp_path}/in/../x", "s3://bucket/x"):
        with pytest.raises(OutsideRootsError):
            writer.prepare(plan, target, context(tmp_path / "in", output=output))
    with pytest.raises(OutputError, match="found none"):
        writer.prepare(plan, target, replace(context(tmp_path), output=None))


@with_cases(("writer", "target"), WRITERS)
def test_an_object_store_is_refused_in_words(writer: Writer, target: Target, tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))

    with pytest.raises(OutputError, match="expected a local"):
        writer.prepare(plan, target, replace(context(tmp_path, output="s3://b/x/y"), write_roots=("s3://b/x",)))


@with_cases(("writer", "target"), WRITERS)
def test_undoing_removes_it_unless_it_was_changed(writer: Writer, target: Target, tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    step = _written(writer, target, plan, tmp_path)
    assert _written(writer, target, plan, tmp_path) == step
    assert writer.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN

    changed = tmp_path / "out" / "copy"
    changed = changed / "sources/0/0" if changed.is_dir() else changed
    was = changed.read_bytes()
    changed.write_bytes(b"x")
    assert writer.look(plan, step, context(tmp_path)).standing is StepStanding.CHANGED
    with pytest.raises(ApplyError, match="Nothing was removed"), journal(tmp_path) as one:
        writer.undo(plan, step, context(tmp_path, journal=one))

    changed.write_bytes(was)
    with journal(tmp_path) as one:
        assert writer.undo(plan, step, context(tmp_path, journal=one)).state is StepState.UNDONE
    assert writer.look(plan, step, context(tmp_path)).standing is StepStanding.ABSENT
    assert list((tmp_path / "out").iterdir()) == []


def test_a_seeded_checkpoint_on_which_a_query_has_run_is_kept(tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    step = _written(seeded, SEEDED, plan, tmp_path)
    write({"offsets/0": b"v1\n{}\n-"}, tmp_path / "out" / "copy")

    with pytest.raises(ApplyError, match="offsets/0 is there"), journal(tmp_path) as one:
        seeded.undo(plan, step, context(tmp_path, journal=one))
