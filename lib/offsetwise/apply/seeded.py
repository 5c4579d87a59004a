"""A fresh checkpoint that holds nothing but the initial offsets of its one Kafka source.

Way D of `spec/spark-checkpoints.md`: the job needs no change, and gives up its state. Only one source can be seeded,
because Spark numbers sources by the plan of the query, and partitions left out would start at the earliest record.
"""

from __future__ import annotations

import json
import os
import uuid

from offsetwise.apply.digests import sha256
from offsetwise.apply.places import local_place
from offsetwise.apply.publish import publish, require_free, unpublish
from offsetwise.apply.starting_offsets import starting_positions
from offsetwise.apply.writing import Context, FileChange, Preview, Seen
from offsetwise.apply.written import folder_changed, look_at_folder
from offsetwise.errors import ApplyError
from offsetwise.model import Plan, ReceiptStep, StepState, Target, WrittenFile
from offsetwise.sources.spark_checkpoint import read_checkpoint


def prepare(plan: Plan, target: Target, context: Context) -> Preview:
    """Say which initial offsets the fresh checkpoint would have. Nothing is written.

    Raises:
        OffsetwiseError: It could not be made as things stand; the message says why.
    """
    place = _place(context.output, context)
    require_free(place)
    _, numbers, _ = _initial(plan, context)
    return Preview(
        target=target,
        place=place,
        told=f"A fresh checkpoint would be made at {place} that starts at {len(numbers.numbers)} given position(s).",
        files=(FileChange(path="metadata", what="made"), numbers),
    )


def write(plan: Plan, target: Target, context: Context) -> ReceiptStep:
    """Make the fresh checkpoint, under the journal.

    Raises:
        OffsetwiseError: Nothing stands at the output then, or what stood there before.
    """
    place = _place(context.output, context)
    path, numbers, data = _initial(plan, context)
    files = {"metadata": json.dumps({"id": str(uuid.uuid4())}, separators=(",", ":")).encode(), path: data}
    intended = ReceiptStep(
        target=target,
        place=place,
        state=StepState.DONE,
        told=f"A fresh checkpoint stands at {place} that starts at {len(numbers.numbers)} given position(s).",
        files=tuple(WrittenFile(path=name, sha256=sha256(data)) for name, data in files.items()),
    )

    def build(folder: str) -> None:
        sources, source = os.path.join(folder, "sources"), os.path.join(folder, os.path.dirname(path))
        for one in (sources, source):
            context.disk.make_folder(one)
        for name, content in files.items():
            context.disk.write_new(os.path.join(folder, name), content)
        for one in (source, sources):
            context.disk.sync_folder(one)

    return publish(place, intended, context, build)


def undo(step: ReceiptStep, context: Context) -> ReceiptStep:
    """Remove the checkpoint, as long as no query has run on it.

    Raises:
        ApplyError: A query has run on it; or the disk refuses.
    """
    _place(step.place, context)
    return unpublish(step, context, refuse=lambda: folder_changed(step))


def look(step: ReceiptStep, context: Context) -> Seen:
    """Say whether the checkpoint stands there as it was written."""
    _place(step.place, context)
    return look_at_folder(step)


def _place(uri: str | None, context: Context) -> str:
    return local_place(
        uri,
        context.write_roots,
        what="folder for a fresh checkpoint",
        fix="Make it locally and copy it there before the job starts, or use startingOffsets.",
    )


def _initial(plan: Plan, context: Context) -> tuple[str, FileChange, bytes]:
    sources = sorted({position.source for position in plan.positions})
    required = plan.requirements.checkpoint
    known = len(sources)
    if required is not None:
        known = len(read_checkpoint(required.uri, roots=context.read_roots, batches=0).sources)
    if len(sources) != 1 or known != 1:
        raise ApplyError(
            f"A seeded checkpoint: expected a job with one Kafka source and no other, found {max(known, len(sources))} "
            "sources. Nothing was written.",
            fix="Use the target starting-offsets, or copy the checkpoint.",
        )
    text, numbers = starting_positions(plan)
    path = f"sources/{sources[0] or '0'}/0"
    return path, FileChange(path=path, what="made", numbers=numbers), b"\0v1\n" + text.encode()
