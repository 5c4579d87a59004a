"""A folder that appears as a whole or not at all: built under a temporary name next to it, synced, then renamed.

A rename replaces an empty folder but never one with content, so only one of several concurrent publishers succeeds. The
journal records the name of the temporary folder before it is created, and its identity (its inode) before it is
renamed: a later run can then tell its own folder from others, and remove the remainder.
"""

from __future__ import annotations

import errno
import os
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from offsetwise.apply.disk import explaining_os_errors
from offsetwise.apply.journal import Journal, StepRecord
from offsetwise.apply.writing import Context, SeenPlace, StepStanding
from offsetwise.errors import ApplyError, OutputError, RunningQueryError
from offsetwise.model import ReceiptStep
from offsetwise.regular_files import Folders, below

Tree = dict[str, os.stat_result]
"""Every file and folder below a folder by its relative path; folders end with a slash."""


def journal_of(context: Context) -> Journal:
    """Return the journal that writing needs.

    Raises:
        ApplyError: The context is one of a dry run.
    """
    if context.journal is None:
        raise ApplyError("Writing needs a journal, found none. Nothing was written.", fix="Give --receipt.")
    return context.journal


def scan_stopped(folder: str, *, young_s: float) -> Tree:
    """List a checkpoint recursively, without following links.

    Raises:
        RunningQueryError: A temporary file in it is younger than `young_s` seconds.
        OutputError: Something in it is neither a file nor a folder.
        OSError: It cannot be listed.
    """
    results = dict(_scan(folder, "", Folders()))
    now = time.time()
    for path, facts in results.items():
        age_s = now - facts.st_mtime
        if path.endswith(".tmp") and age_s < young_s:
            raise RunningQueryError(
                f"{folder}: expected the query to be stopped, found {path}, written {max(age_s, 0):.0f} seconds ago. "
                "Nothing was written.",
                fix=f"Stop the query, wait until {young_s:.0f} seconds have passed, then apply again.",
            )
    return results


