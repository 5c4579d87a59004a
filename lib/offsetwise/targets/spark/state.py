"""Whether a query is at rest, and whether the state that it needs is there."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from offsetwise import strict_json
from offsetwise.apply.fitting import unfit
from offsetwise.errors import RunningQueryError
from offsetwise.findings.migration import reader_suspected
from offsetwise.model import Checkpoint
from offsetwise.storage.folders import FolderReader
from offsetwise.targets.spark.overlay import read_file

VERSION: Final = re.compile(r"([0-9]{1,18})(?:_([0-9A-Za-z\-]+))?\.(delta|snapshot|zip|changelog)")
"""The name of a file of a state store: its version, its unique id, what it is."""
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_WHOLE: Final = frozenset({"snapshot", "zip"})


def refuse_running(checkpoint: Checkpoint, folder: FolderReader, pending: int | None, young_s: float) -> None:
    """Go on only if no query seems to run on the checkpoint.

    Raises:
        RunningQueryError: One does, or may.
    """
    for problem in checkpoint.problems:
        if problem.code == reader_suspected.code:
            raise RunningQueryError(f"{folder.uri}: {problem.message} Nothing was written.", fix=problem.fix)
    if pending is None:
        return
    for entry in folder.entries("offsets", details=True):
        if entry.name == str(pending) and entry.modified_s is not None:
            age_s = time.time() - entry.modified_s
            if age_s < young_s:
                raise RunningQueryError(
                    f"{folder.uri}: expected the query to be stopped, found that batch {pending} was planned "
                    f"{max(age_s, 0):.0f} seconds ago and is not committed: it may be running. Nothing was written.",
                    fix=f"Stop the query, wait until {young_s:.0f} seconds have passed, then apply again.",
                )


def require_state(folder: FolderReader, batch: int) -> None:
    """Go on only if every store can be loaded as it was after a batch.

    Raises:
        ApplyError: One cannot.
    """
    version = batch + 1
    stores: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    names: set[str] = set()
    for path, _ in folder.walk("state"):
        store, _, name = path.rpartition("/")
        parts = store.split("/")
        matched = VERSION.fullmatch(name)
        if matched is None or len(parts) < 2 or not all(map(_NUMBER.fullmatch, parts[:2])):
            continue
        stores[store][int(matched[1])].add(matched[3])
        names.add(f"{'/'.join(parts[:2])}/{name}")
    for store, versions in stores.items():
        whole = max((each for each, kinds in versions.items() if each <= version and kinds & _WHOLE), default=0)
        lost = next((each for each in range(whole + 1, version + 1) if each not in versions), None)
        if lost is not None:
            raise unfit(f"the state after batch {batch}, found version {lost} of state/{store} gone")
    for operator, partition, unique in _unique_ids(folder, batch):
        wanted = [f"{operator}/{partition}/{version}_{unique}.{kind}" for kind in ("zip", "changelog")]
        if not names.intersection(wanted):
            raise unfit(f"the state that commits/{batch} names, found state/{wanted[0]} gone")


def _unique_ids(folder: FolderReader, batch: int) -> Iterator[tuple[str, int, str]]:
    lines = read_file(folder, f"commits/{batch}").splitlines()
    try:
        value = strict_json.parse(lines[1]) if len(lines) > 1 and lines[1].strip() else {}
        for operator, partitions in (value.get("stateUniqueIds") or {}).items():
            for partition, ids in enumerate(partitions):
                yield from ((operator, partition, unique) for unique in _texts(ids))
    except (ValueError, AttributeError, TypeError) as error:
        raise unfit(f"commits/{batch} to name its state, found it garbled") from error


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
