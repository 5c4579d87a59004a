from __future__ import annotations

from offsetwise.model import NewSavepoint, Plan
from offsetwise.plan.target import target_type
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.targets.kinesis.savepoint import Splits, made_savepoint
from offsetwise.plugins.flink.targets.kinesis.spec import splits_of
from offsetwise.plugins.flink.targets.kinesis.verification import shards_in
from offsetwise.storage.memory import HeldFolder

__all__ = ["METADATA", "made_of"]


def made_of(plan: Plan) -> bytes:
    """Return `_metadata`, and check that a reader finds exactly the planned positions in it.

    Raises:
        ApplyError: A savepoint cannot express the plan.
        AssertionError: A reader finds something else in it.
    """
    savepoint = plan.savepoint
    for target in plan.targets:
        target_type(target.kind).require_fit(plan, "The savepoint")
    match savepoint:
        case NewSavepoint(uid=str(uid), parallelism=int(parallelism), max_parallelism=int(most)):
            splits = splits_of(plan, savepoint.stream_arn)
        case _:
            raise AssertionError("a plan that fits says of which source the savepoint is")
    data = made_savepoint(uid, Splits.of(splits), parallelism=parallelism, max_parallelism=most)
    checkpoint = read_from(HeldFolder(uri="the savepoint", files={METADATA: data}), uids=(uid,))
    if shards_in(checkpoint) != {split.shard: split.position for split in splits if not split.finished}:
        raise AssertionError("a reader finds other positions in the savepoint than the planned ones")
    return data
