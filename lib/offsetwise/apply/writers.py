"""Which writer writes which kind of target."""

from __future__ import annotations

from collections.abc import Mapping

from offsetwise.apply import flink_savepoint, in_place, seeded, spark_checkpoint, starting_offsets
from offsetwise.apply.groups import GroupPort, GroupWriter
from offsetwise.apply.writing import Writer
from offsetwise.errors import OutputError
from offsetwise.model import Target, TargetKind

OWN_PLACE = frozenset({TargetKind.SPARK_CHECKPOINT_IN_PLACE, TargetKind.CONSUMER_GROUP})
"""Kinds that have their own place; the others are written to the output."""

Writers = Mapping[TargetKind, Writer]


def writers(groups: GroupPort) -> Writers:
    """Give a writer for every kind of target.

    Args:
        groups: The groups of the new cluster.
    """
    return {
        TargetKind.SPARK_CHECKPOINT: spark_checkpoint,
        TargetKind.SPARK_CHECKPOINT_IN_PLACE: in_place,
        TargetKind.STARTING_OFFSETS: starting_offsets,
        TargetKind.SEEDED_CHECKPOINT: seeded,
        TargetKind.FLINK_SAVEPOINT: flink_savepoint,
        TargetKind.FLINK_SAVEPOINT_WITHOUT_SOURCES: flink_savepoint.WITHOUT_SOURCES,
        TargetKind.CONSUMER_GROUP: GroupWriter(groups),
    }


def output_of(targets: tuple[Target, ...], step: int, output: str | None) -> str | None:
    """Give the place of one target: the output itself, or a name of its own inside it where several need one.

    Raises:
        OutputError: One kind of target stands there twice, so one would overwrite the other.

    >>> copy, file = Target(kind=TargetKind.SPARK_CHECKPOINT), Target(kind=TargetKind.STARTING_OFFSETS)
    >>> output_of((copy,), 0, "/out"), output_of((copy, file), 1, "/out")
    ('/out', '/out/starting-offsets')
    """
    if len(set(targets)) != len(targets):
        raise OutputError(
            "The plan: expected every target once, found one twice. Nothing was written.", fix="Draft the plan again."
        )
    target = targets[step]
    if target.kind in OWN_PLACE or output is None:
        return None if target.kind in OWN_PLACE else output
    needing = [each for each in targets if each.kind not in OWN_PLACE]
    return output if len(needing) == 1 else f"{output.rstrip('/')}/{target.kind}"
