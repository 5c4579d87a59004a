from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from offsetwise.engines.engine import CheckpointEngine, ReadRequest
from offsetwise.model import Checkpoint
from offsetwise.plugins.kinesis.kcl.details import NAME, KclDetails, listings
from offsetwise.storage.dynamodb_files import is_export
from offsetwise.storage.folders import Entry
from offsetwise.storage.location import TABLE_SCHEME

_DUMP: Final = re.compile(rb'"Items"\s*:\s*\[|"Item"\s*:\s*\{|"leaseKey"\s*:\s*\{|^\W{0,4}leaseKey\b')
"""A pattern in the dump of a lease table, whichever tool wrote it."""
_HEAD_BYTES: Final = 65_536


def _is_dump(part: str, data: bytes) -> bool:
    return _DUMP.search(data[:_HEAD_BYTES]) is not None and part.encode() in data


def _is_export(entries: Sequence[Entry]) -> bool:
    return is_export(entry.name for entry in entries)


def _read(request: ReadRequest) -> Checkpoint:
    from offsetwise.plugins.kinesis.kcl.kinesis import read_table  # noqa: PLC0415 - only needed for lease tables

    return read_table(request.uri, roots=request.roots)


def _parts(uri: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:
    from offsetwise.plugins.kinesis.kcl.kinesis import parts_of  # noqa: PLC0415 - as above

    return parts_of(uri, roots=roots)


KCL: Final = CheckpointEngine(
    name=NAME,
    label="KCL",
    what="a lease table of the KCL",
    holds="the dump of a lease table",
    job="application",
    source_name=re.compile(r"[A-Za-z0-9_.-]{3,255}"),  # as DynamoDB names tables
    recognises=_is_export,
    reader=_read,
    listings=listings,
    details=KclDetails,
    schemes=frozenset({TABLE_SCHEME}),
    reads_files=True,
    recognises_file=_is_dump,
    parts=_parts,
)
