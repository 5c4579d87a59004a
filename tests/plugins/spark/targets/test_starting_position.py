"""The file for `startingposition` of Spark's Kinesis connectors, from a lease table or a checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import StepStanding
from offsetwise.errors import ApplyError
from offsetwise.model import ShardRange, SourcePosition, Start, StepState, Turnout
from offsetwise.plan.exports import starting_form, starting_offsets
from offsetwise.plan.target import target_type
from offsetwise.plugins.kinesis.stream.spec import AT_UNKNOWN_TIME, LATEST, SHARD_END, TRIM_HORIZON, after, at, at_time
from offsetwise.plugins.spark.engine.kinesis import parse_line
from offsetwise.position import Position
from offsetwise.targets import StartingPosition
from tests.apply.plans import MIGRATION, context, journal
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.with_cases import with_cases

TARGET = StartingPosition()
MODULE = writer_module(TARGET.kind)
WRITER = MODULE.writer(MIGRATION)


def test_it_is_written_verified_and_taken_back(tmp_path: Path) -> None:
    plan, file = shard_plan(DATA / CHAIN, TARGET, stream="chain"), tmp_path / "out" / "copy"
    with journal(tmp_path) as one:
        step = WRITER.write(plan, TARGET, context(tmp_path, journal=one))

    assert step.told == f"{file} gives startingposition for 3 shard(s)."
    body = json.loads(file.read_text())
    assert body["metadata"] == {"streamName": "chain", "batchId": "0"}
    assert body["shardId-000000000001"] == {
        "iteratorType": "AFTER_SEQUENCE_NUMBER",
        "iteratorPosition": "49680455763272848257983813160339182598113695593710747666",
        "subSequenceNumber": "-1",
        "isLast": "true",
    }
    line = parse_line(file.read_text())
    assert line is not None
    assert dict(line.positions) == {f"shardId-{one.partition:012}": one.new_offset for one in plan.positions}
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"write_roots": (str(tmp_path),)}))
    assert {each.turnout for each in MODULE.verify(plan, step, eyes, None)} == {Turnout.CONFIRMED}
    assert WRITER.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    with journal(tmp_path) as one:
        assert WRITER.undo(plan, step, context(tmp_path, journal=one)).state is StepState.UNDONE
    assert not file.exists()


def test_a_draft_of_it_is_no_json_so_that_no_query_begins_by_it() -> None:
    plan = shard_plan(DATA / CHAIN, TARGET, stream="chain")
    form = starting_form(plan.targets, plan.requirements.engine)
    draft = form.draft(starting_offsets(plan), "DRAFT: plan 1 is not approved")

    assert draft.splitlines() == ["DRAFT: plan 1 is not approved", starting_offsets(plan).strip()]
    with pytest.raises(json.JSONDecodeError):
        json.loads(draft)


@with_cases(
    ("place", "kind", "position"),
    [
        (TRIM_HORIZON, "TRIM_HORIZON", ""),
        (at(7), "AT_SEQUENCE_NUMBER", "7"),
        (at_time(1795335840604), "AT_TIMESTAMP", "1795335840604"),
        (SHARD_END, None, None),
    ],
    ids=str,
)
def test_every_place_has_the_connectors_own_word(place: Position, kind: str | None, position: str | None) -> None:
    plan = shard_plan(DATA / "spark/qubole-1.2.0-committed", TARGET, move=lambda one: place if one.partition else None)
    text, _ = WRITER.content(plan)  # type: ignore[attr-defined]
    found = json.loads(text).get("shardId-000000000001", {})

    assert (found.get("iteratorType"), found.get("iteratorPosition")) == (kind, position)


@with_cases(
    ("place", "why"),
    [
        (LATEST, "is at LATEST, which .* cannot hold: that names no record and no time"),
        (AT_UNKNOWN_TIME, "that names no record and no time"),
        (after(7, 2), "the qubole connector would skip the rest of the aggregate"),
    ],
    ids=str,
)
def test_a_place_without_a_word_is_refused(tmp_path: Path, place: Position, why: str) -> None:
    def moved(one: SourcePosition) -> Position | None:
        return place if one.partition == 1 else None

    plan = shard_plan(DATA / CHAIN, TARGET, stream="chain", move=moved)

    assert [each.code for each in target_type(TARGET.kind).unfit(plan)] == ["PLACE_NOT_HELD"]
    with pytest.raises(ApplyError, match=why):
        WRITER.prepare(plan, TARGET, context(tmp_path))
    with pytest.raises(ApplyError, match=why):
        starting_offsets(plan)


def test_an_open_shard_without_a_position_is_refused_and_a_closed_one_is_not() -> None:
    for closed, wanted in ((False, ["SHARDS_UNKNOWN"]), (True, [])):
        more = ShardRange(partition=3, low=0, high=1, closed=closed)
        plan = shard_plan(DATA / CHAIN, TARGET, stream="chain", ranges={3: more})
        assert [each.code for each in target_type(TARGET.kind).unfit(plan)] == wanted


def test_a_shard_that_begins_at_its_oldest_record_says_so() -> None:
    plan = shard_plan(DATA / CHAIN, TARGET, stream="chain", move=lambda one: at(49) if one.partition == 2 else None)
    earliest = replace(
        plan,
        positions=tuple(replace(one, start=Start.EARLIEST) if one.partition == 2 else one for one in plan.positions),
    )
    text, _ = WRITER.content(earliest)  # type: ignore[attr-defined]

    assert json.loads(text)["shardId-000000000002"]["iteratorType"] == "TRIM_HORIZON"
