"""Writes the file with the time at which a job begins, and holds it against the plan."""

from __future__ import annotations

from typing import Final

from offsetwise.apply.writing import NumberChange, Writer
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep
from offsetwise.targets.at_timestamp.spec import SPEC, start_time
from offsetwise.targets.text_file import TextFileWriter, as_written
from offsetwise.verify.eyes import Eyes
from offsetwise.verify.seen import Seen


def _content(plan: Plan) -> tuple[str, tuple[NumberChange, ...]]:
    SPEC.require_fit(plan, "The start time")
    return start_time(plan), ()


_FILES: Final = TextFileWriter(
    content=_content,
    called="start time",
    parts="shard(s)",
    fix="Write it locally, and copy it to where the job is started.",
)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    """Give the writer; see `WriterModule`."""
    return _FILES


def verify(
    plan: Plan,
    step: ReceiptStep,
    eyes: Eyes,
    checkpoint: str | None,  # noqa: ARG001 - a checkpoint has positions, which a time does not tell
) -> list[Seen]:
    """Hold the file against the plan."""
    return as_written(plan, step, eyes, start_time(plan))
