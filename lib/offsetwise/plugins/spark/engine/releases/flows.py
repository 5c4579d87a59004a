"""The folders of a declarative pipeline's flows, `_checkpoints/<table>/<flow>/<version>`: one version is in use.

Spark's `SystemMetadata.getLatestCheckpointDir` takes the name with the highest number, whatever is inside, and ignores
names that are not 32-bit numbers. A full refresh creates the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from offsetwise.errors import OffsetwiseError
from offsetwise.model import Problem
from offsetwise.plugins.spark.engine.releases.findings import checkpoint_superseded
from offsetwise.storage.folders import Entry, open_tree

ROOT: Final = "_checkpoints"
"""The folder of a pipeline's storage that contains the checkpoints of its flows."""
LEVELS: Final = 5
"""Depth of the versions in it: catalog, schema, table, flow, version."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,12}")
_INT_MAX: Final = 2**31 - 1


def version_of(name: str) -> int | None:
    """Return the version that Spark reads from a folder's name; None if it ignores the name.

    >>> version_of("3"), version_of("tmp"), version_of("99999999999")
    (3, None, None)
    """
    number = int(name) if _NUMBER.fullmatch(name) else -1
    return number if 0 <= number <= _INT_MAX else None


def newest_version(names: Iterable[str]) -> str | None:
    versions = [(version, name) for name in names if (version := version_of(name)) is not None]
    return max(versions, default=(0, None))[1]


def is_flow(uri: str) -> bool:
    """Return whether a folder may contain the versions of a flow, by its path: below `_checkpoints`, under a table."""
    parts = uri.rstrip("/").split("/")
    return ROOT in parts[:-2]


def newest_of_flows(uris: Iterable[str]) -> list[str]:
    retained: list[str] = []
    flows: dict[str, list[str]] = {}
    for uri in uris:
        folder, _, name = uri.rstrip("/").rpartition("/")
        if version_of(name) is not None and is_flow(folder):
            flows.setdefault(folder, []).append(name)
        else:
            retained.append(uri)
    return retained + [f"{folder}/{newest_version(names)}" for folder, names in flows.items()]


def superseded(uri: str, *, roots: Sequence[str] | None) -> tuple[Problem, ...]:
    folder, _, name = uri.rstrip("/").rpartition("/")
    version = version_of(name)
    if version is None or not is_flow(folder):
        return ()
    try:
        names = [entry.name for entry in open_tree(folder, roots=roots).entries()]
    except OffsetwiseError:
        return ()  # only the checkpoint itself is readable for this user
    newest = newest_version(names)
    if newest is None or (version_of(newest) or 0) <= version:
        return ()
    return tuple(checkpoint_superseded(version, f"{folder}/{newest}"))


def instead_of_flow(uri: str, entries: Sequence[Entry]) -> tuple[str, str] | None:
    """Describe the folder of a flow, and which of its versions to use; None if it is not one."""
    newest = newest_version(entry.name for entry in entries) if is_flow(uri) else None
    if newest is None:
        return None
    names = sorted((entry.name for entry in entries if version_of(entry.name) is not None), key=int)
    result = f"the folder of a declarative pipeline's flow (versions {', '.join(names[-5:])})"
    return result, f"Give the one with the highest number, where the pipeline goes on: {uri.rstrip('/')}/{newest}."
