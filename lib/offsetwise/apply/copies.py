"""A copy of a checkpoint or savepoint: how it is made, and what it is called before it is made and in the receipt."""

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


def copy_at_rest(source: str, folder: str, edits: Edits, context: Context, *, path: str, links: str) -> None:
    """Fill an empty folder with a copy, and refuse it if somebody wrote to the source meanwhile.

    Args:
        source: The folder to copy.
        folder: Where the copy is built.
        edits: Files that get other bytes, and files that are left out.
        context: The disk, and how old the source's temporary files must be.
        path: Where the copy will stand, for the message.
        links: How the paths of files begin that their engine never edits in place: they are hard links where the file
            system can.

    Raises:
        RunningQueryError: The source has changed, or seems to be written to.
        OutputError: Something in it is neither a file nor a folder.
        OSError: The disk refuses.
    """
    before = scan_stopped(source, young_s=context.young_s)
    _copy(source, before, folder, edits, disk=context.disk, links=links)
    if _facts(scan_stopped(source, young_s=context.young_s)) != _facts(before):
        raise RunningQueryError(
            f"{source}: expected nobody to write to it while it was copied, found that it changed. "
            f"There is nothing at {path}.",
            fix="Stop the job, compare again and draft a new plan.",
        )


def _facts(tree: Tree) -> dict[str, tuple[int, int, int]]:
    # A link made meanwhile changes how many names a file has, and thereby its ctime, so that is not compared.
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
    """Return the folders above a file that are not there yet, the outermost first."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return [folder for folder in above if folder not in known]
