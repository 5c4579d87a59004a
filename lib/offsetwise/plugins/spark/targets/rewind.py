from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.model import (
    Batch,
    BatchSource,
    Checkpoint,
    CheckpointSource,
    Problem,
    SourcePosition,
    offsets_by_partition,
)
from offsetwise.plan.moving import Rewinding
from offsetwise.plugins.spark.targets.sink import batch_ids
from offsetwise.ports.stream import is_compared


def rewound(checkpoint: Checkpoint, batch: int, *, files: tuple[tuple[str, str], ...] = ()) -> Checkpoint:
    """Move a checkpoint's positions back to the end of an earlier batch.

    The recorded last batches stay: this is still the checkpoint that must not advance.

    Args:
        checkpoint: The checkpoint as it is.
        batch: The batch to go back to.
        files: (relative path, SHA-256 in hex) of the files that the batch's positions were read from.

    Raises:
        PlanError: The batch is not retained, not committed, or not earlier than the last committed one.
    """
    match = next((candidate for candidate in checkpoint.details.batches if candidate.id == batch), None)
    last = checkpoint.details.progress.committed
    if match is None or not match.committed or last is None or batch >= last:
        why = (
            "it is not retained"
            if match is None
            else "it is not committed"
            if not match.committed
            else "it is the last"
        )
        known = [
            candidate.id
            for candidate in checkpoint.details.batches
            if candidate.committed and last is not None and candidate.id < last
        ]
        there = f"{known[0]} to {known[-1]}" if known else "none"
        raise PlanError(
            f"{checkpoint.uri}: expected batch {batch} to be an earlier, committed one, but {why} (earlier ones: "
            f"{there}). Nothing was drafted.",
            fix="Name an earlier committed batch, or draft without --set rewind_to.",
        )
    return replace(
        checkpoint,
        sources=tuple(_source(source, match) for source in checkpoint.sources),
        details=checkpoint.details.without_pending(),
        pins=tuple(dict((*checkpoint.pins, *files)).items()),
    )


def _source(source: CheckpointSource, batch: Batch) -> CheckpointSource:
    then: BatchSource | None = next(
        (batch_source for batch_source in batch.sources if batch_source.id == source.id), None
    )
    if not is_compared(source.kind):
        return source
    if source.shards:
        raise PlanError(
            f"Batch {batch.id}: expected the positions after it of source {source.id}, found shards, whose positions "
            "are read after the last batch only. Nothing was drafted.",
            fix="Draft without --set rewind_to, and give each shard its earlier position: --override "
            "topic:shard=POSITION --reason TEXT.",
        )
    if then is None:
        raise PlanError(
            f"Batch {batch.id}: expected a position of source {source.id}, found none. Nothing was drafted.",
            fix="Name a batch in which every source had a position.",
        )
    positions = tuple(
        SourcePosition(topic=of.topic, partition=partition, offset=offset)
        for of in then.offsets
        for partition, offset in zip(of.partitions, of.offsets, strict=True)
    )
    return replace(source, positions=positions)


def _file_of(batch: int) -> str:
    return f"offsets/{batch}"


def _read_to(checkpoint: Checkpoint) -> dict[tuple[str, str, int], int]:
    batches, last = checkpoint.details.batches, checkpoint.details.progress.committed
    committed = next((batch for batch in batches if batch.id == last), None)
    return {
        (source.id, *at): offset
        for source in (() if committed is None else committed.sources)
        for at, offset in offsets_by_partition(source.offsets).items()
    }


def _objections(job: JobTraits) -> Iterator[Problem]:
    return batch_ids(job, sink_rewound=False, what="Going back forms batches anew under ids it has seen")


REWINDING: Final = Rewinding(to=rewound, file=_file_of, read_to=_read_to, objections=_objections)