def _scan(folder: str, above: str, folders: Folders) -> Iterator[tuple[str, os.stat_result]]:
    with folders.listed(below(folder, above.rstrip("/")) if above else folder) as entries:
        results = [(above + entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    for path, facts in results:
        if stat.S_ISDIR(facts.st_mode):
            yield f"{path}/", facts
            yield from _scan(folder, f"{path}/", folders)
        elif stat.S_ISREG(facts.st_mode):
            yield path, facts
        else:
            raise OutputError(
                f"{folder}/{path}: expected files and folders only, found something else, such as a link. "
                "Nothing was written.",
                fix="Replace it by what it names.",
            )


def require_free(path: str) -> None:
    """Raise unless a path is missing or an empty folder.

    Raises:
        OutputError: It is a folder with content, or a file.
    """
    if not os.path.lexists(path):
        return
    if not os.path.isdir(path) or os.listdir(path):
        raise not_free(path)


def not_free(path: str) -> OutputError:
    return OutputError(
        f"{path}: expected an empty folder or none, found something there. Nothing was written to it.",
        fix="Choose another output, or remove what is there if nobody needs it.",
    )


def went_on(path: str, reason: str) -> ApplyError:
    return ApplyError(
        f"{path}: {reason}",
        fix="Keep it. To go back from here, draft a plan from it to the old cluster (failback).",
    )


def publish(
    path: str, intended: ReceiptStep, context: Context, build: Callable[[str], None], *, like: str | None = None
) -> ReceiptStep:
    """Publish a folder as a whole, under the journal.

    Args:
        path: The folder.
        intended: The step as it will be when it is done.
        context: Journal, step and disk.
        build: Fills the empty folder whose path it is given. May raise.
        like: The folder whose permissions it gets, as do missing parents; if None, only the owner has access.

    Raises:
        OutputError: The path is taken, or the disk returns an error. The path is then as it was.
        ApplyError: Raised by `build`.
    """
    journal, disk = journal_of(context), context.disk
    record = journal.record(context.step)
    if record.done is not None and record.undone is None:
        return record.done
    with explaining_os_errors(lambda: _effect(path, journal.record(context.step))):
        if record.undone is None and _is_own(path, record):
            # The existing output is what that call announced; this call may have generated another id.
            intended = record.intended or intended
            disk.sync(os.path.dirname(path))
        else:
            if record.undone is None and "tmp" in record.notes:
                _remove_left(record.notes["tmp"], context)
            require_free(path)
            disk.make_parents(os.path.dirname(path), like=like)
            tmp = f"{path}.tmp-{uuid.uuid4().hex}"
            journal.begin(context.step, intended, tmp=tmp)
            with _removed_on_failure(tmp, context):
                _build(tmp, path, context, build, like)
        return journal.done(context.step, intended)


def _effect(path: str, record: StepRecord) -> str:
    if _is_own(path, record):
        return f"{path} is there whole, but whether it would outlast a loss of power is not known."
    tmp = record.notes.get("tmp", "")
    remains = f" {tmp} is left and is removed by the next run." if tmp and os.path.lexists(tmp) else ""
    return f"{path} is as it was.{remains}"


def _build(tmp: str, path: str, context: Context, build: Callable[[str], None], like: str | None) -> None:
    journal, disk = journal_of(context), context.disk
    disk.make_folder(tmp, like=like)
    build(tmp)
    disk.sync(tmp)
    journal.note(context.step, inode=_inode(tmp))
    try:
        disk.rename(tmp, path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise not_free(path) from error
        raise
    disk.sync(os.path.dirname(path))


def _remove_left(tmp: str, context: Context) -> None:
    """Remove a temporary folder; forget its inode first, because the system may reuse it."""
    journal = journal_of(context)
    if not os.path.lexists(tmp):
        return
    if journal.record(context.step).notes.get("inode"):
        journal.note(context.step, inode="")
    context.disk.remove_tree(tmp)


def _inode(folder: str) -> str:
    result = os.stat(folder, follow_symlinks=False)
    return f"{result.st_dev}:{result.st_ino}"


def _is_own(path: str, record: StepRecord) -> bool:
    known = record.notes.get("inode")
    if not known or os.path.lexists(record.notes["tmp"]) or not os.path.isdir(path):
        return False
    return _inode(path) == known


def _nothing_shows(step: ReceiptStep) -> str | None:  # noqa: ARG001 - the signature of `ran`
    return None


def unpublish(
    step: ReceiptStep,
    context: Context,
    *,
    refuse: Callable[[], str | None],
    ran: Callable[[ReceiptStep], str | None] = _nothing_shows,
) -> ReceiptStep:
    """Remove a published folder as a whole, under the journal.

    Args:
        step: What was written, or intended.
        context: Journal, step and disk.
        refuse: Returns why the folder must stay; None if it may be removed.
        ran: Returns the evidence in the folder, wherever the step has it, that a job has run on it; None if there is
            none. It is asked again once the folder is moved away, where no job finds it any more.

    Raises:
        ApplyError: It must stay, or the disk returns an error.
    """
    journal, disk, path = journal_of(context), context.disk, step.place
    record = journal.record(context.step)
    if record.undone is not None:
        return record.undone
    with explaining_os_errors(f"{path} is not removed yet."):
        tmp = record.notes.get("tmp")
        published = record.done is not None or record.intended is None or _is_own(path, record)
        trash = record.notes.get("trash") or f"{path}.tmp-{uuid.uuid4().hex}"
        if not (record.undoing and os.path.lexists(trash)) and published and os.path.lexists(path):
            _move_away(path, trash, context, refuse)
        if os.path.lexists(trash):
            _require_unused(replace(step, place=trash), path, context, ran)
        for folder in (trash, tmp):
            if folder is not None and os.path.lexists(folder):
                _remove_left(folder, context)
                disk.sync(os.path.dirname(folder))
        return journal.taken_back(context.step, step, f"{path} is gone; nothing of it is left.")


def _move_away(path: str, trash: str, context: Context, refuse: Callable[[], str | None]) -> None:
    """Move a folder away to be removed, unless it must stay.

    Another rollback, with another journal, may have removed it meanwhile.
    """
    reason = refuse()
    if reason is not None and os.path.lexists(path):
        raise went_on(path, f"{reason} Nothing was removed.")
    journal_of(context).undoing(context.step, trash=trash)
    with suppress(FileNotFoundError):
        context.disk.rename(path, trash)
        context.disk.sync(os.path.dirname(path))


def _require_unused(moved: ReceiptStep, path: str, context: Context, ran: Callable[[ReceiptStep], str | None]) -> None:
    """Raise if a job has run on a folder that was moved away to be removed, after moving it back.

    Args:
        moved: The step with the place that the folder was moved to.
        path: The path that the folder had.
        context: The disk.
        ran: Returns the evidence; see `unpublish`.

    Raises:
        ApplyError: A job has run on it since it was looked at. Nothing of it is removed.
    """
    reason = ran(moved)
    if reason is None:
        return
    if os.path.lexists(path):
        raise went_on(moved.place, f"{reason} It was at {path}, where something else is now. Nothing was removed.")
    context.disk.rename(moved.place, path)
    context.disk.sync(os.path.dirname(path))
    raise went_on(path, f"{reason} Nothing was removed.")


def absent(step: ReceiptStep) -> SeenPlace:
    return SeenPlace(standing=StepStanding.ABSENT, told=f"There is nothing at {step.place}.")


@contextmanager
def _removed_on_failure(tmp: str, context: Context) -> Iterator[None]:
    """Remove a temporary folder if filling it fails, as far as the disk permits; a later run removes the rest."""
    try:
        yield
    except BaseException:
        with suppress(OSError, ApplyError):
            _remove_left(tmp, context)
        raise
