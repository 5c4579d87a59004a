"""The folders that Flink writes checkpoints into, and which of them a job could start from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from offsetwise.errors import StorageError
from offsetwise.model import RetainedCheckpoint
from offsetwise.storage.folders import Entry, FolderReader, open_tree

METADATA: Final = "_metadata"
SHOWN: Final = 5
LISTED: Final = 20
"""How many retained checkpoints are examined, the newest ones."""

DEPTH: Final = 3
"""How many levels below a root are searched for checkpoints of other jobs."""
LISTED_FOLDERS: Final = 500
"""How many folders are listed in that search."""
_OF_STATE: Final = ("shared", "taskowned")
_RETAINED: Final = re.compile(r"chk-(\d{1,18})")
_JOB: Final = re.compile(r"[0-9a-f]{32}")
_SAVEPOINT: Final = re.compile(r"savepoint-([0-9a-f]{6})-[0-9a-f]+")
"""The first digits of the job's id, and a random number."""


def is_flink(entries: Sequence[Entry]) -> bool:
    return any(entry.name == METADATA for entry in entries)


def retained_in(folder: FolderReader, entries: Sequence[Entry]) -> tuple[RetainedCheckpoint, ...]:
    """Return the complete checkpoints in a job's folder (`chk-N` next to `shared` and `taskowned`), newest first."""
    results = [(int(matched[1]), entry.name) for entry in entries if (matched := _RETAINED.fullmatch(entry.name))]
    checkpoints = []
    for number, name in sorted(results, reverse=True)[:LISTED]:
        try:
            inside = folder.entries(name, details=True)
        except StorageError:
            continue
        written = next((entry for entry in inside if entry.name == METADATA), None)
        if written is not None:
            checkpoints.append(
                RetainedCheckpoint(
                    uri=f"{folder.uri.rstrip('/')}/{name}",
                    id=number,
                    written_ms=None if written.modified_s is None else int(written.modified_s * 1000),
                )
            )
    return tuple(checkpoints)


def job_folder(folder: FolderReader, entries: Sequence[Entry]) -> tuple[str, str] | None:
    """Describe the folder of a job, and what to choose in it; None if it is not one."""
    retained = retained_in(folder, entries)
    if not retained and {entry.name for entry in entries} >= {*_OF_STATE}:
        return (
            "the folder of a Flink job without a complete checkpoint: the job was stopped, or has not made one yet",
            "Give the savepoint that it was stopped with; of a job that runs, wait for its next checkpoint.",
        )
    if not retained:
        return None
    names = [checkpoint.uri.rpartition("/")[2] for checkpoint in retained]
    shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    return (
        f"the folder of a Flink job with {len(names):,} retained ones ({shown})",
        f"Give one of them, such as the newest: {retained[0].uri}",
    )


def retained_beside(folder: FolderReader, name: str) -> tuple[RetainedCheckpoint, ...]:
    """Return the other checkpoints in the folder of a job; empty if it cannot be listed.

    Args:
        folder: The folder above the checkpoint.
        name: The checkpoint's own name.
    """
    if _RETAINED.fullmatch(name) is None:
        return ()
    try:
        entries = folder.entries()
    except StorageError:
        return ()
    return retained_in(folder, [entry for entry in entries if entry.name != name])


def newest_alone(uris: Iterable[str]) -> list[str]:
    """Keep only the newest of each job's retained checkpoints; other folders stay.

    >>> newest_alone(["a/chk-9", "a/chk-10", "b/chk-9", "savepoint-1"])
    ['a/chk-10', 'b/chk-9', 'savepoint-1']
    """
    newest: dict[str, tuple[int, str]] = {}
    for uri in uris:
        above, _, name = uri.rpartition("/")
        matched = _RETAINED.fullmatch(name)
        job, number = (above, int(matched[1])) if matched else (uri, 0)
        newest[job] = max(newest.get(job, (number, uri)), (number, uri))
    return [uri for _, uri in newest.values()]


def job_of(uri: str) -> str | None:
    parts = uri.rstrip("/").split("/")
    return parts[-2] if len(parts) > 1 and _JOB.fullmatch(parts[-2]) else None


def newer_than(uri: str, number: int, near: Iterable[str]) -> tuple[int | None, bool]:
    """Find newer checkpoints that the job of a checkpoint or savepoint retains. Names are listed, no file is read.

    Retained checkpoints are in a folder named by the job's id. A savepoint's name contains the first digits of that id:
    the folder is searched next to the savepoint, and near the given paths.

    Args:
        uri: The checkpoint or savepoint, or its `_metadata`.
        number: Its number.
        near: Folders and checkpoints that may be next to, or above, the job's folder.

    Returns:
        The number of the newest one, None if none is newer; and whether the folder of the job was listed.
    """
    folder = uri.rstrip("/").removesuffix(f"/{METADATA}").rstrip("/")
    above, _, name = folder.rpartition("/")
    saved = _SAVEPOINT.fullmatch(name)
    jobs = [above] if _RETAINED.fullmatch(name) else []
    if saved is not None:
        for location in dict.fromkeys((above, *(near_uri.rstrip("/") for near_uri in near))):
            parts = location.split("/")
            jobs += ["/".join(parts[: at + 1]) for at, part in enumerate(parts) if _is_job(part, saved[1])]
            jobs += [
                f"{location or '/'}/{entry.name}" for entry in _names(location) or () if _is_job(entry.name, saved[1])
            ]
    numbers, listed = [number], False
    for job in dict.fromkeys(jobs):
        entries = _names(job)
        if entries is not None:
            numbers += [checkpoint.id for checkpoint in retained_in(open_tree(job or "/"), entries)]
            listed = listed or _JOB.fullmatch(job.rpartition("/")[2]) is not None
    return max(numbers) if max(numbers) > number else None, listed


def in_reach(uri: str, near: Iterable[str]) -> Iterator[str]:
    """Yield the checkpoints and savepoints that other jobs may have written; only the newest of each folder's retained.

    Args:
        uri: The checkpoint or savepoint that is started from.
        near: Folders and checkpoints to search as well. Folders are listed down to `DEPTH` levels.
    """
    folder = uri.rstrip("/").removesuffix(f"/{METADATA}").rstrip("/")
    waiting = [(near_uri.rstrip("/").removesuffix(f"/{METADATA}"), 0) for near_uri in near]
    # The folder above may be shared: only the jobs directly in it are examined.
    waiting.append((folder.rpartition("/")[0], DEPTH - 1))
    listed: set[str] = set()
    while waiting and len(listed) < LISTED_FOLDERS:
        location, depth = waiting.pop(0)
        entries = _names(location) if location and location not in listed else None
        listed.add(location)
        if entries is None:
            continue
        if is_flink(entries):
            yield location
            continue
        yield from (checkpoint.uri for checkpoint in retained_in(open_tree(location), entries)[:1])
        if depth < DEPTH:
            names = (
                entry.name for entry in entries if entry.is_dir is not False and not _RETAINED.fullmatch(entry.name)
            )
            waiting += [(f"{location}/{name}", depth + 1) for name in names if name not in _OF_STATE]


def retained_number(uri: str) -> int | None:
    matched = _RETAINED.fullmatch(uri.rpartition("/")[2])
    return None if matched is None else int(matched[1])


def _is_job(name: str, begins: str) -> bool:
    return name.startswith(begins) and _JOB.fullmatch(name) is not None


def _names(folder: str) -> tuple[Entry, ...] | None:
    try:
        return open_tree(folder or ".").entries()
    except StorageError:
        return None
