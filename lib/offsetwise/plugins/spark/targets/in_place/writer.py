"""Other positions in the checkpoint itself, its originals kept in a hidden folder inside it, where Spark does not look.

Way A' of `spec/spark-checkpoints.md`. Several files change and no rename covers them all, so a guard stands in between:
a file in `offsets/` that is newer than any batch and no offset file. While it stands there Spark refuses to start,
loudly, whatever the other files say. It is made with create-if-absent, so it also keeps a second applier out, and it is
removed only when every file is as planned, or as it was. Originals are kept as links and moved back by renames, so
that undoing restores bytes, times and permissions.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from offsetwise.apply.digests import bytes_of, names_in, sha256_of_file
from offsetwise.apply.disk import told
from offsetwise.apply.fitting import requirement
from offsetwise.apply.places import place_to_write
from offsetwise.apply.publish import journal_of, scan_stopped, went_on
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification import seen
from offsetwise.apply.writing import Context, Preview, SeenPlace, StepStanding, Writer
from offsetwise.apply.written import beside, names_below
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, OutputError, RunningQueryError, StalePlanError
from offsetwise.model import Plan, ReceiptStep, StepState, Target, WrittenFile
from offsetwise.plugins.spark.targets.rewrite import CheckpointRewrite, foreign, rewrite
from offsetwise.plugins.spark.targets.verification import began
from offsetwise.plugins.spark.targets.written import batch_guard, later_batch
from offsetwise.regular_files import below
from offsetwise.storage.folders import open_tree

_GUARD: Final = "offsetwise is editing this checkpoint: apply the plan again, or roll it back\n"
_BEFORE, _AFTER, _HELD = "before", "after", "guard"


class InPlaceWriter(Writer):
    """Edits a checkpoint where it stands."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return which numbers would change in the checkpoint. Nothing is written.

        Raises:
            OffsetwiseError: It could not be edited as things stand; the message says why.
        """
        place = _place(requirement(plan).uri, context)
        checkpoint_rewrite = _decided(plan, context)
        with told("Nothing was written."):
            scan_stopped(place, young_s=context.young_s)
        return Preview(
            target=target,
            place=place,
            told=f"The checkpoint {place} would be edited, {checkpoint_rewrite.told}; its originals are kept in it.",
            files=checkpoint_rewrite.changes(),
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Edit the checkpoint, under the journal.

        Raises:
            OffsetwiseError: The message says whether the checkpoint is as it was, or guarded until the next run.
        """
        place = _place(requirement(plan).uri, context)
        journal = journal_of(context)
        record = journal.record(context.step)
        if record.undone is None and record.done is not None:
            return record.done
        with told(lambda: _effect(place, context)):
            if record.undone is None and record.intended is not None and record.notes.get("staged"):
                intended = record.intended
            else:
                if record.undone is None and "keep" in record.notes:
                    _withdraw(place, context)
                intended = _stage(plan, target, place, context)
            try:
                _swap(place, intended, context)
            except BaseException:
                if "swapping" not in journal.record(context.step).notes:
                    _try_to_withdraw(place, context)
                raise
            journal.done(context.step, intended)
        return intended

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Put the originals back, byte for byte, as long as no query has run on the checkpoint.

        Raises:
            ApplyError: A query has run on it, so going back is a failback; somebody else wrote to it; or the disk
                refuses.
        """
        place = _place(step.place, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        undone = replace(step, state=StepState.UNDONE, told=f"{place} is as it was before.")
        keep = record.notes.get("keep") or _keep_of(step)
        with told(f"{place} is guarded until its originals are back: Spark refuses to start on it."):
            began = record.intended is None or bool(record.notes.get("staged"))
            if keep is not None and began and os.path.isdir(below(place, f"{keep}/{_BEFORE}")):
                _refuse_foreign(place, step, keep)
                if record.intended is None and not record.undoing:
                    _refuse(place, foreign(plan, open_tree(place, roots=context.write_roots)))
                journal.undoing(context.step, keep=keep)
                guard = below(place, record.notes.get("guard") or batch_guard(step))
                _put_guard(place, guard, keep, context)
                for written_file in step.files:
                    if written_file.kept_as is not None and os.path.lexists(kept := below(place, written_file.kept_as)):
                        disk.rename(kept, below(place, written_file.path))
                _sync(place, (file.path for file in step.files), context)
                _remove_guard(guard, keep, context)
            elif record.intended is not None:
                _withdraw(place, context)
            if keep is not None:
                disk.remove_tree(below(place, keep))
                disk.sync_folder(place)
            journal.undone(context.step, undone)
        return undone

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        """Return whether the checkpoint stands there as this plan wrote it."""
        place = _place(step.place, context)
        changed = _later(place, step)
        if changed is not None:
            return SeenPlace(
                standing=StepStanding.CHANGED, told=f"{place}: a query has run on it since: {changed} is there."
            )
        for file in step.files:
            if sha256_of_file(below(place, file.path)) != file.sha256:
                return SeenPlace(standing=StepStanding.CHANGED, told=f"{place}: {file.path} is not as it was written.")
        other = foreign(plan, open_tree(place, roots=context.write_roots))
        if other is not None:
            return SeenPlace(standing=StepStanding.CHANGED, told=f"{place}: {other}")
        return SeenPlace(standing=StepStanding.AS_WRITTEN, told=f"{place} is as it was written.")

    def left(self, plan: Plan, undone: ReceiptStep, context: Context) -> str | None:  # noqa: ARG002 - the protocol's
        """Describe which file does not have its original bytes; see `Writer`."""
        paths = {below(undone.place, file.path): file.before_sha256 for file in undone.files}
        wrong = next((path for path, before in paths.items() if sha256_of_file(path) != before), None)
        return None if wrong is None else f"{wrong} is not as it was before."


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    """Return the writer; see `WriterModule`."""
    return InPlaceWriter()


def verify(
    plan: Plan,
    step: ReceiptStep,
    readers: Readers,
    checkpoint: str | None,  # noqa: ARG001 - as above
) -> list[seen.Seen]:
    """Hold the checkpoint, which its query goes on with, against the plan; see `WriterModule`."""
    return began(plan, step, readers, step.place, fresh=False)


def _place(uri: str, context: Context) -> str:
    place = place_to_write(uri, context.write_roots, itself=True)
    if place.scheme != "file":
        raise OutputError(
            f"{uri}: expected a checkpoint on a local file system to edit in place, found one on {place.scheme}, which "
            "has no renames. Nothing was written.",
            fix="Use the target spark-checkpoint: a copy costs no download there.",
        )
    return place.path


def _decided(plan: Plan, context: Context) -> CheckpointRewrite:
    return rewrite(plan, open_tree(requirement(plan).uri, roots=context.read_roots), young_s=context.young_s)


def _stage(plan: Plan, target: Target, place: str, context: Context) -> ReceiptStep:
    """Keep the originals and lay out the new files, all of it where Spark does not look."""
    journal, disk = journal_of(context), context.disk
    checkpoint_rewrite = _decided(plan, context)
    scan_stopped(place, young_s=context.young_s)
    keep = f".offsetwise-{context.digest[:12]}-{uuid.uuid4().hex[:8]}"
    intended = ReceiptStep(
        target=target,
        place=place,
        state=StepState.DONE,
        told=f"The checkpoint {place} is edited, {checkpoint_rewrite.told}; its originals are kept in {keep}.",
        files=_with_digests(place, checkpoint_rewrite.written(kept_in=f"{keep}/{_BEFORE}")),
    )
    journal.begin(context.step, intended, keep=keep, guard=checkpoint_rewrite.guard)
    try:
        after = {edit.path: edit.after for edit in checkpoint_rewrite.edits}
        kept = [*after, *checkpoint_rewrite.dropped]
        folders = {f"{keep}/{side}/{above}" for side in (_BEFORE, _AFTER) for path in kept for above in _above(path)}
        for folder in sorted({keep, f"{keep}/{_BEFORE}", f"{keep}/{_AFTER}", *folders}):
            disk.make_folder(below(place, folder), like=place)
        for path in kept:
            original, held = below(place, path), below(place, f"{keep}/{_BEFORE}/{path}")
            if not disk.link(original, held):
                disk.copy(original, held)
                disk.sync_file(held)
            if path in after:
                disk.write_new(below(place, f"{keep}/{_AFTER}/{path}"), after[path], like=original)
        for folder in sorted({keep, f"{keep}/{_BEFORE}", f"{keep}/{_AFTER}", *folders}, reverse=True):
            disk.sync_folder(below(place, folder))
        disk.sync_folder(place)
        journal.note(context.step, staged="yes")
    except BaseException:
        _try_to_withdraw(place, context)
        raise
    return intended


def _swap(place: str, step: ReceiptStep, context: Context) -> None:
    """Move the new files into the place of the old ones, under the guard. Every part may be done again."""
    journal, disk = journal_of(context), context.disk
    notes = journal.record(context.step).notes
    keep, guard = notes["keep"], below(place, notes["guard"])
    staged = below(place, f"{keep}/{_AFTER}")
    if os.path.isdir(staged):
        fresh = "swapping" not in notes
        _put_guard(place, guard, keep, context)
        for written_file in step.files:
            result = sha256_of_file(below(place, written_file.path))
            if result != written_file.before_sha256 and (fresh or result != written_file.sha256):
                raise StalePlanError(
                    f"{place}: expected {written_file.path} as reviewed, found that somebody else has changed it. "
                    "Nothing was written.",
                    fix="Compare again, and draft a new plan.",
                )
        if fresh:
            journal.note(context.step, swapping="yes")
        for written_file in step.files:
            path, new = below(place, written_file.path), below(staged, written_file.path)
            if written_file.kept_as is not None and written_file.sha256 is None:
                disk.remove(path)
            elif os.path.lexists(new):
                disk.rename(new, path)
        _sync(place, (file.path for file in step.files), context)
        _remove_guard(guard, keep, context)
        disk.remove_tree(staged)
        disk.sync_folder(below(place, keep))


def _put_guard(place: str, guard: str, keep: str, context: Context) -> None:
    text = f"{_GUARD}{keep}\n".encode()
    if bytes_of(guard) == text:
        return
    # Written elsewhere and linked, it appears whole and only where nothing stands.
    held = below(place, f"{keep}/{_HELD}")
    try:
        if not os.path.lexists(held):
            context.disk.write_new(held, text)
        elif bytes_of(held) != text:
            context.disk.remove(held)
            context.disk.write_new(held, text)
        if not context.disk.link(held, guard):
            context.disk.write_new(guard, text)
    except FileExistsError as error:
        raise RunningQueryError(
            f"{guard}: expected no such batch, found one: a query, or another application of a plan, is under way. "
            "Nothing was written.",
            fix="Stop the query, or wait for the other application; then compare again.",
        ) from error
    context.disk.sync_folder(os.path.dirname(guard))


def _remove_guard(guard: str, keep: str, context: Context) -> None:
    if bytes_of(guard) == f"{_GUARD}{keep}\n".encode():
        context.disk.remove(guard)
        context.disk.sync_folder(os.path.dirname(guard))


def _sync(place: str, paths: Iterable[str], context: Context) -> None:
    for folder in sorted({os.path.dirname(below(place, path)) for path in paths}):
        if os.path.isdir(folder):
            context.disk.sync_folder(folder)


def _refuse_foreign(place: str, step: ReceiptStep, keep: str) -> None:
    later = _later(place, step, beside=keep)
    reason = None if later is None else f"a query has run on it since: {later} is there."
    for written_file in step.files:
        if reason is None and sha256_of_file(below(place, written_file.path)) not in (
            written_file.sha256,
            written_file.before_sha256,
        ):
            reason = f"{written_file.path} is neither as it was written nor as it was before."
        kept = None if written_file.kept_as is None else sha256_of_file(below(place, written_file.kept_as))
        if reason is None and kept not in (None, written_file.before_sha256):
            reason = f"{written_file.kept_as} is not the original that was kept."
    reason = reason or beside(names_below(below(place, f"{keep}/{_BEFORE}")), {file.path for file in step.files})
    _refuse(place, reason)


def _refuse(place: str, reason: str | None) -> None:
    if reason is not None:
        raise went_on(place, f"{reason} Nothing was put back.")


def _later(place: str, step: ReceiptStep, *, beside: str | None = None) -> str | None:
    """Return a file of a batch that only a query can have made since. Half way, dropped files may still be there."""
    ours = {file.path for file in step.files if file.kept_as is not None}

    def names(log: str) -> list[str]:
        folder = below(place, log)
        return [
            name
            for name in names_in(folder)
            if not (beside is not None and (f"{log}/{name}" in ours or _is_guard(below(folder, name))))
        ]

    return later_batch(step, names)


def _is_guard(path: str) -> bool:
    data = bytes_of(path)
    return data is not None and (_GUARD.encode().startswith(data) or data.startswith(_GUARD.encode()))


def _keep_of(step: ReceiptStep) -> str | None:
    return next((file.kept_as.partition("/")[0] for file in step.files if file.kept_as is not None), None)


def _with_digests(place: str, files: tuple[WrittenFile, ...]) -> tuple[WrittenFile, ...]:
    """Add the digests of what is dropped, so that undoing can tell it from what somebody else made."""
    return tuple(
        replace(file, before_sha256=sha256_of_file(below(place, file.path))) if file.sha256 is None else file
        for file in files
    )


def _above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def _effect(place: str, context: Context) -> str:
    notes = journal_of(context).record(context.step).notes
    guard = notes.get("guard")
    if guard is not None and os.path.lexists(below(place, guard)):
        return f"{place} is guarded: Spark refuses to start on it until the plan is applied again or rolled back."
    return f"{place} is as it was." if "swapping" not in notes else f"{place} is edited as planned."


def _withdraw(place: str, context: Context) -> None:
    """Take back a guard and a staging that changed nothing."""
    journal, disk = journal_of(context), context.disk
    notes = journal.record(context.step).notes
    if notes.get("staged"):
        journal.note(context.step, staged="")
    _remove_guard(below(place, notes["guard"]), notes["keep"], context)
    disk.remove_tree(below(place, notes["keep"]))


def _try_to_withdraw(place: str, context: Context) -> None:
    """Do so as far as the disk lets; a later run does the rest."""
    with suppress(OSError, ApplyError):
        _withdraw(place, context)
