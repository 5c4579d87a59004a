"""What targets that take both offsets and positions of shards ask of a plan."""

from __future__ import annotations

from offsetwise.model import Plan
from offsetwise.streams.kinesis.spec import ShardPlace


def of_shards(plan: Plan) -> bool:
    """Say whether a plan has positions of shards, and no offsets."""
    return any(isinstance(one.new_offset, ShardPlace) for one in plan.positions)
