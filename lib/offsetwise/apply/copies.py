"""Copies of a checkpoint or savepoint: how they are written, previewed and recorded in the receipt."""

from __future__ import annotations

from collections.abc import Collection

from offsetwise.apply.disk import Disk
from offsetwise.apply.edits import Edits
from offsetwise.apply.fitting import requirement
from offsetwise.apply.publish import Tree, scan_stopped
from offsetwise.apply.writing import Context, Preview
from offsetwise.errors import RunningQueryError
from offsetwise.model import Plan, ReceiptStep, StepState, Target
from offsetwise.regular_files import below


def preview_copy(plan: Plan, target: Target, path: str, edits: Edits) -> Preview:
    return Preview(
        target=target,
        place=path,
        told=f"A copy of {requirement(plan).uri} would be made at {path}, {edits.summary}.",
        files=edits.changes(),
    )


def step_of_copy(plan: Plan, target: Target, path: str, edits: Edits) -> ReceiptStep:
    return ReceiptStep(
        target=target,
        place=path,
        state=StepState.DONE,
        told=f"A copy of {requirement(plan).uri} is at {path}, {edits.summary}.",
        files=edits.written(),
    )


def copy_at_rest(
    source: str, before: Tree, folder: str, edits: Edits, context: Context, *, path: str, links: str
) -> None:
    """Fill an empty folder with a copy, and raise if the source has changed.

    Args:
        source: The folder to copy.
        before: Its files and folders, listed before the edits were decided: edits and copied files are then of one
            state of the source.
        folder: The folder in which the copy is built.
        edits: Files with new content, and files that are left out.
        context: The disk, and the minimum age of temporary files in the source.
        path: The final path of the copy, for messages.
        links: The prefix of paths whose files the engine never edits in place: they become hard links if the file
            system allows.

    Raises:
        RunningQueryError: The source has changed, or seems to be written to.
        OutputError: Something in it is neither a file nor a folder.
        OSError: The disk returns an error.
    """
    _copy(source, before, folder, edits, disk=context.disk, links=links)
    if _facts(scan_stopped(source, young_s=context.young_s)) != _facts(before):
        raise RunningQueryError(
            f"{source}: expected nobody to write to it while it was copied, found that it changed. "
            f"There is nothing at {path}.",
            fix="Stop the job, compare again and draft a new plan.",
        )


def _facts(tree: Tree) -> dict[str, tuple[int, int, int]]:
    # A hard link that is created meanwhile changes the link count and so the ctime; ctime is not compared.
    return {
        path: (stat.st_ino, 0 if path.endswith("/") else stat.st_size, stat.st_mtime_ns) for path, stat in tree.items()
    }


def _copy(source: str, tree: Tree, folder: str, edits: Edits, *, disk: Disk, links: str) -> None:
    edited = {edit.path: edit.after for edit in edits.edits}
    dropped = frozenset(edits.dropped)
    linking = True
    folders = [path.rstrip("/") for path in tree if path.endswith("/")]
    for path in folders:
        disk.make_folder(below(folder, path), like=below(source, path))
    made_here = []
    copied: dict[str, str] = {}
    for path in tree:
        if path.endswith("/") or path in dropped:
            continue
        original, new = below(source, path), below(folder, path)
        if path in edited:
            disk.write_new(new, edited[path], like=original, sync=False)
        else:
            linking = linking and (not path.startswith(links) or disk.link(original, new))
            if linking and path.startswith(links):
                continue
            digest = disk.copy(original, new)
            if digest is not None:
                copied[new] = digest
        made_here.append(new)
    for path in sorted(edited.keys() - tree.keys()):
        for above in _new_folders(path, folders):
            disk.make_folder(below(folder, above), like=below(source, folders[0]))
            folders.append(above)
        new, sibling = below(folder, path), below(source, min(edited.keys() & tree.keys()))
        disk.write_new(new, edited[path], like=sibling, sync=False)
        made_here.append(new)
    disk.sync_all(made_here)
    disk.require_same(copied)
    disk.sync_all(below(folder, path) for path in folders)


def _new_folders(path: str, known: Collection[str]) -> list[str]:
    """Return the missing parent folders of a file, the outermost first."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return [folder for folder in above if folder not in known]
