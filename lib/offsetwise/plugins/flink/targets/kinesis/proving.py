"""Checks that a savepoint has the planned Kinesis positions, and that everything else is unchanged."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from offsetwise.errors import OffsetwiseError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.model import Checkpoint, Plan
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.edit import refused
from offsetwise.plugins.flink.targets.kinesis.spec import begin_of
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, shard_id
from offsetwise.ports.stream import is_compared
from offsetwise.storage.memory import HeldFolder


def prove(plan: Plan, before: Checkpoint, folder: HeldFolder, ids: Collection[str]) -> None:
    """Read a savepoint as it will be, and refuse unless it has the planned positions and all else is unchanged.

    Args:
        plan: The plan.
        before: The savepoint as it was read.
        folder: The savepoint as it will be.
        ids: The operators with edited state.
    """
    try:
        after = read_from(folder)
    except OffsetwiseError as error:
        raise refused(folder.uri, f"to read the edited savepoint again, found {error.problem}") from error
    others = [
        [operator for operator in flink_details(read).operators if operator.id not in ids] for read in (before, after)
    ]
    untouched = [
        [replace(source, index=0) for source in read.sources if not _of(source.id, ids)] for read in (before, after)
    ]
    if (
        misplaced(plan, after)
        or others[0] != others[1]
        or untouched[0] != untouched[1]
        or before.details.transactions != after.details.transactions
        or any(problem.code == checkpoint_damaged.code for problem in after.problems)
    ):
        raise refused(folder.uri, "the planned positions and everything else as it was, found another difference")


def misplaced(plan: Plan, read: Checkpoint) -> bool:
    """Return whether a savepoint has other positions than the planned ones.

    A shard that is read to its end may be missing, and one that begins at its oldest record may not be there yet: its
    source discovers it.
    """
    results = {
        (source.id, at.shard): at.position
        for source in read.sources
        if is_compared(source.kind)
        for at in source.shards
        if at.position != SHARD_END
    }
    expected = {}
    for position in plan.positions:
        key, new_position = (_named(position.source, read), shard_id(position.partition)), begin_of(position)
        new = position.old_offset is None and new_position == TRIM_HORIZON
        if new_position is not None and new_position != SHARD_END and (key in results or not new):
            expected[key] = new_position
    return results != expected


def _of(source: str, ids: Collection[str]) -> bool:
    return source in ids or operator_id(source) in ids


def _named(source: str, read: Checkpoint) -> str:
    return source if any(checkpoint_source.id == source for checkpoint_source in read.sources) else operator_id(source)
