"""The file with the starting offsets of a job without positions of its own: exactly all partitions.

Spark fails on a partition that is omitted or does not exist, Flink begins it at its start, so the file lists exactly
the partitions of the new topics. Its text is the output of `offsetwise export --as starting-offsets`.
"""

from __future__ import annotations

from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.apply.writing import Writer
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep
from offsetwise.plan.exports import starting_form
from offsetwise.targets.moves import starting_positions
from offsetwise.targets.text_file import TextFileWriter, as_written, changed


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    form = starting_form(plan.targets, plan.requirements.engine)
    text = form.text(plan)
    if unlike := changed(plan, step, readers, text):
        return unlike
    if form.began_as_told is None:
        return as_written(plan, step, form.evidence_of_start)
    results: list[Seen] = form.began_as_told(plan, step, text.encode(), readers, checkpoint)
    return results


__all__ = ["verify", "writer"]

_FILES: Final = TextFileWriter(
    content=starting_positions,
    label="startingOffsets",
    parts="partition(s)",
    fix="Write it locally, or print it: offsetwise export --as starting-offsets.",
)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _FILES
