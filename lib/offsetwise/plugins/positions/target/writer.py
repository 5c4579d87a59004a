from __future__ import annotations

from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.apply.writing import NumberChange, Writer
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep
from offsetwise.plugins.positions.target.spec import command, positions_text
from offsetwise.position import offset_of, offset_or_none
from offsetwise.targets.text_file import TextFileWriter, as_written, changed


def _content(plan: Plan) -> tuple[str, tuple[NumberChange, ...]]:
    numbers = tuple(
        NumberChange(
            source=planned_position.source,
            topic=planned_position.topic,
            partition=planned_position.partition,
            before=offset_or_none(planned_position.old_offset),
            new_topic=planned_position.new_topic,
            after=offset_of(planned_position.new_offset),
        )
        for planned_position in sorted(
            plan.positions, key=lambda position: (position.source, position.new_topic_partition)
        )
    )
    return positions_text(plan), numbers


_FILES: Final = TextFileWriter(
    content=_content,
    label="positions",
    parts="partition(s)",
    fix="Write it locally: --output FILE.",
    use=command,
)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _FILES


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:  # noqa: ARG001 - as every target's
    since = "where the job began, its own system tells"
    return changed(plan, step, readers, positions_text(plan)) or as_written(plan, step, since)
