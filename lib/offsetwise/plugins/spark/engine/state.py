from __future__ import annotations

import io
import json
import re
import zipfile
from collections import defaultdict
from typing import Final

from offsetwise.errors import StorageError
from offsetwise.model import Problem
from offsetwise.plugins.spark.engine.details import StateStore
from offsetwise.plugins.spark.engine.restart import damaged
from offsetwise.storage.folders import FolderReader

MAX_METADATA_BYTES: Final = 4 * 1024 * 1024
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_CHANGELOG_OR_ZIP: Final = re.compile(r"([0-9]{1,18})(?:_[0-9A-Za-z\-]+)?\.(zip|changelog)")


def read_state(folder: FolderReader) -> tuple[tuple[StateStore, ...], tuple[Problem, ...]]:
    """Return the state of every stateful operator, ascending by operator, and the problem if it cannot be read.

    Rows are known if RocksDB's newest version of every partition is a snapshot: its zip records `numKeys`.
    """
    try:
        return _stores(folder), ()
    except StorageError as error:
        return (), (damaged(f"state/ cannot be read: {error.problem}"),)


def _stores(folder: FolderReader) -> tuple[StateStore, ...]:
    files: dict[int, list[tuple[tuple[str, ...], int]]] = defaultdict(list)
    for path, size in folder.walk("state"):
        operator, *rest = path.split("/")
        if _NUMBER.fullmatch(operator) and rest and not _is_leftover(rest[-1]):
            files[int(operator)].append((tuple(rest), size))
    newest: dict[int, dict[tuple[str, ...], tuple[int, str | None]]] = {}
    for operator_id, results in files.items():
        newest[operator_id] = _newest_versions(operator_id, results)
    zips = [path for stores in newest.values() for _, path in stores.values() if path is not None]
    read = folder.read_many(dict.fromkeys(zips))
    keys = {path: _num_keys(data) for path, data in read.items()}
    return tuple(
        StateStore(
            operator=operator_id,
            partitions=len({rest[0] for rest, _ in files[operator_id] if _NUMBER.fullmatch(rest[0])}),
            files=len(files[operator_id]),
            size_bytes=sum(size for _, size in files[operator_id]),
            keys=_total([None if path is None else keys[path] for _, path in newest[operator_id].values()]),
        )
        for operator_id in sorted(files)
    )


def _newest_versions(
    operator: int, files: list[tuple[tuple[str, ...], int]]
) -> dict[tuple[str, ...], tuple[int, str | None]]:
    """Return the newest version of each store folder, and the path of its zip if that version is one."""
    newest: dict[tuple[str, ...], tuple[int, str | None]] = {}
    for rest, _ in files:
        matched = _CHANGELOG_OR_ZIP.fullmatch(rest[-1])
        if matched is None or not _NUMBER.fullmatch(rest[0]):
            continue
        version = int(matched[1])
        path = f"state/{operator}/{'/'.join(rest)}" if matched[2] == "zip" else None
        current = newest.get(rest[:-1])
        # A zip and a changelog of the same version contain the same rows; the zip records their number.
        if current is None or version > current[0] or (version == current[0] and path is not None):
            newest[rest[:-1]] = (version, path)
    return newest


def _num_keys(data: bytes | StorageError) -> int | None:
    if isinstance(data, StorageError):
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("metadata") as metadata:
            text = metadata.read(MAX_METADATA_BYTES + 1).decode("utf-8")
        value = json.loads(text.partition("\n")[2])
    except Exception:  # noqa: BLE001 - what zipfile raises on a damaged archive is not documented; unknown is the answer
        return None
    count = value.get("numKeys") if isinstance(value, dict) else None
    return count if type(count) is int and 0 <= count < 2**63 else None


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _is_leftover(name: str) -> bool:
    return name.startswith(".") or name.endswith((".tmp", ".crc"))
