from __future__ import annotations

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.model import Plan, ReceiptStep
from offsetwise.plan.exports import starting_form
from offsetwise.targets.text_file import as_written, changed


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    form = starting_form(plan)
    text = form.text(plan)
    if unlike := changed(plan, step, readers, text):
        return unlike
    if form.began_as_told is None:
        return as_written(plan, step, form.evidence_of_start)
    results: list[Seen] = form.began_as_told(plan, step, text.encode(), readers, checkpoint)
    return results
