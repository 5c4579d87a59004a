from __future__ import annotations

from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.apply.writing import Writer
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep
from offsetwise.plugins.kinesis.targets.at_timestamp.spec import fitting_time, start_time
from offsetwise.targets.text_file import verify_start, writer_of_start

_FILES: Final = writer_of_start(
    fitting_time,
    label="start time",
    fix="Write it locally, and copy it to where the job is started.",
)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _FILES


def verify(
    plan: Plan,
    step: ReceiptStep,
    readers: Readers,
    checkpoint: str | None,  # noqa: ARG001 - positions do not follow from a time
) -> list[Seen]:
    return verify_start(plan, step, readers, start_time(plan))
