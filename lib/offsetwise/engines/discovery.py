"""Find the checkpoints below a folder by listings alone: no file is read.

Links are not followed. A link that leads out of the roots would be rejected, and what is inside them is found at its
own path.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from offsetwise.engines.checkpoint import recognised
from offsetwise.engines.engine import CheckpointEngine
from offsetwise.engines.registry import engines
from offsetwise.errors import MissingError, StorageError
from offsetwise.storage.folders import Entry, FolderReader, open_tree
from offsetwise.storage.location import is_live, without_sign_on

MAX_DEPTH: Final = 4
"""How many levels below a root are searched; `Engine.deeper` adds levels below some folders."""
MAX_FOLDERS: Final = 20_000
MAX_CHECKPOINTS: Final = 10_000
LISTED_AT_ONCE: Final = 16
"""An object store answers a listing after tens of milliseconds."""
NOT_ENTERED: Final = frozenset({"_delta_log", "_spark_metadata", "_temporary"})
"""Folders of tables and outputs with many files and never a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    uris: tuple[str, ...]
    """Checkpoints, sorted, including folders that could not be listed: reading them reports why."""
    folders: int
    """How many folders were searched."""
    complete: bool
    """Whether all folders within the depth were searched, without reaching a limit."""


def find_checkpoints(root: str, *, roots: Sequence[str] | None = None) -> Discovered:
    """Find the checkpoints at and below a folder. The inside of a checkpoint is not searched.

    Of a job's retained checkpoints only the newest one is returned; reading it lists the others. A folder that two
    engines recognize is returned once; reading it raises an error.

    Args:
        root: The folder; or a table, which is the only checkpoint there.
        roots: The folders that may be read; None if a person named the path.

    Raises:
        OutsideRootsError: `root` leaves the roots.
        StorageError: `root` is missing or cannot be listed.
    """
    if is_live(root):
        return Discovered(uris=(without_sign_on(root),), folders=0, complete=True)
    tree = open_tree(root, roots=roots)
    base = root.rstrip("/")
    results: list[str] = []
    of_engine: dict[CheckpointEngine, list[str]] = {checkpoint_engine: [] for checkpoint_engine in engines()}
    looked_into, complete = 0, True
    deeper = {name: levels for engine in engines() for name, levels in engine.deeper.items()}
    level = {"": max(MAX_DEPTH, deeper.get(base.rpartition("/")[2], 0))}
    with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
        while level:
            looked_into += len(level)
            below: dict[str, int] = {}
            for folder, entries in zip(level, pool.map(partial(_listed, tree), level), strict=True):
                if isinstance(entries, StorageError):
                    if not folder:
                        raise entries
                    if not isinstance(entries, MissingError):
                        results.append(f"{base}/{folder}")
                elif known := recognised(entries):
                    of_engine[known[0]].append(f"{base}/{folder}" if folder else root)
                elif level[folder]:
                    remaining = level[folder] - 1
                    below |= {
                        f"{folder}/{name}".lstrip("/"): max(remaining, deeper.get(name, 0))
                        for name in _folders(entries)
                    }
            level = dict(islice(below.items(), max(MAX_FOLDERS - looked_into, 0)))
            complete = complete and len(level) == len(below)
            if len(results) + sum(map(len, of_engine.values())) >= MAX_CHECKPOINTS:
                break
    for engine, uris in of_engine.items():
        results += engine.newest(uris)
    return Discovered(
        uris=tuple(sorted(results)[:MAX_CHECKPOINTS]),
        folders=looked_into,
        complete=complete and not level and len(results) <= MAX_CHECKPOINTS,
    )


def _listed(tree: FolderReader, folder: str) -> tuple[Entry, ...] | StorageError:
    try:
        return tree.entries(folder, details=True)
    except StorageError as error:
        return error


def _folders(entries: Sequence[Entry]) -> list[str]:
    return [
        entry.name
        for entry in entries
        if entry.is_dir and not entry.name.startswith(".") and entry.name not in NOT_ENTERED
    ]
