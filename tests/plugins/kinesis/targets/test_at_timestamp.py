"""One time at which every shard begins: never behind an unread record, and what is read again by that."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import StepStanding
from offsetwise.config import JobTraits
from offsetwise.model import Start, StepState, Turnout
from offsetwise.plan.target import target_type
from offsetwise.plugins.kinesis.stream.numbers import evidence_of
from offsetwise.plugins.kinesis.stream.spec import LATEST, SHARD_END, TRIM_HORIZON, after
from offsetwise.position import Position
from offsetwise.targets import AtTimestamp
from tests.apply.plans import MIGRATION, context, journal
from tests.plan.scene import comparison
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.with_cases import with_cases

TARGET = AtTimestamp()
MODULE = writer_module(TARGET.kind)
WRITER = MODULE.writer(MIGRATION)


def test_it_is_the_time_of_the_oldest_place_and_says_what_is_read_again(tmp_path: Path) -> None:
    plan, file = shard_plan(DATA / CHAIN, TARGET, stream="chain"), tmp_path / "out" / "copy"
    arrived = [found.arrived_s for one in plan.positions if (found := evidence_of(int(str(one.new_offset)[4:])))]
    with journal(tmp_path) as one:
        step = WRITER.write(plan, TARGET, context(tmp_path, journal=one))

    body = json.loads(file.read_text())
    assert body["timestamp_ms"] == (min(arrived) - 1) * 1000
    assert list(body["replay_seconds"].values()) == [each - min(arrived) + 1 for each in arrived]
    eyes = LiveReaders(migration=MIGRATION.model_copy(update={"write_roots": (str(tmp_path),)}))
    assert {each.turnout for each in MODULE.verify(plan, step, eyes, None)} == {Turnout.CONFIRMED}
    assert WRITER.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    with journal(tmp_path) as one:
        assert WRITER.undo(plan, step, context(tmp_path, journal=one)).state is StepState.UNDONE
    assert not file.exists()


def test_a_shard_that_is_read_to_its_end_does_not_count() -> None:
    plan = shard_plan(DATA / CHAIN, TARGET, stream="chain", move=lambda one: SHARD_END if one.partition == 1 else None)
    text, _ = WRITER.content(plan)  # type: ignore[attr-defined]

    assert [*json.loads(text)["replay_seconds"]] == ["shardId-000000000000", "shardId-000000000002"]


@with_cases("place", [TRIM_HORIZON, LATEST, after(7)], ids=str)
def test_a_place_that_tells_no_time_is_refused(place: Position) -> None:
    plan = shard_plan(DATA / CHAIN, TARGET, stream="chain", move=lambda one: place if one.partition == 1 else None)

    assert [each.code for each in target_type(TARGET.kind).unfit(plan)] == ["PLACE_NOT_HELD"]


def test_a_shard_that_begins_at_its_oldest_record_is_refused() -> None:
    plan = shard_plan(DATA / CHAIN, TARGET, stream="chain")
    first, *rest = plan.positions
    plan = replace(plan, positions=(replace(first, start=Start.EARLIEST), *rest))

    assert [each.code for each in target_type(TARGET.kind).unfit(plan)] == ["PLACE_NOT_HELD"]


@with_cases(("tolerates", "wanted"), [(None, ["REPLAY_NOT_TOLERATED"]), (True, [])])
def test_a_job_has_to_tolerate_replay(tolerates: bool | None, wanted: list[str]) -> None:
    job = JobTraits(tolerates_replay=tolerates)

    assert [each.code for each in target_type(TARGET.kind).objections(comparison(), job, sink_rewound=False)] == wanted
