from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from offsetwise import strict_json
from offsetwise.errors import MissingError, StorageError
from offsetwise.model import Problem
from offsetwise.plugins.spark.engine.later_batches import VERSION
from offsetwise.plugins.spark.engine.releases.findings import commits_lost
from offsetwise.plugins.spark.engine.restart import damaged
from offsetwise.storage.folders import FolderReader

_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_WHOLE: Final = frozenset({"snapshot", "zip"})


def lost_state(folder: FolderReader, batch: int) -> str | None:
    """Describe which part of the state after a batch is lost, as part of a sentence; None if every store can be loaded.

    Without `commits/<batch>` Spark loads the files whose names contain only the version.

    Raises:
        StorageError: `commits/<batch>` cannot be read, and the state has files with unique ids, which only it names.
    """
    version = batch + 1
    stores: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    names: set[str] = set()
    named = False
    for path, _ in folder.walk("state"):
        store, _, name = path.rpartition("/")
        parts = store.split("/")
        matched = VERSION.fullmatch(name)
        if matched is None or len(parts) < 2 or not all(map(_NUMBER.fullmatch, parts[:2])):
            continue
        stores[store][int(matched[1])].add(matched[3])
        named = named or matched[2] is not None
        names.add(f"{'/'.join(parts[:2])}/{name}")
    for store, versions in stores.items():
        whole = max(
            (candidate for candidate, kinds in versions.items() if candidate <= version and kinds & _WHOLE), default=0
        )
        lost = next((candidate for candidate in range(whole + 1, version + 1) if candidate not in versions), None)
        if lost is not None:
            return f"the state after batch {batch}, found version {lost} of state/{store} gone"
    try:
        for operator, partition, unique in _unique_ids(folder, batch):
            paths = [f"{operator}/{partition}/{version}_{unique}.{kind}" for kind in ("zip", "changelog")]
            if not names.intersection(paths):
                return f"the state that commits/{batch} names, found state/{paths[0]} gone"
    except MissingError:
        if named:
            raise
    except (ValueError, AttributeError, TypeError):
        return f"commits/{batch} to name its state, found it garbled"
    return None


def lost_commits(folder: FolderReader, lost: range) -> Iterator[Problem]:
    """Report commits that are lost before a planned batch: Spark cannot find state that only a commit names."""
    if not lost:
        return
    first, last = lost[0], lost[-1]
    named = any((matched := VERSION.fullmatch(path.rpartition("/")[2])) and matched[2] for path, _ in _state(folder))
    if named:
        yield damaged(
            f"Between commits/{first} and commits/{last} files are lost, though batch {last + 1} is planned after "
            f"them. commits/{last} alone names the state that Spark loads for it."
            if first < last
            else f"commits/{last} is lost, though batch {last + 1} is planned after it. It alone names the state that "
            "Spark loads for it."
        )
    else:
        yield from commits_lost(first, last)


def _state(folder: FolderReader) -> Iterator[tuple[str, int]]:
    with suppress(StorageError):
        yield from folder.walk("state")


def _unique_ids(folder: FolderReader, batch: int) -> Iterator[tuple[str, int, str]]:
    path = f"commits/{batch}"
    data = folder.read_many({path: None})[path]
    if isinstance(data, StorageError):
        raise data
    lines = data.splitlines()
    if not lines:
        raise ValueError("expected a version line, found an empty file")
    value = strict_json.parse(lines[1]) if len(lines) > 1 and lines[1].strip() else {}
    for operator, partitions in (value.get("stateUniqueIds") or {}).items():
        for partition, ids in enumerate(partitions):
            yield from ((operator, partition, unique) for unique in _texts(ids))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)
