from __future__ import annotations

from typing import Final

from offsetwise.apply.copying import CopyWriter
from offsetwise.apply.edits import Edits, FileEdit
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen, for_all
from offsetwise.apply.writing import Context, Writer
from offsetwise.config import Migration
from offsetwise.model import Checkpoint, Plan, ReceiptStep, Turnout
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.targets.marks import mark_committed
from offsetwise.plugins.flink.targets.reviewed import GUARD, GUARD_FILE, reviewed_files
from offsetwise.plugins.flink.targets.savepoint_without_sources.drop import without_sources
from offsetwise.plugins.flink.targets.verification import verified


def _dropped(plan: Plan, context: Context) -> Edits:
    contents, uri = reviewed_files(plan, context)
    sources = sorted({position.source for position in plan.positions})
    files = {METADATA: without_sources(contents, sources, uri=uri)}
    files |= mark_committed({**contents, **files}, plan.marks, uri=uri)
    return Edits(
        edits=tuple(FileEdit(path=path, before=contents[path], after=data) for path, data in sorted(files.items())),
        guard=GUARD_FILE,
        sources=tuple(sources),
        marked=len(plan.marks),
    )


def _not_dropped(plan: Plan, step: ReceiptStep, context: Context) -> str | None:
    """Explain why a savepoint is not the reviewed one without its sources; it needs the original."""
    return (
        None if step.files == _dropped(plan, context).written() else "it is not the reviewed one without its sources."
    )


def _compared(plan: Plan, step: ReceiptStep, read: Checkpoint) -> list[Seen]:
    if any(source.positions for source in read.sources):
        return for_all(plan, Turnout.DIFFERENT, f"{step.place} keeps positions, expected none.")
    message = f"{step.place} keeps no position, as planned: the job begins where its source is told to."
    return for_all(plan, Turnout.CONFIRMED, message)


_COPIES: Final = CopyWriter(decide=_dropped, foreign=_not_dropped, links="", guard=GUARD)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _COPIES


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    return verified(plan, step, readers, checkpoint, _compared)
