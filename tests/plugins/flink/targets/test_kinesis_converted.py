"""A savepoint of the legacy consumer, converted in a copy: written, verified, taken back, and what is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import StepStanding
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import Finding, NewSavepoint, Plan, Severity, SourcePosition, StepState, Turnout
from offsetwise.plan.target import target_type
from offsetwise.plugins.kinesis.stream.spec import after
from offsetwise.position import Position
from offsetwise.targets import FlinkSavepointConverted
from tests.apply.plans import MIGRATION, aged, context, journal
from tests.plugins.flink.targets.test_kinesis_state import (
    LEGACY,
    data_of,
    restarted_from,
    source_of,
    with_legacy_position,
)
from tests.plugins.kinesis.targets.kinesis_plans import ARN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA, rows
from tests.with_cases import with_cases

TARGET = FlinkSavepointConverted()
MODULE = writer_module(TARGET.kind)
WRITER = MODULE.writer(MIGRATION)


@pytest.fixture
def savepoint(tmp_path: Path) -> Path:
    made = tmp_path / "source"
    shutil.copytree(DATA / "flink" / LEGACY, made)
    (made / "_metadata").chmod(0o644)
    return aged(made)


def made_at(plan: Plan, folder: Path) -> Path:
    with journal(folder) as one:
        WRITER.write(plan, TARGET, context(folder, journal=one))
    return folder / "out" / "copy"


def test_the_copy_has_the_state_that_flink_was_restarted_from_and_the_old_one_stays(
    savepoint: Path, tmp_path: Path
) -> None:
    plan, before = shard_plan(savepoint, TARGET), (savepoint / "_metadata").read_bytes()
    shown = WRITER.prepare(plan, TARGET, context(tmp_path))
    with journal(tmp_path) as one:
        step = WRITER.write(plan, TARGET, context(tmp_path, journal=one))
    out = tmp_path / "out" / "copy"

    assert "converted" in shown.told
    assert source_of((out / "_metadata").read_bytes()) == restarted_from("converted-legacy-to-streams-source")
    assert (savepoint / "_metadata").read_bytes() == before
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"write_roots": (str(tmp_path),)}))
    assert [each.turnout for each in MODULE.verify(plan, step, eyes, None)] == [Turnout.CONFIRMED] * 2
    assert WRITER.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    with journal(tmp_path) as one:
        assert WRITER.undo(plan, step, context(tmp_path, journal=one)).state is StepState.UNDONE
    assert not out.exists()


def test_a_planned_position_is_the_one_that_the_new_source_begins_after(savepoint: Path, tmp_path: Path) -> None:
    def moved(one: SourcePosition) -> Position | None:
        return after(int(str(one.offset)[4:]) - 16) if one.partition == 1 else None

    plan = shard_plan(savepoint, TARGET, move=moved)

    read = read_checkpoint(str(made_at(plan, tmp_path)))
    assert [row[2] for row in rows(read)] == [str(one.new_offset) for one in plan.positions]


def test_a_savepoint_that_is_another_one_since_is_stale(savepoint: Path, tmp_path: Path) -> None:
    plan = shard_plan(savepoint, TARGET)
    (savepoint / "_metadata").write_bytes(with_legacy_position(data_of(LEGACY), "77", -1))

    with pytest.raises(StalePlanError):
        WRITER.prepare(plan, TARGET, context(tmp_path))


@with_cases(("text", "sub"), [("LATEST_SEQUENCE_NUM", -1), ("77", 4)])
def test_a_place_that_the_new_source_cannot_hold_is_refused(
    savepoint: Path, text: str, sub: int, tmp_path: Path
) -> None:
    (savepoint / "_metadata").write_bytes(with_legacy_position(data_of(LEGACY), text, sub))
    plan = shard_plan(aged(savepoint), TARGET)

    assert [each.code for each in target_type(TARGET.kind).unfit(plan)] == ["PLACE_NOT_HELD"]
    with pytest.raises(ApplyError, match="cannot hold"):
        WRITER.prepare(plan, TARGET, context(tmp_path))


def test_a_stream_that_was_not_asked_has_no_arn_and_is_refused(savepoint: Path, tmp_path: Path) -> None:
    plan = shard_plan(savepoint, TARGET)
    new = plan.requirements.new
    unasked = replace(new, topics=tuple(replace(each, id=None) for each in new.topics))
    other = replace(plan, requirements=replace(plan.requirements, new=unasked))

    assert [each.code for each in target_type(TARGET.kind).unfit(other)] == ["SHARDS_UNKNOWN"]
    with pytest.raises(ApplyError, match="The ARN of stream 'lg' is not known"):
        WRITER.prepare(other, TARGET, context(tmp_path))


@with_cases(
    ("said", "id_", "wanted"),
    [
        ({}, None, []),
        ({"stream_arn": f"{ARN}other"}, None, ["SHARDS_UNKNOWN"]),
        ({}, f"{ARN}lg@1795335840", []),
        ({}, "arn:aws:kinesis:eu-central-1:000000000000:stream/lg@1795335840", ["NEW_SAVEPOINT"]),
    ],
    ids=["nobody was asked", "of another stream", "as the stream says", "another one"],
)
def test_a_person_names_the_arn_where_nobody_could_ask_the_stream(
    savepoint: Path, said: dict[str, Any], id_: str | None, wanted: list[str], tmp_path: Path
) -> None:
    plan = shard_plan(savepoint, TARGET, savepoint=NewSavepoint(**{"stream_arn": f"{ARN}lg", **said}))
    new = plan.requirements.new
    topics = tuple(replace(each, id=id_) for each in new.topics)
    plan = replace(plan, requirements=replace(plan.requirements, new=replace(new, topics=topics)))

    assert [each.code for each in target_type(TARGET.kind).unfit(plan)] == wanted
    if not wanted:
        out = made_at(plan, tmp_path) / "_metadata"
        assert source_of(out.read_bytes()) == restarted_from("converted-legacy-to-streams-source")


def test_aggregates_are_refused_because_the_new_source_does_not_take_them_apart(savepoint: Path) -> None:
    found = Finding(
        code="AGGREGATED", severity=Severity.WARNS, topic=None, partition=None, message="Aggregates.", remedy="Stay."
    )
    plan = shard_plan(savepoint, TARGET, findings=(found,))

    (wrong,) = target_type(TARGET.kind).unfit(plan)
    assert (wrong.code, wrong.message) == (
        "AGGREGATED",
        "Aggregates. KinesisStreamsSource takes an aggregate for one record.",
    )


def test_a_savepoint_of_the_new_source_is_refused(tmp_path: Path) -> None:
    made = tmp_path / "source"
    shutil.copytree(DATA / "flink" / "streams-source-5.1.0-two-shards", made)

    with pytest.raises(ApplyError, match=r"expected the legacy consumer .*, found none"):
        WRITER.prepare(shard_plan(aged(made), TARGET), TARGET, context(tmp_path))
