"""Leases of another stream's application that have no number: told by their hash keys, and by shards that are open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.errors import ApplyError, PlanError
from offsetwise.model import Cluster, Snapshot, TopicState
from offsetwise.plan.target import target_type
from tests.plugins.kinesis.targets.test_kcl_leases import TARGET, Application, app, apply, config, rewound
from tests.storage.test_dynamodb import dynamodb
from tests.with_cases import with_cases

__all__ = ["app", "dynamodb"]


@with_cases("position", ["TRIM_HORIZON", "LATEST", "SHARD_END", None])
@with_cases("shard", range(3))
def test_a_lease_that_names_other_hash_keys_or_the_end_of_an_open_shard_is_of_another_stream(
    shard: int, position: str | None, app: Application, tmp_path: Path
) -> None:
    key = f"shardId-{shard:012}"
    plan = replace(rewound(), requirements=replace(rewound().requirements, checkpoint=None))
    (topic,) = plan.requirements.new.topics
    (row,) = (each for each in topic.shards if each.partition == shard)
    ended = position == "SHARD_END"
    item = app.client.get_item(TableName=app.name, Key={"leaseKey": {"S": key}})["Item"]
    changed = {} if position is None else {"checkpoint": {"S": position}}
    keys = {} if ended else {"startingHashKey": {"S": str(row.low + 1)}, "endingHashKey": {"S": str(row.high)}}
    app.client.put_item(TableName=app.name, Item=item | changed | keys)
    before = app.rows()
    told = "is at the end of the shard, which the stream" if ended else f"has the hash keys from {row.low + 1} to"

    with pytest.raises(ApplyError, match=rf"its lease of {key} {told}[^.]*: the table is of another"):
        apply(app, plan, tmp_path)
    assert app.rows() == before

    said = Snapshot(
        cluster=Cluster.NEW,
        name="b",
        alias="b",
        cluster_id="b",
        taken_at="2026-11-27T00:00:00Z",
        topics=(TopicState(name=topic.name, id="id", shards=topic.shards),),
    )
    kind = target_type(TARGET.kind)
    if ended:
        table = kind.table(config(app.endpoint), TARGET, said)
        assert table is not None
        pinned = replace(plan, requirements=replace(plan.requirements, tables=(table,)))
        assert [each.code for each in kind.unfit(pinned)] == ["TABLE_SHARED"]
    else:
        with pytest.raises(PlanError, match=f"its lease of {key} {told}"):
            kind.table(config(app.endpoint), TARGET, said)
