"""Writes copies of a Flink savepoint with the legacy consumer's state converted. The original is not changed."""

from __future__ import annotations

from typing import Final

from offsetwise.apply.copying import CopyWriter
from offsetwise.apply.edits import Edits, FileEdit
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.apply.writing import Context, Writer
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep
from offsetwise.plugins.flink.targets.kinesis.converting import METADATA, converted_metadata
from offsetwise.plugins.flink.targets.kinesis.verification import verified
from offsetwise.plugins.flink.targets.reviewed import GUARD, GUARD_FILE, reviewed_files
from offsetwise.plugins.flink.targets.savepoint_converted.spec import TYPE


def _converted(plan: Plan, context: Context) -> Edits:
    TYPE.require_fit(plan, "The copy")
    contents, uri = reviewed_files(plan, context)
    data = converted_metadata(plan, contents, uri=uri)
    sources = tuple(sorted({position.source for position in plan.positions}))
    return Edits(
        edits=(FileEdit(path=METADATA, before=contents[METADATA], after=data),), guard=GUARD_FILE, converted=sources
    )


def _other(plan: Plan, step: ReceiptStep, context: Context) -> str | None:
    """Explain why a savepoint is not the reviewed one, converted; it needs the original."""
    return None if step.files == _converted(plan, context).written() else "it is not the reviewed one, converted."


_COPIES: Final = CopyWriter(decide=_converted, foreign=_other, links="", guard=GUARD)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _COPIES


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    return verified(plan, step, readers, checkpoint)
