"""A fresh checkpoint that contains only the initial offsets of its single Kafka source.

Way D of `spec/spark-checkpoints.md`: the job needs no change, and gives up its state. Only one source can be seeded,
because Spark numbers sources by the plan of the query; omitted partitions would start at the earliest record.
"""

from __future__ import annotations

import json
import os
import uuid

from offsetwise.apply.digests import bytes_of, sha256
from offsetwise.apply.publish import publish, require_free, unpublish
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification import seen
from offsetwise.apply.write_locations import local_place
from offsetwise.apply.writing import Context, FileChange, Preview, SeenPlace, Writer
from offsetwise.apply.written import folder_changed, foreign_names, look_at_folder, names_below
from offsetwise.config import Migration
from offsetwise.errors import ApplyError
from offsetwise.model import Plan, ReceiptStep, StepState, Target, WrittenFile
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_query_id
from offsetwise.plugins.spark.targets.seeded.spec import seeded_offsets
from offsetwise.plugins.spark.targets.verification import began
from offsetwise.plugins.spark.targets.written import ran_in_folder
from offsetwise.regular_files import below
from offsetwise.targets.moves import starting_positions


class SeededWriter(Writer):
    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return which initial offsets the fresh checkpoint would have. Nothing is written.

        Raises:
            OffsetwiseError: It cannot be created in the current state; the message says why.
        """
        output = _local_path(context.output, context)
        require_free(output)
        _, numbers, _ = _initial(plan, context)
        return Preview(
            target=target,
            place=output,
            told=f"A fresh checkpoint would be made at {output} that starts at {len(numbers.numbers):,} given "
            "position(s).",
            files=(FileChange(path="metadata", what="made"), numbers),
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Create the fresh checkpoint, recording each step in the journal.

        Raises:
            OffsetwiseError: The output does not exist then, or is as it was before.
        """
        output = _local_path(context.output, context)
        path, numbers, data = _initial(plan, context)
        files = {"metadata": json.dumps({"id": str(uuid.uuid4())}, separators=(",", ":")).encode(), path: data}
        intended = ReceiptStep(
            target=target,
            place=output,
            state=StepState.DONE,
            told=f"A fresh checkpoint stands at {output} that starts at {len(numbers.numbers):,} given position(s).",
            files=tuple(WrittenFile(path=name, sha256=sha256(data)) for name, data in files.items()),
        )

        def build(folder: str) -> None:
            sources, source = below(folder, "sources"), below(folder, os.path.dirname(path))
            for parent in (sources, source):
                context.disk.make_folder(parent)
            for name, content in files.items():
                context.disk.write_new(below(folder, name), content)
            for parent in (source, sources):
                context.disk.sync(parent)

        return publish(output, intended, context, build)

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:  # noqa: ARG002 - the protocol's
        """Remove the checkpoint, as long as no query has run on it.

        Raises:
            ApplyError: A query has run on it, or the disk refuses.
        """
        _local_path(step.place, context)
        return unpublish(step, context, refuse=lambda: _wrong(step), ran=ran_in_folder)

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:  # noqa: ARG002 - as above
        _local_path(step.place, context)
        return look_at_folder(step, lambda: _wrong(step))


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return SeededWriter()


def verify(
    plan: Plan,
    step: ReceiptStep,
    readers: Readers,
    checkpoint: str | None,  # noqa: ARG001 - as above
) -> list[seen.Seen]:
    return began(plan, step, readers, step.place, fresh=True)


def _wrong(step: ReceiptStep) -> str | None:
    wrong = (
        ran_in_folder(step)
        or folder_changed(step)
        or foreign_names(names_below(step.place), {file.path for file in step.files})
    )
    if wrong is None:
        try:
            parse_query_id(bytes_of(below(step.place, "metadata")) or b"")
        except GarbledError as error:
            wrong = f"metadata is not of a query: {error}."
    return wrong


def _local_path(uri: str | None, context: Context) -> str:
    return local_place(
        uri,
        context.write_roots,
        what="folder for a fresh checkpoint",
        fix="Make it locally and copy it there before the job starts, or use startingOffsets.",
    )


def _initial(plan: Plan, context: Context) -> tuple[str, FileChange, bytes]:
    required = plan.requirements.checkpoint
    known = 1 if required is None else len(read_checkpoint(required.uri, roots=context.read_roots, batches=0).sources)
    if known != 1:
        raise ApplyError(
            f"A seeded checkpoint: expected a job with one Kafka source and no other, found {known} sources. "
            "Nothing was written.",
            fix="Copy the checkpoint: --target spark-checkpoint.",
        )
    _, numbers = starting_positions(plan)
    path, data = seeded_offsets(plan)
    return path, FileChange(path=path, what="made", numbers=numbers), data
