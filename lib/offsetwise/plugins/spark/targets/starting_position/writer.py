from __future__ import annotations

from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.apply.writing import Writer
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep
from offsetwise.plugins.spark.targets.starting_position.spec import fitting_position, starting_position
from offsetwise.targets.text_file import verify_start, writer_of_start

_FILES: Final = writer_of_start(
    fitting_position,
    label="startingposition",
    fix="Write it locally, and copy it to where the query is started.",
)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _FILES


def verify(
    plan: Plan,
    step: ReceiptStep,
    readers: Readers,
    checkpoint: str | None,  # noqa: ARG001 - a query's own checkpoint has the positions since
) -> list[Seen]:
    return verify_start(plan, step, readers, starting_position(plan))
