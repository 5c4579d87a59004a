"""Positions found on another stream, which has other shards: copies that cannot hold them refuse, and write nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.apply.writers import writer_module
from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import Plan, Target
from offsetwise.plan.target import target_type
from offsetwise.plugins.kinesis.stream.spec import ShardPlace, in_shards
from offsetwise.targets import FlinkSavepointConverted, KclLeases, SparkCopy
from tests.apply.plans import MIGRATION, context, files_of
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.targets.test_kcl_leases import TABLE, Application, app, apply
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.storage.test_dynamodb import dynamodb
from tests.with_cases import with_cases

__all__ = ["app", "dynamodb"]


def elsewhere(plan: Plan) -> Plan:
    """Make of a plan on one stream one whose positions are in several shards of another one."""

    def in_several(old: object) -> ShardPlace:
        assert isinstance(old, ShardPlace)
        return in_shards({0: old, 7: old})

    return replace(
        plan, positions=tuple(replace(each, old_offset=in_several(each.old_offset)) for each in plan.positions)
    )


@with_cases(
    ("source", "target"),
    [
        ("flink/legacy-consumer-4.3.0-two-shards", FlinkSavepointConverted()),
        ("spark/qubole-1.2.0-committed", SparkCopy()),
    ],
    ids=str,
)
def test_a_copy_keeps_the_shards_of_its_own_stream(source: str, target: Target, tmp_path: Path) -> None:
    plan, before = elsewhere(shard_plan(DATA / source, target)), files_of(tmp_path)

    found = [*target_type(target.kind).unfit(plan)]
    assert {each.code for each in found} == {"PLACE_NOT_HELD"}
    assert all("its shards are those of the stream that" in each.message for each in found)
    with pytest.raises(ApplyError, match="Nothing was written"):
        writer_module(target.kind).writer(MIGRATION).prepare(plan, target, context(tmp_path))
    assert files_of(tmp_path) == before


def test_leases_of_the_old_stream_are_not_written_over(app: Application, tmp_path: Path) -> None:
    before = app.rows()
    plan = elsewhere(shard_plan(DATA / CHAIN, KclLeases(TABLE), stream="chain"))
    moved = tuple(replace(each, new_offset=replace_number(each.new_offset)) for each in plan.positions)

    with pytest.raises(StalePlanError) as refused:
        apply(app, replace(plan, positions=moved), tmp_path)
    assert "expected no lease of shardId-000000000000 yet, because the plan is for another stream" in str(refused.value)
    assert "kcl-leases:NEW-NAME" in refused.value.fix
    assert app.rows() == before


def replace_number(place: object) -> ShardPlace:
    """Return a place as another stream has it."""
    assert isinstance(place, ShardPlace)
    return replace(place, sequence=(place.sequence or 0) + 1)
