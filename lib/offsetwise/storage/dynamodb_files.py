"""The text of a file with the items of a table: plain, gzip, with a byte order mark, or an export to S3.

Formats: `S3DataExport.Output` of the Developer Guide of DynamoDB. An export is a folder named by its id, with
`manifest-summary.json`, `manifest-files.json` and `data/*.json.gz`, below `AWSDynamoDB/`. The CSV of the AWS console
has a column for each attribute; the console before 2021 added the type after the name, the present one leaves types
out. AWS does not document how either writes a set, so every known form is read, and any other rejected.

This module needs the standard library only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import codecs
import csv
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, Final

from offsetwise.errors import StorageError
from offsetwise.storage.folders import Tree, open_tree
from offsetwise.strict_json import parse

_SUMMARY: Final = "manifest-summary.json"
_FILES: Final = "manifest-files.json"
MANIFESTS: Final = frozenset({_SUMMARY, _FILES})
_ABOVE: Final = "AWSDynamoDB"
_EXPORT: Final = re.compile(r"[0-9]{14}-[0-9a-f]{8}")
MAX_CELLS: Final = 1_500_000
"""The maximum number of CSV cells: as many values as JSON may have."""
_SEPARATOR: Final = re.compile(r"\"?sep=(.)\"?[^\S\n]*\n")
"""A line before the CSV that names the delimiter for spreadsheets."""
_COLUMN: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,254})(?: \((S|N|B|SS|NS|BS|M|L|BOOL|NULL)\))?")
"""A name in the first line of CSV, and its type if it is there."""
_OLD_SET: Final = re.compile(r'\{ *("[^"]*"(?:, *"[^"]*")*) *\}')
"""A set as the console before 2021 writes it."""
_GZIP: Final = b"\x1f\x8b"
_PACKED: Final = {
    b"PK\x03\x04": "a ZIP archive",
    _GZIP: "gzip once more",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with Zstandard",
}
"""Magic numbers of archives and compressions that are not supported."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its prefix
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_export(names: Iterable[str]) -> bool:
    visible = [name for name in names if not name.startswith(".")]
    exports = bool(visible) and all(_EXPORT.fullmatch(name) for name in visible)
    return _SUMMARY in visible or _ABOVE in visible or exports


def export_of(folder: str, name: str, roots: Sequence[str] | None) -> str | None:
    """Return the folder of the export that a file belongs to; None if no readable manifest names the file.

    Args:
        folder: The folder of the file.
        name: The name of the file.
        roots: The folders that may be read; None if a person named the path.
    """
    above, slash, last = folder.rpartition("/")
    if last != "data":
        return None
    try:
        files = open_tree(above or slash or ".", roots=roots).read(_FILES)
    except StorageError:
        return None
    return (above or slash or ".") if f'/{name}"'.encode() in files else None


