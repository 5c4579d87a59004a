"""The initial offsets of a query, as Spark stores them in the first file of every source's folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from offsetwise.digits import numbers_first
from offsetwise.errors import MissingError, StorageError
from offsetwise.plugins.spark.engine.offset_log import (
    SourceOffset,
    checksum_fits,
    looks_like_kafka_initial,
    parse_initial_offsets,
)
from offsetwise.storage.folders import FolderReader

_SOURCE_FOLDER: Final = re.compile(r"[A-Za-z0-9_]{1,255}")


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialOffsets:
    offsets: Mapping[str, SourceOffset] = field(default_factory=dict)
    """Offsets of Kafka sources, by source id."""
    folders: tuple[str, ...] = ()
    """The ids of all sources that have a folder."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 in hex of each Kafka source's file, by path."""
    stumbles: Mapping[str, str] = field(default_factory=dict)
    """Why Spark would fail to read a file, by source id."""
    stale: frozenset[str] = frozenset()
    """The ids whose `.crc` file does not match."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Why a file could not be read, by source id; under the empty id if the folder could not be listed."""


def read_initial_offsets(folder: FolderReader, *, present: bool, checksums: bool) -> InitialOffsets:
    """Read the first file of every source folder, and keep those of Kafka sources.

    Args:
        folder: The checkpoint.
        present: Whether it has a folder `sources`.
        checksums: Whether to verify their `.crc` files, if there are any.
    """
    if not present:
        return InitialOffsets()
    try:
        names = [entry.name for entry in folder.entries("sources") if _SOURCE_FOLDER.fullmatch(entry.name)]
    except StorageError as error:
        return InitialOffsets(unreadable={"": error.problem})
    ids = sorted(names, key=numbers_first)
    paths = [f"sources/{name}/0" for name in ids]
    if checksums:
        paths += [f"sources/{name}/.0.crc" for name in ids]
    read = folder.read_many(dict.fromkeys(paths))
    offsets: dict[str, SourceOffset] = {}
    digests: dict[str, str] = {}
    stumbles: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    stale: set[str] = set()
    for name in ids:
        data = read[f"sources/{name}/0"]
        if isinstance(data, StorageError):
            if not isinstance(data, MissingError):
                unreadable[name] = data.problem
        elif looks_like_kafka_initial(data):
            offsets[name], stumble = parse_initial_offsets(data)
            digests[f"sources/{name}/0"] = hashlib.sha256(data).hexdigest()
            if stumble is not None:
                stumbles[name] = stumble
            checksum = read.get(f"sources/{name}/.0.crc")
            if isinstance(checksum, bytes) and not checksum_fits(data, checksum):
                stale.add(name)
    return InitialOffsets(
        offsets=offsets,
        folders=tuple(ids),
        digests=digests,
        stumbles=stumbles,
        stale=frozenset(stale),
        unreadable=unreadable,
    )
