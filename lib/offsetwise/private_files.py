"""Whether a file is its owner's alone: who else may read it, write it, or put another one in its place."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    problem: str
    fix: str


def opening(path: Path, *, shared_folder: bool) -> Opening | None:
    """Return what lets other users at a file; None where nothing does. Links are followed, as whoever opens it does.

    The file and its folder belong to this user or to root; nobody else may do anything with the file, and nobody else
    may write in the folder.

    Args:
        path: A file that is there.
        shared_folder: Whether a folder in which everybody may write, such as `/tmp`, will do if it has the sticky bit.
            There nobody can exchange the file; but they can put others beside it.

    Raises:
        OSError: It is not there, or cannot be looked at.
    """
    whole = path.resolve(strict=True)
    file, folder = whole.stat(), whole.parent.stat()
    for of, owner in ((whole, file.st_uid), (whole.parent, folder.st_uid)):
        if owner not in (os.geteuid(), 0):
            return Opening(
                problem=f"{of} belongs to another user (uid {owner})",
                fix=f"Run `chown {os.geteuid()} {of}` if you know what it is, or name another file.",
            )
    if file.st_mode & _OTHERS:
        return Opening(problem=f"mode {stat.S_IMODE(file.st_mode):04o}", fix=f"Run `chmod 600 {whole}`.")
    if folder.st_mode & _OTHERS_WRITE and not (shared_folder and folder.st_mode & stat.S_ISVTX):
        return Opening(
            problem=f"it in {whole.parent}, where others may write (mode {stat.S_IMODE(folder.st_mode):04o})",
            fix=f"Run `chmod go-w {whole.parent}`, or move it to a folder of your own.",
        )
    return None
