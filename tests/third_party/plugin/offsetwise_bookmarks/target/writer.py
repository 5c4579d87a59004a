"""Writes the bookmarks of a shelf: all in one request, so that a shelf holds the old ones or the new ones."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.apply.publish import journal_of
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen as Looked
from offsetwise.apply.writing import Context, Preview, SeenPlace, StepStanding, Writer
from offsetwise.config import Migration
from offsetwise.errors import ApplyError
from offsetwise.model import Plan, ReceiptStep, StepState, Target, Turnout
from offsetwise_bookmarks import service
from offsetwise_bookmarks.target.spec import address, bookmarks, place


class BookmarkWriter(Writer):
    """Writes shelves."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return what the shelf would hold."""
        _require_reviewed(plan, target)
        told = f"{place(plan, target)} would hold {bookmarks(plan)}, and holds {_before(plan, target)}."
        return Preview(target=target, place=place(plan, target), told=told)

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Put the bookmarks, unless they are there already."""
        journal = journal_of(context)
        record = journal.record(context.step)
        if record.done is not None and record.undone is None:
            return record.done
        step = ReceiptStep(
            target=target,
            place=place(plan, target),
            state=StepState.DONE,
            told=f"{place(plan, target)} holds {len(plan.positions)} bookmark(s).",
        )
        if not record.stands:
            journal.begin(context.step, step)
        if _require_reviewed(plan, target) != bookmarks(plan):
            service.write(address(plan.settings), target.group or "", bookmarks(plan))
        journal.done(context.step, step)
        return step

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Put back what the shelf held when the plan was drafted."""
        journal = journal_of(context)
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        if self.look(plan, step, context).standing is StepStanding.CHANGED:
            raise ApplyError(
                f"{step.place}: expected the bookmarks that were written, found others. Nothing was put back.",
                fix="Look at the shelf, and put the bookmarks back by hand if nobody needs the ones there.",
            )
        journal.undoing(context.step)
        service.write(address(plan.settings), step.target.group or "", _before(plan, step.target) or None)
        undone = replace(step, state=StepState.UNDONE, told=f"{step.place} holds what it held before.")
        journal.undone(context.step, undone)
        return undone

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        """Return whether the shelf holds what was written."""
        now = service.read(address(plan.settings), step.target.group or "")
        if now == bookmarks(plan):
            return SeenPlace(standing=StepStanding.AS_WRITTEN, told=f"{step.place} holds what was written.")
        if now == _before(plan, step.target):
            return SeenPlace(standing=StepStanding.ABSENT, told=f"{step.place} holds what it held before.")
        return SeenPlace(standing=StepStanding.CHANGED, told=f"{step.place} holds {now}.")


def _require_reviewed(plan: Plan, target: Target) -> dict[str, int]:
    """Return what the shelf holds: what was reviewed, or what the plan has written already."""
    now, before = service.read(address(plan.settings), target.group or ""), _before(plan, target)
    if now not in (before, bookmarks(plan)):
        raise ApplyError(
            f"{place(plan, target)}: expected {before} as reviewed, found {now}. Nothing was written.",
            fix="Draft the plan again.",
        )
    return now


def _before(plan: Plan, target: Target) -> dict[str, int]:
    reviewed = next((each.before for each in plan.requirements.targets if each.target == target), {})
    return {key: int(value) for key, value in reviewed.items() if value is not None}


def writer(migration: Migration) -> Writer:
    """Return the writer."""
    return BookmarkWriter()


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Looked]:
    """Hold the shelf against the plan."""
    now = service.read(address(plan.settings), step.target.group or "")
    made = []
    for one in plan.positions:
        found = now.get(f"{one.new_topic}:{one.partition}")
        right = found == one.new_offset
        told = f"{one.new_topic_partition}: the shelf holds {found}{', as planned' if right else ''}."
        made.append(Looked(found=found, turnout=Turnout.CONFIRMED if right else Turnout.DIFFERENT, told=told))
    return made
