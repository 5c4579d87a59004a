"""What a file of starting offsets gives, and where a job began that was told to begin there."""

from __future__ import annotations

from importlib import import_module

from offsetwise.model import Plan, ReceiptStep, Turnout
from offsetwise.plan.exports import starting_form
from offsetwise.verify.eyes import Eyes
from offsetwise.verify.seen import Seen, for_all


def verify(plan: Plan, step: ReceiptStep, eyes: Eyes, checkpoint: str | None) -> list[Seen]:
    """Hold the file against the plan, and the checkpoint that the new job made, where one is given."""
    folder, _, name = step.place.rpartition("/")
    data = eyes.files(folder or "/", (name,)).get(name)
    if data is None:
        return for_all(plan, Turnout.UNKNOWN, f"{step.place} cannot be read.")
    if data != starting_form(plan).text(plan).encode():
        return for_all(plan, Turnout.DIFFERENT, f"{step.place} is not the file that was written.")
    form = starting_form(plan)
    if form.verification is not None:
        made: list[Seen] = import_module(form.verification).began_as_told(plan, step, data, eyes, checkpoint)
        return made
    told = f"{step.place} is as it was written; {form.seen}."
    return [Seen(found=position.new_offset, turnout=Turnout.CONFIRMED, told=told) for position in plan.positions]
