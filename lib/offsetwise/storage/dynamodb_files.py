"""The text of a file with the items of a table: as it is, in gzip, with a byte order mark, or an export to S3.

Formats: `S3DataExport.Output` of the Developer Guide of DynamoDB. An export is a folder named by its id, with
`manifest-summary.json`, `manifest-files.json` and `data/*.json.gz`, below `AWSDynamoDB/`.

This module needs the standard library only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable
from typing import Any, Final

from offsetwise.storage.folders import Tree
from offsetwise.strict_json import parse

_SUMMARY: Final = "manifest-summary.json"
_FILES: Final = "manifest-files.json"
MANIFESTS: Final = frozenset({_SUMMARY, _FILES})
_ABOVE: Final = "AWSDynamoDB"
_EXPORT: Final = re.compile(r"[0-9]{14}-[0-9a-f]{8}")
_GZIP: Final = b"\x1f\x8b"
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_export(names: Iterable[str]) -> bool:
    """Return whether a folder with these names is an export to S3, or has exports below it."""
    visible = [name for name in names if not name.startswith(".")]
    exports = bool(visible) and all(_EXPORT.fullmatch(name) for name in visible)
    return _SUMMARY in visible or _ABOVE in visible or exports


def plain(data: bytes, most: int) -> bytes:
    """Return the text of a file in UTF-8 without a byte order mark, unpacked where it is gzip.

    Raises:
        ValueError: It is larger than `most` bytes, or damaged.
    """
    if data.startswith(_GZIP):
        data = _unpacked(data, most)
    if len(data) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding).encode()
    return data


def _unpacked(data: bytes, most: int) -> bytes:
    made = bytearray()
    while data:
        unpacking = zlib.decompressobj(wbits=31)
        try:
            made += unpacking.decompress(data, most + 1 - len(made))
        except zlib.error as error:
            raise ValueError(f"its gzip is damaged: {error}") from error
        if len(made) > most:
            raise ValueError(f"it has more than {most:,} bytes when it is unpacked")
        if not unpacking.eof:
            raise ValueError("its gzip is cut")
        data = unpacking.unused_data
    return bytes(made)


def lines_of(data: bytes) -> list[Any] | None:
    """Return the items of an export, one JSON object of the key `Item` in a line; None of any other text.

    Raises:
        ValueError: A line behind the first one is no item.
    """
    if not re.match(rb'\s*\{\s*"Item"\s*:', data):
        return None
    items = []
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            body = parse(line)
            if not isinstance(body, dict) or body.keys() != {"Item"}:
                raise ValueError(f"line {number:,} is no item of an export")
            items.append(body["Item"])
    return items


def read_export(tree: Tree, most: int) -> tuple[str, list[Any]]:
    """Return the table's name and its items, of an export in a folder.

    Raises:
        StorageError: A file cannot be read.
        ValueError: It is no whole export of a table; says what was found.
    """
    folder = _export_in(tree)
    summary = parse(plain(tree.read(f"{folder}{_SUMMARY}"), most))
    if not isinstance(summary, dict) or summary.get("outputFormat") != "DYNAMODB_JSON":
        found = summary.get("outputFormat") if isinstance(summary, dict) else None
        raise ValueError(f"its {_SUMMARY} says the format {found!r}, and DYNAMODB_JSON is read")
    if summary.get("exportType", "FULL_EXPORT") != "FULL_EXPORT":
        raise ValueError("it is an incremental export, which has only what changed")
    table = str(summary.get("tableArn", "")).rpartition("/")[2]
    items: list[Any] = []
    for line in plain(tree.read(f"{folder}{_FILES}"), most).splitlines():
        file = parse(line)
        name = str(file.get("dataFileS3Key", "") if isinstance(file, dict) else "").rpartition("/")[2]
        part = lines_of(plain(tree.read(f"{folder}data/{name}"), most)) or []
        if file.get("itemCount") != len(part):
            raise ValueError(f"{_FILES} says {file.get('itemCount')} items in {name}, and it has {len(part):,}")
        items += part
    if summary.get("itemCount") != len(items):
        raise ValueError(f"{_SUMMARY} says {summary.get('itemCount')} items, and its files have {len(items):,}")
    return table, items


def _export_in(tree: Tree) -> str:
    """Return the path of the one export, with a slash at its end; empty where the folder is one itself."""
    names = [entry.name for entry in tree.entries() if not entry.name.startswith(".")]
    if _SUMMARY in names:
        return ""
    above = f"{_ABOVE}/" if _ABOVE in names else ""
    found = [entry.name for entry in tree.entries(_ABOVE)] if above else names
    exports = sorted(name for name in found if _EXPORT.fullmatch(name))
    if len(exports) != 1:
        raise ValueError(f"expected one export, found {', '.join(exports) or 'none'}: give the folder of one of them")
    return f"{above}{exports[0]}/"
