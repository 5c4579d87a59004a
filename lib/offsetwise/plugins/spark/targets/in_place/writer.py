"""Edits positions in the checkpoint itself; the originals are kept in a hidden folder inside it, which Spark ignores.

Way A' of `spec/spark-checkpoints.md`. Several files change and no single rename covers them all, so a guard file
protects the edit: a file in `offsets/` that is newer than any batch and not an offset file. While it exists Spark
refuses to start, whatever the other files contain. It is created with create-if-absent, so it also keeps a second
applier out, and it is removed only when every file is as planned, or as it was. Originals are kept as links and moved
back by renames, so that undoing restores bytes, times and permissions.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from offsetwise.apply.digests import bytes_of, names_in, sha256_of_file
from offsetwise.apply.disk import explaining_os_errors
from offsetwise.apply.fitting import requirement
from offsetwise.apply.publish import journal_of, scan_stopped, went_on
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification import seen
from offsetwise.apply.write_locations import place_to_write
from offsetwise.apply.writing import Context, Preview, SeenPlace, StepStanding, Writer
from offsetwise.apply.written import foreign_names, names_below
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
    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return which numbers would change in the checkpoint. Nothing is written.

        Raises:
            OffsetwiseError: It cannot be edited in its current state; the message says why.
        """
        checkpoint = _local_path(requirement(plan).uri, context)
        checkpoint_rewrite = _decided(plan, context)
        with explaining_os_errors("Nothing was written."):
            scan_stopped(checkpoint, young_s=context.young_s)
        return Preview(
            target=target,
            place=checkpoint,
            told=f"The checkpoint {checkpoint} would be edited, {checkpoint_rewrite.summary}; its originals are kept "
            "in it.",
            files=checkpoint_rewrite.changes(),
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Edit the checkpoint, recording each step in the journal.

        Raises:
            OffsetwiseError: The message says whether the checkpoint is as it was, or guarded until the next run.
        """
        checkpoint = _local_path(requirement(plan).uri, context)
        journal = journal_of(context)
        record = journal.record(context.step)
        if record.undone is None and record.done is not None:
            return record.done
        with explaining_os_errors(lambda: _effect(checkpoint, context)):
            if record.undone is None and record.intended is not None and record.notes.get("staged"):
                intended = record.intended
            else:
                if record.undone is None and "keep" in record.notes:
                    _withdraw(checkpoint, context)
                intended = _stage(plan, target, checkpoint, context)
            try:
                _swap(checkpoint, intended, context)
            except BaseException:
                if "swapping" not in journal.record(context.step).notes:
                    _try_to_withdraw(checkpoint, context)
                raise
            journal.done(context.step, intended)
        return intended

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Restore the originals, byte for byte, as long as no query has run on the checkpoint.

        Raises:
            ApplyError: A query has run on it, so going back is a failback; somebody else wrote to it; or the disk
                refuses.
        """
        checkpoint = _local_path(step.place, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        undone = replace(step, state=StepState.UNDONE, told=f"{checkpoint} is as it was before.")
        keep = record.notes.get("keep") or _keep_of(step)
        guard = below(checkpoint, record.notes.get("guard") or batch_guard(step))
        with explaining_os_errors(lambda: _effect_of_undo(checkpoint, guard, keep)):
            began = record.intended is None or bool(record.notes.get("staged"))
            if keep is not None and began and _are_kept(checkpoint, keep):
                _refuse_foreign(checkpoint, step, keep)
                # A guard with these originals is of a rollback under way, or of one whose journal is lost: it has put
                # back some of them, so the checkpoint restarts nowhere until the rest is back.
                if record.intended is None and not record.undoing and bytes_of(guard) != _guard_text(keep):
                    _refuse(checkpoint, step, foreign(plan, open_tree(checkpoint, roots=context.write_roots)))
            if keep is not None and began and _are_kept(checkpoint, keep):
                journal.undoing(context.step, keep=keep)
                _put_guard(checkpoint, guard, keep, context)
                for written_file in step.files:
                    if written_file.kept_as is not None and os.path.lexists(
                        backup := below(checkpoint, written_file.kept_as)
                    ):
                        disk.rename(backup, below(checkpoint, written_file.path))
                _sync(checkpoint, (file.path for file in step.files), context)
                _remove_guard(guard, keep, context)
            elif record.intended is not None:
                _withdraw(checkpoint, context)
            if keep is not None:
                disk.remove_tree(below(checkpoint, keep))
                disk.sync(checkpoint)
            journal.undone(context.step, undone)
        return undone

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        checkpoint = _local_path(step.place, context)
        changed = _later(checkpoint, step)
        if changed is not None:
            return SeenPlace(
                standing=StepStanding.CHANGED, told=f"{checkpoint}: a query has run on it since: {changed} is there."
            )
        for file in step.files:
            if sha256_of_file(below(checkpoint, file.path)) != file.sha256:
                return SeenPlace(
                    standing=StepStanding.CHANGED, told=f"{checkpoint}: {file.path} is not as it was written."
                )
        other = foreign(plan, open_tree(checkpoint, roots=context.write_roots))
        if other is not None:
            return SeenPlace(standing=StepStanding.CHANGED, told=f"{checkpoint}: {other}")
        return SeenPlace(standing=StepStanding.AS_WRITTEN, told=f"{checkpoint} is as it was written.")

    def left(self, plan: Plan, undone: ReceiptStep, context: Context) -> str | None:  # noqa: ARG002 - the protocol's
        paths = {below(undone.place, file.path): file.before_sha256 for file in undone.files}
        wrong = next((path for path, before in paths.items() if sha256_of_file(path) != before), None)
        return None if wrong is None else f"{wrong} is not as it was before."


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return InPlaceWriter()


def verify(
    plan: Plan,
    step: ReceiptStep,
    readers: Readers,
    checkpoint: str | None,  # noqa: ARG001 - as above
) -> list[seen.Seen]:
    return began(plan, step, readers, step.place, fresh=False)


def _local_path(uri: str, context: Context) -> str:
    location = place_to_write(uri, context.write_roots, itself=True)
    if location.scheme != "file":
        raise OutputError(
            f"{uri}: expected a checkpoint on a local file system to edit in place, found one on {location.scheme}, "
            "which has no renames. Nothing was written.",
            fix="Use the target spark-checkpoint: a copy costs no download there.",
        )
    return location.path


def _decided(plan: Plan, context: Context) -> CheckpointRewrite:
    return rewrite(plan, open_tree(requirement(plan).uri, roots=context.read_roots), young_s=context.young_s)


def _stage(plan: Plan, target: Target, checkpoint: str, context: Context) -> ReceiptStep:
    """Keep the originals and write the new files, all of it where Spark does not look."""
    journal, disk = journal_of(context), context.disk
    checkpoint_rewrite = _decided(plan, context)
    scan_stopped(checkpoint, young_s=context.young_s)
    keep = f".offsetwise-{context.digest[:12]}-{uuid.uuid4().hex[:8]}"
    intended = ReceiptStep(
        target=target,
        place=checkpoint,
        state=StepState.DONE,
        told=f"The checkpoint {checkpoint} is edited, {checkpoint_rewrite.summary}; its originals are kept in {keep}.",
        files=_with_digests(checkpoint, checkpoint_rewrite.written(kept_in=f"{keep}/{_BEFORE}")),
    )
    journal.begin(context.step, intended, keep=keep, guard=checkpoint_rewrite.guard)
    try:
        after = {edit.path: edit.after for edit in checkpoint_rewrite.edits}
        paths = [*after, *checkpoint_rewrite.dropped]
        folders = {f"{keep}/{side}/{above}" for side in (_BEFORE, _AFTER) for path in paths for above in _above(path)}
        for folder in sorted({keep, f"{keep}/{_BEFORE}", f"{keep}/{_AFTER}", *folders}):
            disk.make_folder(below(checkpoint, folder), like=checkpoint)
        for path in paths:
            original, backup = below(checkpoint, path), below(checkpoint, f"{keep}/{_BEFORE}/{path}")
            if not disk.link(original, backup):
                disk.copy(original, backup)
                disk.sync(backup)
            if path in after:
                disk.write_new(below(checkpoint, f"{keep}/{_AFTER}/{path}"), after[path], like=original)
        for folder in sorted({keep, f"{keep}/{_BEFORE}", f"{keep}/{_AFTER}", *folders}, reverse=True):
            disk.sync(below(checkpoint, folder))
        disk.sync(checkpoint)
        journal.note(context.step, staged="yes")
    except BaseException:
        _try_to_withdraw(checkpoint, context)
        raise
    return intended


def _swap(checkpoint: str, step: ReceiptStep, context: Context) -> None:
    """Replace the old files with the new ones, under the guard. Every part is idempotent."""
    journal, disk = journal_of(context), context.disk
    notes = journal.record(context.step).notes
    keep, guard = notes["keep"], below(checkpoint, notes["guard"])
    staging = below(checkpoint, f"{keep}/{_AFTER}")
    if os.path.isdir(staging):
        fresh = "swapping" not in notes
        _put_guard(checkpoint, guard, keep, context)
        for written_file in step.files:
            result = sha256_of_file(below(checkpoint, written_file.path))
            if result != written_file.before_sha256 and (fresh or result != written_file.sha256):
                raise StalePlanError(
                    f"{checkpoint}: expected {written_file.path} as reviewed, found that somebody else has changed it. "
                    "Nothing was written.",
                    fix="Compare again, and draft a new plan.",
                )
        if fresh:
            journal.note(context.step, swapping="yes")
        for written_file in step.files:
            path, new = below(checkpoint, written_file.path), below(staging, written_file.path)
            if written_file.kept_as is not None and written_file.sha256 is None:
                disk.remove(path)
            elif os.path.lexists(new):
                disk.rename(new, path)
        _sync(checkpoint, (file.path for file in step.files), context)
        _remove_guard(guard, keep, context)
        disk.remove_tree(staging)
        disk.sync(below(checkpoint, keep))


def _put_guard(checkpoint: str, guard: str, keep: str, context: Context) -> None:
    text = _guard_text(keep)
    if bytes_of(guard) == text:
        return
    # Written elsewhere and linked, it appears complete and only if nothing is there.
    guard_source = below(checkpoint, f"{keep}/{_HELD}")
    try:
        if not os.path.lexists(guard_source):
            context.disk.write_new(guard_source, text)
        elif bytes_of(guard_source) != text:
            context.disk.remove(guard_source)
            context.disk.write_new(guard_source, text)
        if not context.disk.link(guard_source, guard):
            context.disk.write_new(guard, text)
    except FileExistsError as error:
        raise RunningQueryError(
            f"{guard}: expected no such batch, found one: a query, or another application of a plan, is under way. "
            "Nothing was written.",
            fix="Stop the query, or wait for the other application; then compare again.",
        ) from error
    context.disk.sync(os.path.dirname(guard))


def _guard_text(keep: str) -> bytes:
    return f"{_GUARD}{keep}\n".encode()


def _remove_guard(guard: str, keep: str, context: Context) -> None:
    if bytes_of(guard) == _guard_text(keep):
        context.disk.remove(guard)
        context.disk.sync(os.path.dirname(guard))


def _sync(checkpoint: str, paths: Iterable[str], context: Context) -> None:
    for folder in sorted({os.path.dirname(below(checkpoint, path)) for path in paths}):
        if os.path.isdir(folder):
            context.disk.sync(folder)


def _refuse_foreign(checkpoint: str, step: ReceiptStep, keep: str) -> None:
    later = _later(checkpoint, step, keep=keep)
    reason = None if later is None else f"a query has run on it since: {later} is there."
    for written_file in step.files:
        if reason is None and sha256_of_file(below(checkpoint, written_file.path)) not in (
            written_file.sha256,
            written_file.before_sha256,
        ):
            reason = f"{written_file.path} is neither as it was written nor as it was before."
        original_digest = (
            None if written_file.kept_as is None else sha256_of_file(below(checkpoint, written_file.kept_as))
        )
        if reason is None and original_digest not in (None, written_file.before_sha256):
            reason = f"{written_file.kept_as} is not the original that was kept."
    reason = reason or foreign_names(
        names_below(below(checkpoint, f"{keep}/{_BEFORE}")), {file.path for file in step.files}
    )
    _refuse(checkpoint, step, reason)


def _refuse(checkpoint: str, step: ReceiptStep, reason: str | None) -> None:
    # Another rollback, with another journal, may have put all originals back meanwhile.
    kept = (below(checkpoint, file.kept_as) for file in step.files if file.kept_as is not None)
    if reason is not None and any(map(os.path.lexists, kept)):
        raise went_on(checkpoint, f"{reason} Nothing was put back.")


def _later(checkpoint: str, step: ReceiptStep, *, keep: str | None = None) -> str | None:
    """Return a file of a batch that only a query can have written since.

    Before the edit is done, dropped files may remain.
    """
    ours = {file.path for file in step.files if file.kept_as is not None}

    def names(log: str) -> list[str]:
        folder = below(checkpoint, log)
        return [
            name
            for name in names_in(folder)
            if not (keep is not None and (f"{log}/{name}" in ours or _is_guard(below(folder, name))))
        ]

    return later_batch(step, names)


def _is_guard(path: str) -> bool:
    data = bytes_of(path)
    return data is not None and (_GUARD.encode().startswith(data) or data.startswith(_GUARD.encode()))


def _keep_of(step: ReceiptStep) -> str | None:
    return next((file.kept_as.partition("/")[0] for file in step.files if file.kept_as is not None), None)


def _with_digests(checkpoint: str, files: tuple[WrittenFile, ...]) -> tuple[WrittenFile, ...]:
    """Add the digests of dropped files, so that undoing can distinguish them from files that somebody else wrote."""
    return tuple(
        replace(file, before_sha256=sha256_of_file(below(checkpoint, file.path))) if file.sha256 is None else file
        for file in files
    )


def _above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def _effect(checkpoint: str, context: Context) -> str:
    notes = journal_of(context).record(context.step).notes
    guard = notes.get("guard")
    if guard is not None and os.path.lexists(below(checkpoint, guard)):
        return f"{checkpoint} is guarded: Spark refuses to start on it until the plan is applied again or rolled back."
    return f"{checkpoint} is as it was." if "swapping" not in notes else f"{checkpoint} is edited as planned."


def _effect_of_undo(checkpoint: str, guard: str, keep: str | None) -> str:
    if os.path.lexists(guard):
        return f"{checkpoint} is guarded until its originals are back: Spark refuses to start on it."
    if keep is not None and not _are_kept(checkpoint, keep):
        return f"{checkpoint} is as it was before."
    return f"{checkpoint} is not changed now."


def _are_kept(checkpoint: str, keep: str) -> bool:
    """Whether the originals are kept in the checkpoint: they are not all back, or the rest is not removed yet."""
    return os.path.isdir(below(checkpoint, f"{keep}/{_BEFORE}"))


def _withdraw(checkpoint: str, context: Context) -> None:
    journal, disk = journal_of(context), context.disk
    notes = journal.record(context.step).notes
    if notes.get("staged"):
        journal.note(context.step, staged="")
    _remove_guard(below(checkpoint, notes["guard"]), notes["keep"], context)
    disk.remove_tree(below(checkpoint, notes["keep"]))


def _try_to_withdraw(checkpoint: str, context: Context) -> None:
    with suppress(OSError, ApplyError):
        _withdraw(checkpoint, context)