def plain(data: bytes, most: int) -> bytes:
    """Return the text of a file in UTF-8 without a byte order mark, unpacked if it is gzip.

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
    unpacked = bytearray()
    while data:
        unpacking = zlib.decompressobj(wbits=31)
        try:
            unpacked += unpacking.decompress(data, most + 1 - len(unpacked))
        except zlib.error as error:
            raise ValueError(f"its gzip is damaged: {error}") from error
        if len(unpacked) > most:
            raise ValueError(f"it has more than {most:,} bytes when it is unpacked")
        if not unpacking.eof:
            raise ValueError("its gzip is cut")
        data = unpacking.unused_data
    return bytes(unpacked)


def lines_of(data: bytes) -> list[Any] | None:
    """Return the items of an export, a JSON object with the key `Item` per line; None if it may be JSON or CSV.

    Raises:
        ValueError: A line after the first is no item, or an item spans several lines; or it has another known form.
    """
    if not re.match(rb'\s*\{\s*"Item"\s*:', data):
        _refuse_other_forms(data)
        return None
    if re.match(rb"[^\n]*[^\s}][^\S\n]*\n", data.lstrip()):
        raise ValueError(
            "it has an item printed over several lines: an export has each in a line of its own, and what get-item "
            "prints is one item of the table, where a dump has all of them"
        )
    items = []
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            try:
                body = parse(line)
            except ValueError as error:
                raise ValueError(f"line {number:,} is no JSON, or is cut: {error}") from error
            if not isinstance(body, dict) or body.keys() != {"Item"}:
                raise ValueError(f"line {number:,} is not an item of an export")
            items.append(body["Item"])
    return items


def _refuse_other_forms(data: bytes) -> None:
    """Raise unless a text may be CSV or one JSON document.

    Raises:
        ValueError: It has another known form, which the message names.
    """
    if not data.strip():
        raise ValueError("it is empty")
    if data.startswith((b"$ion_1_0", b"\xe0\x01\x00\xea")):
        raise ValueError("it is in the format Ion, and DYNAMODB_JSON is read")
    packed = next((form for begins, form in _PACKED.items() if data.startswith(begins)), None)
    if packed is not None:
        raise ValueError(f"it is {packed}, and what is in it is read once it is unpacked")
    if re.search(rb"\}[^\S\n]*\n\s*\{", data):  # no document has that: commas separate its objects
        raise ValueError(
            "it has JSON objects one below the other that are not lines of an export, and a dump is one document: one "
            "scan, or all items in one list"
        )


def read_export(tree: Tree, most: int) -> tuple[str, list[Any]]:
    """Return the table's name and the items of an export in a folder.

    Raises:
        StorageError: A file cannot be read.
        ValueError: It is no complete export of a table; the message says why.
    """
    folder = _export_in(tree)
    summary = parse(plain(tree.read(f"{folder}{_SUMMARY}"), most))
    if not isinstance(summary, dict) or summary.get("outputFormat") != "DYNAMODB_JSON":
        output_format = summary.get("outputFormat") if isinstance(summary, dict) else None
        raise ValueError(f"its {_SUMMARY} says the format {output_format!r}, and DYNAMODB_JSON is read")
    if summary.get("exportType", "FULL_EXPORT") != "FULL_EXPORT":
        raise ValueError("it is an incremental export, which has only what changed")
    table = str(summary.get("tableArn", "")).rpartition("/")[2]
    items: list[Any] = []
    for line in plain(tree.read(f"{folder}{_FILES}"), most).splitlines():
        file = parse(line)
        name = str(file.get("dataFileS3Key", "") if isinstance(file, dict) else "").rpartition("/")[2]
        text = plain(tree.read(f"{folder}data/{name}"), most)
        part = (lines_of(text) if text.strip() else None) or []
        if file.get("itemCount") != len(part):
            raise ValueError(f"{_FILES} says {file.get('itemCount')} items in {name}, and it has {len(part):,}")
        items += part
    if summary.get("itemCount") != len(items):
        raise ValueError(f"{_SUMMARY} says {summary.get('itemCount')} items, and its files have {len(items):,}")
    return table, items


def _export_in(tree: Tree) -> str:
    """Return the path of the one export, with a trailing slash; empty if the folder itself is one."""
    names = [entry.name for entry in tree.entries() if not entry.name.startswith(".")]
    if _SUMMARY in names:
        return ""
    above = f"{_ABOVE}/" if _ABOVE in names else ""
    results = [entry.name for entry in tree.entries(_ABOVE)] if above else names
    exports = sorted(name for name in results if _EXPORT.fullmatch(name))
    if len(exports) != 1:
        raise ValueError(f"expected one export, found {', '.join(exports) or 'none'}: give the folder of one of them")
    return f"{above}{exports[0]}/"


def rows_of_csv(data: bytes, types: Mapping[str, str]) -> list[dict[str, dict[str, Any]]]:
    """Return the items of a table in the CSV of the AWS console.

    An empty cell is an attribute that the item lacks.

    Args:
        data: The text, in UTF-8.
        types: The type of each attribute that is no `S`, for columns without types.

    Raises:
        ValueError: It is no such CSV, or a line is no row of it; the message says why.
    """
    text = _decoded(data)
    match = _SEPARATOR.match(text)
    before, text = (0, text) if match is None else (1, text[match.end() :])
    first = text.partition("\n")[0]
    delimiter = next((separator for separator in ",;\t|" if separator in first), ",") if match is None else match[1]
    reading = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reading, [])]
        columns = [_COLUMN.fullmatch(name) for name in (names[:-1] if names[-1:] == [""] else names)]
        if len(columns) < 2 or not all(columns):
            raise ValueError(
                "it is neither JSON nor CSV whose first line names attributes. The command line of AWS prints YAML, "
                "text or a table where it is set up so, and JSON with --output json"
            )
        named = [(column[1], column[2] or types.get(column[1], "S")) for column in columns if column is not None]
        if len({name for name, _ in named}) != len(named):
            raise ValueError("it has two columns of one name")
        if data.count(b"\n") * len(named) > MAX_CELLS:
            raise ValueError(f"it has more than {MAX_CELLS:,} cells")
        items = [_item(named, row, reading.line_num + before) for row in reading if row]
    except csv.Error as error:
        raise ValueError(f"line {reading.line_num + before:,} is not a row of CSV: {error}") from error
    if text[-1:] not in ('"', "\n", "\r"):
        # Half of a number is another number; a cell that is closed by a quotation mark cannot be half of one.
        raise ValueError(
            "its last line has no line break, so that its last cell may be cut: end it with one if the file is whole"
        )
    return items


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no text in UTF-8: its byte {error.start + 1:,} begins no character") from error


def _item(named: Sequence[tuple[str, str]], row: Sequence[str], line: int) -> dict[str, dict[str, Any]]:
    cells = [cell.strip() for cell in row]
    if len(cells) == len(named) + 1 and not cells[-1]:
        del cells[-1]  # some writers end each line with a delimiter
    if len(cells) != len(named):
        raise ValueError(f"line {line:,} has {len(cells):,} cells, and the first one names {len(named):,} columns")
    return {
        name: {kind: _set(cell, name, line) if kind == "SS" else cell}
        for (name, kind), cell in zip(named, cells, strict=True)
        if cell
    }


def _set(cell: str, name: str, line: int) -> list[str]:
    old = _OLD_SET.fullmatch(cell)
    try:
        body = parse((f"[{old[1]}]" if old else cell).encode())
    except ValueError:
        body = None
    if isinstance(body, dict):
        body = body.get("SS")
    if isinstance(body, list):
        members = [entry.get("S") if isinstance(entry, dict) else entry for entry in body]
        results = [member for member in members if isinstance(member, str)]
        if results and len(results) == len(members):
            return results
    raise ValueError(f"line {line:,} has {cell[:80]!r} as {name}, which is not a set of texts as the console writes it")
